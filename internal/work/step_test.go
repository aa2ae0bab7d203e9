package work

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/handoff"
	"githandoff/internal/record"
)

// The last step counts, but a renewal does not replace a step that ends the handoff.
func TestKeptStep(t *testing.T) {
	c := claimsIn(t.TempDir())
	change := func(id handoff.ID, change func(h *Claim)) {
		t.Helper()
		require.NoError(t, c.Update(t.Context(), id, func(h *Claim) error {
			change(h)
			return nil
		}))
	}
	put := func(event record.Event) { change(someID, func(h *Claim) { h.Keep(Step{Event: event, Nonce: "n"}) }) }
	is := func(events ...record.Event) {
		t.Helper()
		waiting, err := c.Waiting()
		require.NoError(t, err)
		var got []record.Event
		for _, h := range waiting {
			got = append(got, h.Pending.Event)
		}
		assert.Equal(t, events, got)
	}
	is()
	put(record.Progressed)
	put(record.Progressed)
	is(record.Progressed)
	change(someID, func(h *Claim) {
		h.Keep(Step{Event: record.Progressed, Nonce: "n", At: time.Date(2026, 11, 20, 23, 0, 0, 7, time.FixedZone("", 3600))})
	})
	step, err := c.Pending(someID)
	require.NoError(t, err)
	assert.Equal(t, "2026-11-20T22:00:00Z", step.At.Format(time.RFC3339Nano), "whole seconds, UTC")
	put(record.Acknowledged)
	is(record.Acknowledged)
	put(record.Progressed)
	is(record.Acknowledged)
	put(record.Failed)
	is(record.Failed)
	change(otherID, func(h *Claim) { h.Keep(Step{Event: record.Released}) })
	is(record.Failed, record.Released)
	change(someID, func(h *Claim) { h.DropKept(record.Progressed) })
	is(record.Failed, record.Released)
	change(someID, func(h *Claim) { h.DropKept(record.Acknowledged) })
	is(record.Released)
	put(record.Progressed)
	change(someID, func(h *Claim) { h.DropKept(record.Progressed) })
	is(record.Released)
	entries, err := c.current().IDs()
	require.NoError(t, err)
	assert.Equal(t, []handoff.ID{otherID}, entries, "a record that says nothing is removed")
}

// A waiting step and its claim are one record: neither is lost when the other changes, and the end
// of the claim removes both.
func TestStepAndClaimAreOneRecord(t *testing.T) {
	c := claimsIn(t.TempDir())
	h := &Claim{ID: someID, Agent: "fixer", Actor: "fixer", Nonce: "n"}
	store(t, c, h)
	stale, err := c.Get(someID)
	require.NoError(t, err)
	require.NoError(t, c.Update(t.Context(), someID, func(h *Claim) error {
		h.Keep(Step{Event: record.Acknowledged, Nonce: "n"})
		return nil
	}))
	require.NoError(t, c.Update(t.Context(), someID, func(h *Claim) error {
		h.Lease = at()
		return nil
	}))
	got, err := c.Get(someID)
	require.NoError(t, err)
	assert.True(t, got.Finished())
	assert.False(t, stale.Finished())

	release(t, c, someID)
	got, err = c.Get(someID)
	require.NoError(t, err)
	assert.Nil(t, got, "nothing is held")
	waiting, err := c.Waiting()
	require.NoError(t, err)
	require.Len(t, waiting, 1, "the step is reported before it goes")
	assert.Equal(t, "fixer", waiting[0].Actor)

	newer := &Claim{ID: someID, Agent: "fixer", Actor: "fixer", Nonce: "n2"}
	store(t, c, newer)
	require.NoError(t, c.End(t.Context(), stale, at()))
	got, err = c.Get(someID)
	require.NoError(t, err)
	assert.True(t, got.Held(), "the end of an older claim leaves the newer one")
	require.NoError(t, c.End(t.Context(), got, at()))
	waiting, err = c.Waiting()
	require.NoError(t, err)
	assert.Empty(t, waiting)
}

// If processes change one record at once, no change is lost.
func TestUpdatesAtOnce(t *testing.T) {
	c := claimsIn(t.TempDir())
	store(t, c, &Claim{ID: someID, Agent: "fixer", Actor: "fixer", Nonce: "n"})
	const writers, updates = 8, 8
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for range updates {
				assert.NoError(t, c.Update(t.Context(), someID, func(h *Claim) error {
					h.Earlier = append(h.Earlier, "n")
					return nil
				}))
			}
		})
	}
	wg.Wait()
	h, err := c.Get(someID)
	require.NoError(t, err)
	assert.Len(t, h.Earlier, writers*updates)
}
