package lifecycle

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
)

// A lane only grows: a copy moves to descendants of its tip, and to nothing else.
func TestMayMove(t *testing.T) {
	c := newRoles(t)
	p := c.offer(t, c.source, "fixer")
	offered := c.load(t, c.holder, p).LaneTip
	c.claim(t, c.holder, p)
	claimed := c.load(t, c.holder, p).LaneTip
	e := c.fresh(c.holder)
	for _, from := range []string{"", offered, claimed} {
		require.NoError(t, e.Reader.Lanes.MayMove(t.Context(), from, claimed))
	}
	for _, from := range []string{claimed, c.Hub.Git(t, "rev-parse", "HEAD")} {
		assert.True(t, fault.Is(e.Reader.Lanes.MayMove(t.Context(), from, offered), "rollback"))
	}
}
