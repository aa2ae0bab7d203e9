package agenttest_test

import (
	"testing"

	"githandoff/internal/agenttest"
)

// If Claude Code is set up for a project, a hook that runs in the background wakes it.
func TestWakeByHook(t *testing.T) {
	for _, c := range agenttest.Clients() {
		if c.Name == "claude" {
			t.Run(c.Name, func(t *testing.T) { testWake(t, c, "--project") })
		}
	}
}
