package lifecycle

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
)

// Once the claim of a retired key is no longer in force, the agent's next key can take over the handoff. The old
// claim does not dispute it.
func TestNextKeyTakesOver(t *testing.T) {
	for name, tc := range map[string]struct {
		free   func(*testing.T, *roles, Place)
		reason string
	}{
		"given back": {func(t *testing.T, c *roles, p Place) {
			_, err := c.source.Release(t.Context(), c.home, ClaimProof{Place: p}, true)
			require.NoError(t, err)
		}, ""},
		"lease over":     {func(_ *testing.T, c *roles, _ Place) { c.Pass(DefaultLease + time.Minute) }, ""},
		"while it holds": {func(*testing.T, *roles, Place) {}, "claimed"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newRoles(t)
			next := c.agent(t, "fixer")
			p := c.offer(t, c.source, "fixer")
			c.claim(t, c.holder, p)
			c.Pass(time.Minute)
			for i := range c.Trusted {
				if c.Trusted[i].KID == c.holder.Author.Signer.KID() {
					c.Trusted[i].Retired = handoff.FormatTime(c.Now())
				}
			}
			c.Spread(t)
			tc.free(t, c, p)
			_, _, err := c.tryClaim(t.Context(), next, p)
			if tc.reason == "" {
				require.NoError(t, err)
				return
			}
			require.Error(t, err)
			assert.Equal(t, fault.Reason(tc.reason), fault.As(err).Reason)
			_, err = next.Verifier.Verify(t.Context(), c.home, c.load(t, next, p), Options{})
			assert.True(t, fault.Is(err, "key_revoked"), "%v", err)
		})
	}
}
