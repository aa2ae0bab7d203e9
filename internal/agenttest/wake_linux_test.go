package agenttest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/agenttest"
)

// wakeLimit is how long a test waits for one event of a session.
const wakeLimit = 2 * time.Minute

// A handoff arrives while a session waits for its user, and the agent claims it without input from the user.
func TestWake(t *testing.T) {
	for _, c := range agenttest.Clients() {
		if c.Name != "claude" && c.Name != "opencode" {
			continue
		}
		t.Run(c.Name, func(t *testing.T) { testWake(t, c) })
	}
}

func testWake(t *testing.T, c agenttest.Client, setup ...string) {
	w := newWorld(t, c)
	w.fix.Must(w.t, append([]string{"setup", c.Name, "--wake"}, setup...)...)
	woken := []agenttest.Step{w.command("githandoff resume"), {Text: "I saw it."}}
	before := 0
	var m *agenttest.Model
	if c.Name == "claude" {
		m = agenttest.NewModel(t, woken...)
		c.Screen(t, w.Session, m)
	} else {
		m = agenttest.NewModel(t, append([]agenttest.Step{{Text: "I wait."}}, woken...)...)
		c.Serve(t, w.Session, m).Prompt("hello")
		before = 1
	}
	asked := func(turns int) func() bool { return func() bool { return len(m.Turns()) >= turns } }
	if !assert.Eventually(t, w.watched, wakeLimit, 100*time.Millisecond, "nothing watches for arrivals") {
		w.fail()
	}
	require.Len(t, m.Turns(), before, "nothing waits, and nobody types")
	// A watch does not report handoffs from before its start, and nothing shows when it has started. If the
	// first handoff came too early, another one is sent.
	for range 3 {
		w.lend("LIN-7")
		if eventually(asked(before + 1)) {
			break
		}
	}
	if !assert.Eventually(t, asked(before+2), wakeLimit, 100*time.Millisecond, "the session is not woken") {
		w.fail()
	}
	assert.Regexp(t, `\d handoffs? arrived for fixer: `, m.Turns()[before].Body)
	assert.Contains(t, m.Turns()[before].Body, "(LIN-7)")
	assert.Contains(t, m.Turns()[before+1].Body, "Goal: Stop the 500 on login", "the agent took it")
}

// watched reports whether a "githandoff watch --wake" runs in the worktree of the session.
func (w *world) watched() bool {
	processes, err := filepath.Glob("/proc/[0-9]*")
	require.NoError(w.t, err)
	for _, p := range processes {
		// If the process has ended meanwhile, both are empty.
		dir, _ := os.Readlink(p + "/cwd")
		line, _ := os.ReadFile(p + "/cmdline")
		argv := strings.Split(string(line), "\x00")
		if dir == w.Dir && len(argv) > 2 && filepath.Base(argv[0]) == "githandoff" && argv[1] == "watch" && argv[2] == "--wake" {
			return true
		}
	}
	return false
}

// eventually waits up to half a minute for a condition, and reports whether it became true.
func eventually(is func() bool) bool {
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if is() {
			return true
		}
	}
	return false
}

// fail prints the screen of the client and ends the test.
func (w *world) fail() {
	w.t.Helper()
	screen, err := os.ReadFile(filepath.Join(w.Home, "screen"))
	w.t.Fatalf("%q %v", screen[max(0, len(screen)-3000):], err)
}
