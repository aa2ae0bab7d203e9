package gittest

import (
	"os/exec"
	"strconv"
	"testing"
)

// Daemon serves the repositories below root with git daemon. Anybody may read and write them. It returns
// "git://127.0.0.1:port".
func Daemon(t testing.TB, root string) string {
	t.Helper()
	// git-daemon is run directly: below "git daemon" it would be a grandchild, and a signal to its parent need
	// not reach it.
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
