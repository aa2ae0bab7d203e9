package outbox

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"githandoff/internal/fault"
)

// If a hub cannot be reached, the hint is to sync once it is back. If it refuses the account, waiting does not
// help, and the hint that names the account stays.
func TestHintsOfAKeptHandoff(t *testing.T) {
	down := func(hint fault.Hint) *fault.Error {
		return fault.New(fault.Unavailable, fault.RemoteUnavailable, "cannot read origin").WithHints(hint)
	}
	kept := fault.As(Kept(down(fault.Run("git", "ls-remote", "--", "origin")), "it waits"))
	assert.Equal(t, "cannot read origin; it waits", kept.Message)
	assert.Contains(t, kept.Advice(), "sends it, once the hub is back")

	kept = fault.As(Kept(down(fault.Fact("origin refuses the password")), "it waits"))
	assert.Equal(t, "origin refuses the password", kept.Hints[0].Why)
	assert.Contains(t, kept.Advice(), "sends it after the fix")
	assert.NotContains(t, kept.Advice(), "back")
}
