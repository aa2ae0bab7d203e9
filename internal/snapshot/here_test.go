package snapshot_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
	"githandoff/internal/gittest"
	"githandoff/internal/snapshot"
)

const branch = "handoff/x"

// messed returns a repository and a snapshot of a work tree with all kinds of changes. The work tree is clean
// again; had is its state when the snapshot was taken.
func messed(t *testing.T, env []string) (git *gittest.Repo, s *snapshot.Snapshot, had string) {
	git = odd(t, env)
	write(t, git.Dir, "a", "staged\n")
	git.Git(t, "add", "a")
	write(t, git.Dir, "a", "staged, and more\n")
	write(t, git.Dir, "dir/one", "changed, and longer than it was before\n")
	write(t, git.Dir, "fresh/file", "untracked\n")
	write(t, git.Dir, "intent", "to be added\n")
	git.Git(t, "add", "--intent-to-add", "intent")
	require.NoError(t, os.Remove(filepath.Join(git.Dir, "dir/two")))
	require.NoError(t, os.RemoveAll(filepath.Join(git.Dir, "dir/deep")))
	write(t, git.Dir, "dir/deep", "a file in the place of a directory\n")
	had = state(t, git)
	s, _, repo := capture(t, git)
	repo.Close()
	git.Git(t, "reset", "--quiet", "--hard")
	git.Git(t, "clean", "--quiet", "-ffd")
	return git, s, had
}

// whole returns the tree of all files of a snapshot, as a checkout makes it.
func whole(t *testing.T, git *gittest.Repo, s *snapshot.Snapshot) string {
	repo := open(t, git.Dir, git.Env)
	defer repo.Close()
	c, err := snapshot.Open(ctx(), repo, s.Work.Commit)
	require.NoError(t, err)
	require.NoError(t, c.FitsHere(ctx()))
	tree, err := c.Whole(ctx())
	require.NoError(t, err)
	return tree
}

// A checkout that was interrupted at any point can be continued, and then gives the sender's state.
func TestFinishHere(t *testing.T) {
	env := gittest.Env(t)
	for name, cut := range map[string]func(t *testing.T, git *gittest.Repo, s *snapshot.Snapshot, whole string){
		"before anything": func(*testing.T, *gittest.Repo, *snapshot.Snapshot, string) {},
		"after the branch": func(t *testing.T, git *gittest.Repo, s *snapshot.Snapshot, _ string) {
			git.Git(t, "branch", branch, s.Work.Head)
		},
		"in the middle of the files": func(t *testing.T, git *gittest.Repo, s *snapshot.Snapshot, _ string) {
			git.Git(t, "branch", branch, s.Work.Head)
			write(t, git.Dir, "a", "staged, and more\n") // checked out completely
			write(t, git.Dir, "dir/one", "changed, and lo")
			write(t, git.Dir, "fresh/file", "")
			require.NoError(t, os.Remove(filepath.Join(git.Dir, "dir/two")))
			require.NoError(t, os.RemoveAll(filepath.Join(git.Dir, "dir/deep")))
		},
		"after the files": func(t *testing.T, git *gittest.Repo, s *snapshot.Snapshot, whole string) {
			git.Git(t, "branch", branch, s.Work.Head)
			git.Git(t, "read-tree", "-m", "-u", "HEAD", whole)
		},
		"after HEAD": func(t *testing.T, git *gittest.Repo, s *snapshot.Snapshot, whole string) {
			git.Git(t, "branch", branch, s.Work.Head)
			git.Git(t, "read-tree", "-m", "-u", "HEAD", whole)
			git.Git(t, "symbolic-ref", "HEAD", "refs/heads/"+branch)
		},
		"before the intents to add": func(t *testing.T, git *gittest.Repo, s *snapshot.Snapshot, whole string) {
			git.Git(t, "branch", branch, s.Work.Head)
			git.Git(t, "read-tree", "-m", "-u", "HEAD", whole)
			git.Git(t, "symbolic-ref", "HEAD", "refs/heads/"+branch)
			git.Git(t, "read-tree", "-m", s.Work.Commit+"^2")
		},
		"at its end": func(t *testing.T, git *gittest.Repo, s *snapshot.Snapshot, _ string) {
			repo := open(t, git.Dir, git.Env)
			defer repo.Close()
			c, err := snapshot.Open(ctx(), repo, s.Work.Commit)
			require.NoError(t, err)
			require.NoError(t, c.CheckOutHere(ctx(), branch))
		},
	} {
		t.Run(name, func(t *testing.T) {
			git, s, had := messed(t, env)
			cut(t, git, s, whole(t, git, s))
			repo := open(t, git.Dir, env)
			defer repo.Close()
			c, err := snapshot.Open(ctx(), repo, s.Work.Commit)
			require.NoError(t, err)
			require.NoError(t, c.FinishHere(ctx(), branch, s.Work.Head))
			assert.Equal(t, had, state(t, git))
			assert.Equal(t, branch, git.Git(t, "branch", "--show-current"))
			assert.FileExists(t, filepath.Join(git.Dir, "noise.log"), "an ignored file")
		})
	}
}

