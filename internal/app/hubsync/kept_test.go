package hubsync

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/record"
	"githandoff/internal/work"
)

// If a step is dropped, a step that another command of this worktree has kept meanwhile stays: it belongs to a
// newer claim.
func TestDropsNoNewerStep(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	hd := &Handler{Claims: work.Claims{GitDir: dir, Common: dir}}
	const id = handoff.ID("01JD3M6Z0000000000000000AA")
	put := func(nonce string) work.Step {
		require.NoError(t, hd.Claims.Update(t.Context(), id, func(stored *work.Claim) error {
			stored.Agent, stored.Actor, stored.Nonce = "fixer", "fixer", nonce
			stored.Keep(work.Step{Event: record.Acknowledged, Nonce: nonce})
			return nil
		}))
		step, err := hd.Claims.Pending(id)
		require.NoError(t, err)
		return *step
	}
	lost := fault.New(fault.Conflict, fault.NotHolder, "the claim was lost")
	first, second := put("n1"), put("n2")
	require.ErrorContains(t, hd.dropLost(t.Context(), id, first, false, lost), "dropped the queued step")
	kept, err := hd.Claims.Pending(id)
	require.NoError(t, err)
	require.NotNil(t, kept)
	assert.Equal(t, "n2", kept.Nonce)

	require.ErrorContains(t, hd.dropLost(t.Context(), id, second, false, lost), "dropped the queued step")
	kept, err = hd.Claims.Pending(id)
	require.NoError(t, err)
	assert.Nil(t, kept)
}
