package workspace_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/workspace"
)

// A handoff has one word for its state, in a list and by itself.
func TestOneWordForAState(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	offer := &record.Record{To: "fixer", Expires: now.Add(time.Hour)}
	nobody := &record.Record{To: refs.Nobody, Expires: now.Add(time.Hour)}
	late := &record.Record{To: "fixer", Expires: now.Add(-time.Hour)}
	claim := &record.Record{Event: record.Claimed}
	for want, s := range map[string]*lifecycle.State{
		"offered":          {To: "fixer", Offer: nobody},
		"undecided":        {Offer: nobody},
		"expired":          {Offer: late},
		"claimed":          {Offer: late, Claim: claim, Lease: now.Add(time.Minute)},
		"overdue, claimed": {Offer: offer, Claim: claim, Lease: now.Add(-time.Minute)},
		"acknowledged":     {Offer: nobody, Receipt: &record.Record{Event: record.Acknowledged}},
	} {
		assert.Equal(t, want, (&workspace.View{State: s}).WordAt(now))
	}
}
