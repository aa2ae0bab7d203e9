package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
)

const (
	treeFiles    = 50_000 // of the work tree
	treeChanged  = 20     // of them, uncommitted
	filesPerDir  = 100
	stashAndPush = `set -e
commit=$(git stash create)
git push --quiet origin "$commit:$1"
`
	fetchAndApply = `set -e
git fetch --quiet origin "$1:$1"
git worktree add --quiet --detach "$2" HEAD
git -C "$2" stash apply --quiet --index "$1"
`
)

// largeTree returns a fixture whose clones have a work tree of many files.
func largeTree(b *testing.B) *fixture {
	b.Helper()
	inMemory(b)
	w := newFixture(b)
	for n := range treeFiles {
		path := treePath(w.clone, n)
		if n%filesPerDir == 0 {
			require.NoError(b, os.MkdirAll(filepath.Dir(path), 0o755))
		}
		require.NoError(b, os.WriteFile(path, []byte(fmt.Sprintf("file %d\n%s", n, strings.Repeat("some text\n", n%40))), 0o644))
	}
	w.clone.Git(b, "add", "--all")
	w.clone.Git(b, "commit", "--quiet", "-m", "many files")
	w.clone.Git(b, "push", "--quiet", "origin", "HEAD")
	w.clone.Git(b, "repack", "-a", "-d", "--quiet")
	return w
}

func treePath(repo *gittest.Repo, n int) string {
	return filepath.Join(repo.Dir, fmt.Sprintf("dir%03d", n/filesPerDir), fmt.Sprintf("file%05d.txt", n))
}

// change writes some files anew, in another way with each number.
func change(b *testing.B, repo *gittest.Repo, number int) {
	b.Helper()
	for i := range treeChanged {
		path := treePath(repo, i*(treeFiles/treeChanged))
		require.NoError(b, os.WriteFile(path, []byte(fmt.Sprintf("changed %d in run %d\n", i, number)), 0o644))
	}
	repo.Git(b, "status", "--short") // git knows the other files again
}

// soon is the time limit for pairs whose preparation takes longer than they do.
const soon = 30 * time.Second

// BenchmarkSnapshotEmit sends the state of a work tree of 50,000 files, 20 of them changed,
// to a hub, beside "git stash create" and one push.
func BenchmarkSnapshotEmit(b *testing.B) {
	w := largeTree(b)
	other := w.another(b)
	compare(b, way{
		dir: w.clone.Dir, env: w.Env,
		before: func(n int) { change(b, w.clone, n) },
		args: func(n int) []string {
			return append([]string{w.bin, "emit", "--snapshot", "--to", "fixer@origin"}, goal(n)...)
		},
	}, way{
		dir: other.Dir, env: w.Env,
		before: func(n int) { change(b, other, -n) },
		args:   func(n int) []string { return []string{"sh", "-c", stashAndPush, "sh", plainRef("stash", n)} },
	})
}

// BenchmarkSnapshotResume takes such a handoff and checks it out in a new worktree, beside
// one fetch, "git worktree add" and "git stash apply".
func BenchmarkSnapshotResume(b *testing.B) {
	w := largeTree(b)
	// Neither clone needs a work tree of its own.
	fixer, other := w.another(b, "--no-checkout"), w.another(b, "--no-checkout")
	w.setUp(b, fixer, "sender", "fixer")
	top := b.TempDir()
	dir := func(side string, n int) string { return filepath.Join(top, fmt.Sprint(side, n)) }
	remove := func(repo *gittest.Repo, side string, n int) {
		require.NoError(b, os.RemoveAll(dir(side, n)))
		repo.Git(b, "worktree", "prune")
	}
	compareFor(b, soon, way{
		dir: fixer.Dir, env: w.Env,
		before: func(n int) {
			if last := dir("ours", n-1); n > 1 {
				(&gittest.Repo{Dir: last, Env: w.Env}).Must(b, "ack")
			}
			remove(fixer, "ours", n-1)
			change(b, w.clone, n)
			w.clone.Must(b, append([]string{"emit", "--snapshot", "--to", "fixer@origin"}, goal(n)...)...)
		},
		args: func(n int) []string { return []string{w.bin, "resume", "--worktree=" + dir("ours", n)} },
	}, way{
		dir: other.Dir, env: w.Env,
		before: func(n int) {
			remove(other, "theirs", n-1)
			change(b, w.clone, -n)
			cmd := exec.Command("sh", "-c", stashAndPush, "sh", plainRef("stash", n))
			cmd.Dir, cmd.Env = w.clone.Dir, w.Env
			out, err := cmd.CombinedOutput()
			require.NoError(b, err, "%s", out)
		},
		args: func(n int) []string {
			return []string{"sh", "-c", fetchAndApply, "sh", plainRef("stash", n), dir("theirs", n)}
		},
	})
}
