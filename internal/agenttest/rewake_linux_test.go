package agenttest_test

import (
	"testing"

	"githandoff/internal/agenttest"
)

// Set up for a project, Claude Code is woken by a hook that runs in the background.
func TestWakeByHook(t *testing.T) {
	for _, c := range agenttest.Clients() {
		if c.Name == "claude" {
			t.Run(c.Name, func(t *testing.T) { testWake(t, c, "--project") })
		}
	}
}
