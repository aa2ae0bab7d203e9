package agenttest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"githandoff/internal/agenttest"
	"githandoff/internal/gittest"
)

// world is a repository with a hub and two worktrees: one of alice, and one of the agent fixer, in which a
// session of a client runs. It is not a gittest.Fixture, because a client needs a home like that of a person.
type world struct {
	t      *testing.T
	client agenttest.Client
	*agenttest.Session
	shop, fix *gittest.Repo
	hub       string
}

func newWorld(t *testing.T, client agenttest.Client) *world {
	t.Helper()
	client.Find(t)
	top := t.TempDir()
	w := &world{
		t: t, client: client, hub: filepath.Join(top, "hub.git"),
		Session: &agenttest.Session{Home: filepath.Join(top, "home"), Dir: filepath.Join(top, "repo"), Args: free(client.Name)},
	}
	require.NoError(t, os.Mkdir(w.Home, 0o755))
	w.Path = filepath.Dir(gittest.BuildBinary(t)) + ":" + gittest.PathWithout(t, "githandoff", "git-handoff")
	w.write(filepath.Join(w.Home, ".gitconfig"), gittest.GitConfig("Alice", "alice@example.com"))
	// Codex CLI runs a login shell, which resets PATH.
	w.write(filepath.Join(w.Home, ".bash_profile"), "export PATH='"+w.Path+"'\n")
	gittest.NewBareAt(t, w.Environ(), w.hub)
	w.shop = gittest.NewRepo(t, w.Environ())
	w.fix = &gittest.Repo{Dir: w.Dir, Env: w.Environ()}
	w.shop.Commit(t, "src/auth/session.go", "package auth\n", "Start the shop")
	w.shop.Git(t, "remote", "add", "origin", w.hub)
	w.shop.Git(t, "push", "-q", "origin", "main")
	w.shop.Git(t, "worktree", "add", "-q", "-b", "fix", w.Dir)
	w.shop.Must(t, "init", "--person", "alice@example.com")
	w.fix.Must(t, "init", "--as", "fixer", "--hooks")
	return w
}

func (w *world) write(path, content string) {
	w.t.Helper()
	require.NoError(w.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(w.t, os.WriteFile(path, []byte(content), 0o644)) //nolint:gosec // the mode that a client uses
}

// lend offers fixer a handoff with a token for src/auth and for branches fix/*.
func (w *world) lend(task string) string {
	w.t.Helper()
	return w.shop.Must(w.t, "emit", "--quiet", "--to", "fixer", "--task", task, "--goal", "Stop the 500 on login",
		"--on-behalf-of", "alice@example.com", "--scope", "repo.write:src/auth/*", "--scope", "repo.push:refs/heads/fix/*")
}

// file returns a call of the client's tool that writes files.
func (w *world) file(path, content string) agenttest.Step {
	return w.client.File(filepath.Join(w.Dir, path), path, content)
}

// command returns a call of the client's shell.
func (w *world) command(line string) agenttest.Step { return w.client.Command(line) }

// turnsWith lists the turns whose last message contains a text for the first time.
func turnsWith(turns []agenttest.Request, text string) []int {
	var with []int
	for i, turn := range turns {
		before := ""
		if i > 0 {
			before = turns[i-1].Body
		}
		if strings.Count(turn.Body, text) > strings.Count(before, text) {
			with = append(with, i)
		}
	}
	return with
}
