package agenttest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/agenttest"
	"githandoff/internal/gittest"
)

// sandboxed says how to start a client whose commands run in its sandbox, without anybody to ask.
var sandboxed = map[string][]string{
	"claude": {
		"--allowedTools", "Bash", "Write",
		"--settings", `{"sandbox":{"enabled":true,"failIfUnavailable":true,"allowUnsandboxedCommands":false}}`,
	},
	// The repository of the test is in the directory for temporary files, which Codex CLI makes writable.
	"codex": {
		"--dangerously-bypass-hook-trust", "--sandbox", "workspace-write",
		"-c", "sandbox_workspace_write.exclude_slash_tmp=true",
	},
}

// newSandboxedWorld is like newWorld, for a session in a sandbox.
func newSandboxedWorld(t *testing.T, name string) *world {
	t.Helper()
	for _, c := range agenttest.Clients() {
		if c.Name != name {
			continue
		}
		w := newWorld(t, c)
		if out, err := exec.Command("unshare", "--user", "--map-root-user", "--mount", "true").CombinedOutput(); err != nil {
			gittest.Missing(t, "no namespaces, which sandboxes are made of: %s", out)
		}
		w.Args = sandboxed[name]
		tmp := filepath.Join(w.Home, "tmp")
		require.NoError(t, os.Mkdir(tmp, 0o755)) //nolint:gosec // the mode that a client uses
		w.Env = append(w.Env, "TMPDIR="+tmp)
		return w
	}
	t.Fatalf("no client %s", name)
	return nil
}

// In the sandbox of Claude Code a handoff goes its whole way, a snapshot included. Only the configuration
// of git cannot be written.
func TestSandboxOfClaude(t *testing.T) {
	w := newSandboxedWorld(t, "claude")
	gittest.Need(t, "bwrap", "socat")
	w.fix.Must(w.t, "setup", "claude")
	id := w.lend("LIN-423")
	m := agenttest.NewModel(
		t,
		w.command("githandoff resume"),
		w.command("echo x >src/auth/a.go && githandoff progress -m half && git add src && git commit -qm 'Renew the session' && git log -1 --format=%B"),
		w.command("echo y >src/auth/b.go; githandoff work show $(githandoff emit --snapshot --to fixer --goal more); githandoff doctor; githandoff init --notes"),
		w.command("githandoff ack"),
		agenttest.Step{Text: "I am done."},
	)
	out := w.client.Run(t, w.Session, m)
	turns := m.Turns()
	require.Len(t, turns, 5, out)
	assert.Contains(t, turns[1].Body, "Goal: Stop the 500 on login")
	assert.Contains(t, turns[2].Body, "Handoff-Id: "+id)
	assert.Contains(t, turns[3].Body, `Branch: fix\nA\tsrc/auth/b.go\n----- end `, "nothing else is in the snapshot")
	assert.NotContains(t, turns[3].Body, "problem  repository")
	assert.Regexp(t, `locks +none`, turns[3].Body)
	assert.Contains(t, turns[3].Body, "in a coding agent's sandbox, ask the user")
	log := w.shop.Must(w.t, "audit")
	assert.Regexp(t, "acknowledged "+id+" .* ok", log)
}

// The sandbox of Codex CLI mounts the git directory read-only. Hooks and the server of "githandoff mcp" run
// outside of it: a command of the model changes nothing and names the tools, and these work.
func TestSandboxOfCodex(t *testing.T) {
	w := newSandboxedWorld(t, "codex")
	w.fix.Must(w.t, "setup", "codex", "--approve")
	id := w.lend("LIN-423")
	m := agenttest.NewModel(
		t,
		w.command("githandoff resume "+id+" || githandoff resume --peek; git commit --allow-empty -qm x"),
		agenttest.Step{Tool: "handoff_take"},
		w.file("src/auth/a.go", "package auth"),
		agenttest.Step{Tool: "handoff_finish", Input: map[string]any{"id": id, "outcome": "done", "summary": "renewed"}},
		agenttest.Step{Text: "I am done."},
	)
	out := w.client.Run(t, w.Session, m)
	turns := m.Turns()
	require.Len(t, turns, 5, out)
	assert.Contains(t, turns[0].Body, "1 handoff waits for agent fixer")
	assert.Contains(t, turns[1].Body, "resume.lock: read-only file system")
	assert.Contains(t, turns[1].Body, "use the tools of githandoff mcp")
	assert.Contains(t, turns[1].Body, "Goal: Stop the 500 on login", "a look needs no right to write")
	assert.Contains(t, turns[1].Body, "index.lock': Read-only file system", "git cannot commit either")
	assert.Contains(t, turns[2].Body, "Held by fixer")
	assert.FileExists(t, filepath.Join(w.Dir, "src/auth/a.go"))
	assert.Regexp(t, "acknowledged "+id+" .*renewed.* ok", w.shop.Must(w.t, "audit"))
}
