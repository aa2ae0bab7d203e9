package workspace_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/workspace"
)

// A state has the same word in a list and in the output about one handoff.
func TestOneWordForAState(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	offer := &record.Record{To: "fixer", Expires: now.Add(time.Hour)}
	nobody := &record.Record{To: handoff.Nobody, Expires: now.Add(time.Hour)}
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

// A handoff that is dated ahead of the clock cannot be taken, so it does not count as waiting for its agent.
func TestAheadOfTheClockIsEarly(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	at := func(at time.Time) *workspace.Item {
		r := &record.Record{Event: record.Offered, At: at, Expires: at.Add(time.Hour)}
		return &workspace.Item{Kind: "inbox", Place: lifecycle.Place{Agent: "fixer"}, Record: r}
	}
	near, early := at(now.Add(lifecycle.ClockSkew)), at(now.Add(lifecycle.ClockSkew+time.Second))
	assert.Equal(t, "offered", near.WordAt(now))
	assert.True(t, near.Waits(now))
	assert.Equal(t, "early", early.WordAt(now))
	assert.False(t, early.Waits(now))

	early.Place.Agent = handoff.Nobody
	assert.Equal(t, "early", early.WordAt(now), "nor for a decision")
	early.Record.Event, early.Record.Lease = record.Claimed, early.Record.Expires
	assert.Equal(t, "claimed", early.WordAt(now), "somebody works on it")
}
