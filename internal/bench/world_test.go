package bench

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"githandoff/internal/gittest"
)

// world is a user, a hub and a clone of it, in which the agents sender and
// fixer trust each other.
type world struct {
	bin   string
	env   []string
	hub   *gittest.Repo
	url   string // of the hub; empty where its directory is
	clone *gittest.Repo
}

func newWorld(b testing.TB) *world {
	b.Helper()
	w := &world{bin: gittest.BuildBinary(b), env: gittest.Env(b)}
	w.hub = gittest.NewBare(b, w.env)
	w.clone = gittest.Clone(b, w.env, w.hub.Dir)
	w.clone.Commit(b, "main.go", "package main\n", "first")
	w.clone.Git(b, "push", "--quiet", "origin", "HEAD")
	w.setUp(b, w.clone, "fixer", "sender")
	return w
}

// setUp makes agents in a repository; the last one is who works there.
func (w *world) setUp(b testing.TB, repo *gittest.Repo, agents ...string) {
	b.Helper()
	for _, agent := range agents {
		w.tool(b, repo, "init", "--as", agent, "--force") // of whom the worktree was before
	}
}

// tool runs githandoff, which must succeed, and returns its standard output.
func (w *world) tool(b testing.TB, repo *gittest.Repo, args ...string) string {
	b.Helper()
	cmd := exec.Command(w.bin, args...)
	cmd.Dir, cmd.Env = repo.Dir, w.env
	out, err := cmd.Output()
	if err != nil {
		var stderr []byte
		if exit, ok := err.(*exec.ExitError); ok {
			stderr = exit.Stderr
		}
		b.Fatalf("githandoff %s: %v\n%s", strings.Join(args, " "), err, stderr)
	}
	return strings.TrimSpace(string(out))
}

// another is a further clone of the hub. It has what the hub's branches lead
// to, as every clone over a network; a local one would share all objects.
func (w *world) another(b testing.TB, flags ...string) *gittest.Repo {
	b.Helper()
	if w.url != "" {
		return gittest.Clone(b, w.env, w.url, flags...)
	}
	return gittest.Clone(b, w.env, w.hub.Dir, append(flags, "--no-local")...)
}

// orphan makes a commit without parents that only this number has, and returns
// its id.
func orphan(b testing.TB, repo *gittest.Repo, n int) string {
	b.Helper()
	tree := repo.Git(b, "mktree")
	return repo.Git(b, "commit-tree", "-m", strconv.Itoa(n), tree)
}

// goal is what a short handoff says.
func goal(n int) []string {
	return []string{
		"--task", fmt.Sprintf("LIN-%d", n), "--goal", "Sessions must survive a restart of the server",
		"--summary", "The store is opened read-only after a crash; see session.Open. Two tests show it.",
	}
}

// abs is a file below a directory of the benchmark's own.
func abs(b testing.TB, elem ...string) string {
	b.Helper()
	return filepath.Join(append([]string{b.TempDir()}, elem...)...)
}
