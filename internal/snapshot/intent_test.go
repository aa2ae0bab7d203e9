package snapshot_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
	"githandoff/internal/gittest"
	"githandoff/internal/snapshot"
)

// A path added with --intent-to-add keeps the mode that the index has, whatever kind of file is there now.
func TestIntentKeepsItsMode(t *testing.T) {
	env := gittest.Env(t)
	git := gittest.NewRepo(t, env)
	git.Commit(t, "a", "a\n", "base")
	full := func(path string) string { return filepath.Join(git.Dir, path) }
	makeLink := func(path string) {
		require.NoError(t, os.RemoveAll(full(path)))
		require.NoError(t, os.Symlink("a", full(path)))
	}
	for _, path := range []string{"to-link", "dir/to link\n", "to-exec", "plain"} {
		write(t, git.Dir, path, "x\n")
	}
	write(t, git.Dir, "from-exec", "x\n")
	require.NoError(t, os.Chmod(full("from-exec"), 0o755))
	makeLink("from-link")
	git.Git(t, "add", "--intent-to-add", "--all")
	makeLink("to-link")
	makeLink("dir/to link\n")
	require.NoError(t, os.Chmod(full("to-exec"), 0o755))
	require.NoError(t, os.Chmod(full("from-exec"), 0o644))
	require.NoError(t, os.Remove(full("from-link")))
	write(t, git.Dir, "from-link", "x\n")

	had := state(t, git)
	s, c, repo := capture(t, git)
	defer repo.Close()
	out := &gittest.Repo{Dir: filepath.Join(t.TempDir(), "new"), Env: env}
	require.NoError(t, c.AddWorktree(ctx(), out.Dir, branch, complete))
	require.Equal(t, had, state(t, out))

	git.Git(t, "reset", "--quiet", "--hard")
	git.Git(t, "clean", "--quiet", "-fd")
	again := open(t, git.Dir, env)
	defer again.Close()
	here, err := snapshot.Open(ctx(), again, s.Work.Commit)
	require.NoError(t, err)
	require.NoError(t, here.CheckOutHere(ctx(), "here"))
	require.Equal(t, had, state(t, git))
}

// If another program writes a file during a capture, the check of the snapshot finds other bytes. The refusal
// must not name the line ends as the cause.
func TestWrittenMeanwhile(t *testing.T) {
	env := gittest.Env(t)
	git := odd(t, env)
	git.Git(t, "config", "filter.up.smudge", "sh -c 'echo more >>run.sh; tr a-z A-Z'")
	write(t, git.Dir, "loud.up", "OTHER\n")
	write(t, git.Dir, "run.sh", "changed\n")
	repo := open(t, git.Dir, env)
	defer repo.Close()
	_, err := snapshot.Capture(ctx(), repo, request())
	require.ErrorContains(t, err, "run.sh changed while it was taken")
	assert.True(t, fault.Is(err, fault.WorkChanged))
	assert.Equal(t, fault.Conflict, fault.CodeOf(err))
}

// A work tree to which only core.worktree leads is refused in one line that names the setting.
func TestWorkTreeByCoreWorktreeIsRefused(t *testing.T) {
	env := gittest.Env(t)
	git := gittest.NewRepo(t, env)
	git.Commit(t, "a", "a\n", "base")
	elsewhere := t.TempDir()
	write(t, elsewhere, "a", "changed\n")
	git.Git(t, "config", "core.worktree", elsewhere)
	repo := open(t, git.Dir, env)
	defer repo.Close()
	_, err := snapshot.Capture(ctx(), repo, request())
	require.ErrorContains(t, err, "the setting core.worktree puts the work tree at ")
	assert.True(t, fault.Is(err, fault.CannotTravel))
	assert.NotContains(t, err.Error(), "\n")

	git.Git(t, "config", "core.worktree", git.Dir)
	write(t, git.Dir, "a", "changed\n")
	same := open(t, git.Dir, env)
	defer same.Close()
	s, err := snapshot.Capture(ctx(), same, request())
	require.NoError(t, err, "the setting names the place where the work tree is anyway")
	assert.True(t, s.Changed)
}
