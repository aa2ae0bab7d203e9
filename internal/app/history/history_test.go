package history

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"githandoff/internal/handoff"
	"githandoff/internal/record"
)

func TestPast(t *testing.T) {
	at := time.Date(2026, 3, 18, 9, 0, 0, 0, time.UTC)
	ended := func(event record.Event, duration string) *Past {
		return &Past{
			Offer: &record.Record{From: "architect", Task: "LIN-1"}, To: "fixer",
			Receipt: &record.Record{Event: event, Actor: "alice@example.com", Duration: duration, At: at},
		}
	}
	for _, tc := range []struct {
		past            *Past
		phase, duration string
	}{
		{ended(record.Acknowledged, "4m32s"), "Succeeded", "4m32s"},
		{ended(record.Failed, "1h00m02s"), "Failed", "1h00m02s"},
		{ended(record.Revoked, ""), "Failed", "0s"},
		{ended(record.Expired, "not a time"), "Failed", "0s"},
		{ended(record.Rerouted, "62s"), "", "1m02s"},
		{&Past{Offer: &record.Record{}, Claim: &record.Record{At: at.Add(-62 * time.Second)}}, "", "1m02s"},
		{&Past{Offer: &record.Record{}}, "", "0s"},
	} {
		assert.Equal(t, tc.phase, tc.past.Phase())
		assert.Equal(t, tc.duration, tc.past.Duration(at))
	}

	p := ended(record.Failed, "")
	assert.True(t, p.About("", ""))
	assert.True(t, p.About("LIN-1", "architect"))
	assert.True(t, p.About("", "fixer"))
	assert.True(t, p.About("", "alice@example.com"))
	assert.False(t, p.About("LIN-2", ""))
	assert.False(t, p.About("LIN-1", "qa"))
	assert.False(t, (&Past{}).About("", ""), "nothing is known of it")
}

func TestNewest(t *testing.T) {
	past := func(id string, second int) *Past {
		return &Past{ID: handoff.ID(id), Receipt: &record.Record{At: time.Unix(int64(second), 0)}}
	}
	var ids []handoff.ID
	for _, p := range newest([]*Past{past("b", 2), past("a", 2), past("c", 1), past("d", 3)}, 3) {
		ids = append(ids, p.ID)
	}
	assert.Equal(t, []handoff.ID{"d", "b", "a"}, ids)
	assert.Empty(t, newest(nil, 3))
}

// Signers can make handoffs that name each other, or themselves, as parents.
func TestLink_loops(t *testing.T) {
	past := func(id, parent handoff.ID) *Past {
		return &Past{ID: id, Offer: &record.Record{Parent: parent}}
	}
	all := map[handoff.ID]*Past{
		"a": past("a", "c"), "b": past("b", "a"), "c": past("c", "b"), "d": past("d", "b"), "self": past("self", "self"),
	}
	link(all)
	unloop(all["a"], map[*Past]bool{})
	var seen []handoff.ID
	var visit func(p *Past)
	visit = func(p *Past) {
		seen = append(seen, p.ID)
		for _, c := range p.Children {
			visit(c)
		}
	}
	visit(all["a"])
	assert.Equal(t, []handoff.ID{"a", "b", "c", "d"}, seen)
	assert.Empty(t, all["self"].Children)
}

func TestLink_next(t *testing.T) {
	p := &Past{ID: "a", Offer: &record.Record{}, Receipt: &record.Record{Event: record.Rerouted, Next: "b"}}
	link(map[handoff.ID]*Past{"a": p})
	if assert.Len(t, p.Children, 1) {
		assert.Equal(t, "elsewhere", p.Children[0].State)
		assert.Equal(t, handoff.ID("b"), p.Children[0].ID)
	}
}
