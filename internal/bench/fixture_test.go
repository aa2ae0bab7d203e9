package bench

import (
	"fmt"
	"path/filepath"
	"strconv"
	"testing"

	"githandoff/internal/gittest"
)

// fixture is a hub and a clone of it, in which the agents sender and fixer trust each
// other.
type fixture struct {
	*gittest.Fixture
	bin   string
	clone *gittest.Repo
}

func newFixture(b testing.TB) *fixture {
	b.Helper()
	w := &fixture{Fixture: gittest.NewFixture(b), bin: gittest.BuildBinary(b)}
	w.firstClone(b)
	return w
}

// firstClone makes the clone in which sender works.
func (w *fixture) firstClone(b testing.TB) {
	b.Helper()
	w.clone = w.another(b)
	w.setUp(b, w.clone, "fixer", "sender")
}

// setUp makes agents in a repository. The last one works there.
func (w *fixture) setUp(b testing.TB, repo *gittest.Repo, agents ...string) {
	b.Helper()
	for _, agent := range agents {
		repo.Must(b, "init", "--as", agent, "--force") // the worktree had another agent before
	}
}

// another returns a further clone of the hub, with the objects of the hub's branches, as over a
// network. A local clone would share all objects.
func (w *fixture) another(b testing.TB, flags ...string) *gittest.Repo {
	b.Helper()
	return gittest.Clone(b, w.Env, w.URL, append(flags, "--no-local")...)
}

// orphan makes a commit without parents that only this number has, and returns
// its id.
func orphan(b testing.TB, repo *gittest.Repo, n int) string {
	b.Helper()
	tree := repo.Git(b, "mktree")
	return repo.Git(b, "commit-tree", "-m", strconv.Itoa(n), tree)
}

// goal has the flags of a short handoff.
func goal(n int) []string {
	return []string{
		"--task", fmt.Sprintf("LIN-%d", n), "--goal", "Sessions must survive a restart of the server",
		"--summary", "The store is opened read-only after a crash; see session.Open. Two tests show it.",
	}
}

// abs returns a file below a directory of the benchmark's own.
func abs(b testing.TB, elem ...string) string {
	b.Helper()
	return filepath.Join(append([]string{b.TempDir()}, elem...)...)
}
