package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"githandoff/internal/footprint"
)

// BenchmarkAgentHook is the time for which an agent waits at an event of a session that knows
// all waiting handoffs, beside a git that lists the same inbox. "Changed" is a prompt after a
// file was touched, so that the hook reads the inbox again.
func BenchmarkAgentHook(b *testing.B) {
	const payload = `{"session_id":"s1","tool_name":"Write","tool_input":{"file_path":"main.go"}}`
	for _, n := range []int{100, 10_000} {
		w, repo := full(b, n)
		call := filepath.Join(b.TempDir(), "call.json")
		require.NoError(b, os.WriteFile(call, []byte(payload), 0o600))
		hook := func(event string) way {
			return way{dir: repo.Dir, env: w.Env, args: always(
				"sh", "-c", `exec "$1" hook agent claude "$2" <"$3"`, "sh", w.bin, event, call)}
		}
		list := way{dir: repo.Dir, env: w.Env, args: always("git", "for-each-ref", "refs/handoffs/inbox/fixer/")}
		hook("SessionStart").run(b, 0)
		time.Sleep(footprint.Settling) // what was made just now is read each time
		hook("SessionStart").run(b, 0)
		for _, event := range []string{"SessionStart", "UserPromptSubmit", "PreToolUse", "Stop"} {
			b.Run(fmt.Sprint(event, "/", n), func(b *testing.B) { compare(b, hook(event), list) })
		}
		b.Run(fmt.Sprint("Changed/", n), func(b *testing.B) {
			changed := hook("UserPromptSubmit")
			changed.before = func(i int) {
				then := time.Unix(int64(i), 0)
				require.NoError(b, os.Chtimes(filepath.Join(repo.Dir, ".git", "config"), then, then))
			}
			compare(b, changed, list)
		})
	}
}
