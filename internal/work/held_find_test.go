package work

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
)

// An abbreviation that fits two held handoffs finds neither, so that an acknowledgement does not end an
// arbitrary one. Each is found by its whole id.
func TestFindAmbiguous(t *testing.T) {
	c := claimsIn(t.TempDir())
	const twin = "ho_01kahcp3g1111110000000000r"
	for _, id := range []string{someID, twin} {
		store(t, c, &Claim{ID: handoff.ID(id), Agent: "fixer", Actor: "fixer", Nonce: "n"})
	}
	w := &Held{Claims: c}
	_, err := w.Find("0000000r")
	require.True(t, fault.Is(err, fault.AmbiguousID), "%v", err)
	var runs []string
	for _, h := range fault.As(err).Hints {
		runs = append(runs, strings.Join(h.In([]string{"githandoff", "ack", "0000000r"}).Run, " "))
	}
	assert.Equal(t, []string{"githandoff ack " + someID, "githandoff ack " + twin}, runs)
	for _, id := range []string{someID, twin} {
		h, err := w.Find(id)
		require.NoError(t, err)
		assert.Equal(t, id, string(h.ID))
	}
	held, err := c.Held()
	require.NoError(t, err)
	assert.Equal(t, "…00000000000r, …10000000000r", ShortIDs(held))
}
