package gittest

import (
	"os/exec"
	"strconv"
	"testing"
)

// Daemon serves the repositories below root with git daemon, for reading and
// writing by anybody, and returns "git://127.0.0.1:port".
func Daemon(t testing.TB, root string) string {
	t.Helper()
	// Run directly: below "git daemon" it would be a grandchild, which a
	// signal to that git need not reach.
	daemon, env := programPath(t, "git-daemon"), Env(t)
	addr := serve(t, "git daemon", func(port int) *exec.Cmd {
		cmd := exec.Command(daemon,
			"--reuseaddr", "--listen=127.0.0.1", "--port="+strconv.Itoa(port),
			"--max-connections=0", "--informative-errors",
			"--export-all", "--enable=receive-pack",
			"--base-path="+root, root)
		cmd.Env = env
		return cmd
	})
	return "git://" + addr
}
