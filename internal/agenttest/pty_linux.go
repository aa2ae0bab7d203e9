package agenttest

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
)

// Screen starts the client as a person does, in a terminal, and returns at once. The output
// goes to the file "screen" in the home of the session. The client ends with the test.
func (c Client) Screen(t testing.TB, s *Session, m *Model) {
	t.Helper()
	program := c.Find(t)
	require.Equal(t, "claude", c.Name, "only Claude Code was tried in a terminal")
	require.NoError(t, trusted(s))
	terminal := gittest.OpenTerminal(t, 40, 120)
	env, _ := c.run(s, m.URL)
	cmd := exec.Command(program, append([]string{"--permission-mode", "default"}, s.Args...)...) //nolint:gosec // the test installed this program
	cmd.Dir = s.Dir
	cmd.Env = append(append(s.Environ(), env...), "TERM=xterm-256color")
	require.NoError(t, terminal.Start(cmd))
	screen, err := os.Create(filepath.Join(s.Home, "screen"))
	require.NoError(t, err)
	go func() { _, _ = io.Copy(screen, terminal) }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		end := time.AfterFunc(5*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		end.Stop()
		_ = screen.Close()
	})
}

// trusted writes what Claude Code asks its user at the first start.
func trusted(s *Session) error {
	dir := filepath.Join(s.Home, ".claude")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, ".claude.json"), []byte(`{"hasCompletedOnboarding":true,"theme":"dark",`+
		`"customApiKeyResponses":{"approved":["mock"],"rejected":[]},"projects":{`+strconv.Quote(s.Dir)+
		`:{"hasTrustDialogAccepted":true,"hasCompletedProjectOnboarding":true}}}`), 0o600)
}
