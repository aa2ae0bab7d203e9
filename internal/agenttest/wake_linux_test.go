package agenttest_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/agenttest"
)

// A handoff arrives while a session waits for its user, and the agent takes it without
// anybody typing.
func TestWake(t *testing.T) {
	for _, c := range agenttest.Clients() {
		if c.Name != "claude" && c.Name != "opencode" {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			w := newWorld(t, c)
			w.githandoff(w.Dir, "setup", c.Name, "--wake")
			woken := []agenttest.Step{w.command("githandoff resume"), {Text: "I saw it."}}
			before := 0
			var m *agenttest.Model
			if c.Name == "claude" {
				m = agenttest.NewModel(t, woken...)
				c.Screen(t, w.Session, m)
				time.Sleep(10 * time.Second)
			} else {
				m = agenttest.NewModel(t, append([]agenttest.Step{{Text: "I wait."}}, woken...)...)
				c.Serve(t, w.Session, m).Prompt("hello")
				time.Sleep(3 * time.Second)
				before = 1
			}
			require.Len(t, m.Turns(), before, "nothing waits, and nobody types")
			w.lend("LIN-7")
			ok := assert.Eventually(t, func() bool { return len(m.Turns()) >= before+2 }, 40*time.Second, 200*time.Millisecond)
			if !ok {
				screen, err := os.ReadFile(filepath.Join(w.Home, "screen"))
				t.Logf("%q %v", screen[max(0, len(screen)-3000):], err)
				t.FailNow()
			}
			assert.Contains(t, m.Turns()[before].Body, "1 handoff arrived for fixer: ")
			assert.Contains(t, m.Turns()[before].Body, "(LIN-7)")
			assert.Contains(t, m.Turns()[before+1].Body, "Goal: Stop the 500 on login", "the agent took it")
		})
	}
}
