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

// wakeLimit is how long a test of a session that is woken waits for one thing.
const wakeLimit = 2 * time.Minute

// A handoff arrives while a session waits for its user, and the agent takes it without
// anybody typing.
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
	// A watch does not name what waited before it began, and nothing shows when it has
	// begun: another handoff comes if the first one was too early.
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
		// A process that ends meanwhile has neither.
		dir, _ := os.Readlink(p + "/cwd")
		line, _ := os.ReadFile(p + "/cmdline")
		argv := strings.Split(string(line), "\x00")
		if dir == w.Dir && len(argv) > 2 && filepath.Base(argv[0]) == "githandoff" && argv[1] == "watch" && argv[2] == "--wake" {
			return true
		}
	}
	return false
}

// eventually waits for half a minute; the caller goes on when it is false.
func eventually(is func() bool) bool {
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if is() {
			return true
		}
	}
	return false
}

// fail ends the test and prints the screen of the client.
func (w *world) fail() {
	w.t.Helper()
	screen, err := os.ReadFile(filepath.Join(w.Home, "screen"))
	w.t.Fatalf("%q %v", screen[max(0, len(screen)-3000):], err)
}
