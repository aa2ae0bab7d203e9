package agenttest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/agenttest"
)

// free returns the arguments with which a client runs tools without asking.
func free(name string) []string {
	switch name {
	case "claude":
		return []string{"--allowedTools", "Bash", "Write"}
	case "codex":
		return []string{"--dangerously-bypass-hook-trust", "--dangerously-bypass-approvals-and-sandbox"}
	case "gemini":
		return []string{"--approval-mode", "yolo"}
	case "opencode":
		return []string{"--auto"}
	case "copilot":
		return []string{"--allow-all-tools", "--trust-folder"}
	}
	return nil
}

func newSession(t *testing.T, client string) *agenttest.Session {
	t.Helper()
	top := t.TempDir()
	s := &agenttest.Session{
		Home: filepath.Join(top, "home"), Dir: filepath.Join(top, "repo"), Path: os.Getenv("PATH"), Args: free(client),
	}
	require.NoError(t, os.Mkdir(s.Home, 0o755))
	require.NoError(t, exec.Command("git", "init", "-q", s.Dir).Run())
	return s
}

// The model of each client can call a tool, and gets the tool's output.
func TestClientsRun(t *testing.T) {
	for _, c := range agenttest.Clients() {
		t.Run(c.Name, func(t *testing.T) {
			c.Find(t)
			m := agenttest.NewModel(t, c.Command("echo from-the-shell | tr a-z A-Z"), agenttest.Step{Text: "I am done."})
			out := c.Run(t, newSession(t, c.Name), m)
			turns := m.Turns()
			require.Len(t, turns, 2, out)
			assert.Contains(t, turns[1].Body, "FROM-THE-SHELL")
		})
	}
}
