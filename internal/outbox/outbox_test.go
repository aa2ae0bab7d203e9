package outbox

import (
	"errors"
	"fmt"
	"syscall"
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

// A handoff in the outbox stays there, whatever stops its delivery. The error says so, and none of its hints makes a
// second handoff.
func TestErrorOfAKeptHandoff(t *testing.T) {
	again := "run the same command again"
	busy := fault.New(fault.Unavailable, fault.Busy, "the lane changed").WithHints(fault.Fact("%s", again))
	for _, err := range []error{errors.New("a file cannot be written"), fmt.Errorf("write: %w", syscall.ENOSPC), busy} {
		kept := fault.As(KeptError(err, "ho_01kbh6f9v0aaaaaaaaaaaaaaaa"))
		assert.Contains(t, kept.Message, err.Error()+"; the handoff waits in the outbox")
		assert.Contains(t, kept.Advice(), "githandoff sync  # sends it after the fix")
		assert.NotContains(t, kept.Advice(), again)
	}
	full := fault.As(KeptError(fmt.Errorf("write: %w", syscall.ENOSPC), ""))
	assert.Equal(t, fault.DiskFull, full.Reason)
	assert.Contains(t, full.Advice(), "free some space")
}