// After a directory was copied, the index has old times of the files.
func TestCheckOutHereInACopy(t *testing.T) {
	env := gittest.Env(t)
	git, s, had := messed(t, env)
	for _, path := range []string{"a", "dir/one"} {
		then := time.Unix(1_600_000_000, 0)
		require.NoError(t, os.Chtimes(filepath.Join(git.Dir, path), then, then))
	}
	repo := open(t, git.Dir, env)
	defer repo.Close()
	c, err := snapshot.Open(ctx(), repo, s.Work.Commit)
	require.NoError(t, err)
	require.NoError(t, c.CheckOutHere(ctx(), branch))
	assert.Equal(t, had, state(t, git))
}

// A file that a user changed after a checkout was interrupted is not overwritten.
func TestFinishHereLosesNothing(t *testing.T) {
	env := gittest.Env(t)
	for name, tc := range map[string]struct {
		change func(t *testing.T, git *gittest.Repo)
		want   string
	}{
		"a file of the snapshot":      {func(t *testing.T, git *gittest.Repo) { write(t, git.Dir, "fresh/file", "mine\n") }, "fresh/file"},
		"a file of both":              {func(t *testing.T, git *gittest.Repo) { write(t, git.Dir, "dir/one", "mine\n") }, "dir/one"},
		"a file of HEAD alone":        {func(t *testing.T, git *gittest.Repo) { write(t, git.Dir, "dir/two", "mine\n") }, "dir/two"},
		"another file that is known":  {func(t *testing.T, git *gittest.Repo) { write(t, git.Dir, "run.sh", "mine\n") }, "run.sh"},
		"a file below a file's place": {func(t *testing.T, git *gittest.Repo) { write(t, git.Dir, "dir/deep/mine.log", "mine\n") }, "dir/deep/mine.log"},
		"the index":                   {func(t *testing.T, git *gittest.Repo) { git.Git(t, "rm", "--quiet", "--cached", "dir-sibling") }, "dir-sibling"},
		"HEAD":                        {func(t *testing.T, git *gittest.Repo) { git.Git(t, "commit", "--quiet", "--allow-empty", "-m", "on") }, "another commit"},
	} {
		t.Run(name, func(t *testing.T) {
			git, s, _ := messed(t, env)
			write(t, git.Dir, "a", "staged, a") // the beginning of the snapshot's content
			tc.change(t, git)
			before := fingerprint(t, git.Dir, ".git")
			repo := open(t, git.Dir, env)
			defer repo.Close()
			c, err := snapshot.Open(ctx(), repo, s.Work.Commit)
			require.NoError(t, err)
			err = c.FinishHere(ctx(), branch, s.Work.Head)
			require.ErrorContains(t, err, tc.want)
			assert.True(t, fault.Is(err, fault.WorkTreeTaken))
			assert.Equal(t, before, fingerprint(t, git.Dir, ".git"))
		})
	}
}
