package refs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gitexec"
	"githandoff/internal/gittest"
)

// Whatever HEAD is, Open finds the same commit and branch as "git rev-parse". The usual forms of HEAD need no
// extra process.
func TestOpenHeadLikeGit(t *testing.T) {
	env := gittest.Env(t)
	for name, c := range map[string]struct {
		make      func(repo *gittest.Repo, head string)
		processes int64
	}{
		"a branch":                    {func(*gittest.Repo, string) {}, 1},
		"a branch of a person":        {func(r *gittest.Repo, _ string) { r.Git(t, "checkout", "-q", "-b", "ana/fix@2") }, 1},
		"a packed branch":             {func(r *gittest.Repo, _ string) { r.Git(t, "pack-refs", "--all") }, 1},
		"detached":                    {func(r *gittest.Repo, _ string) { r.Git(t, "checkout", "-q", "--detach") }, 1},
		"detached at an older commit": {func(r *gittest.Repo, _ string) { r.Git(t, "checkout", "-q", "HEAD^") }, 1},
		"an unborn branch":            {func(r *gittest.Repo, _ string) { r.Git(t, "checkout", "-q", "--orphan", "new") }, 1},
		"an unborn branch beside a branch HEAD": {func(r *gittest.Repo, head string) {
			r.Git(t, "update-ref", "refs/heads/HEAD", head)
			r.Git(t, "checkout", "-q", "--orphan", "new")
		}, 1},
		"a branch that is another one": {func(r *gittest.Repo, _ string) {
			r.Git(t, "symbolic-ref", "refs/heads/alias", "refs/heads/main")
			r.Git(t, "symbolic-ref", "HEAD", "refs/heads/alias")
		}, 2},
		"a ref that is no branch": {func(r *gittest.Repo, head string) {
			r.Git(t, "update-ref", "refs/remotes/origin/main", head)
			r.Git(t, "symbolic-ref", "HEAD", "refs/remotes/origin/main")
		}, 2},
		"a symbolic link": {func(r *gittest.Repo, _ string) {
			require.NoError(t, os.Remove(filepath.Join(r.Dir, ".git/HEAD")))
			require.NoError(t, os.Symlink("refs/heads/main", filepath.Join(r.Dir, ".git/HEAD")))
		}, 2},
		"blanks": {func(r *gittest.Repo, _ string) {
			require.NoError(t, os.WriteFile(filepath.Join(r.Dir, ".git/HEAD"), []byte("ref:  refs/heads/main \n"), 0o600))
		}, 2},
		"a commit that is gone": {func(r *gittest.Repo, head string) {
			require.NoError(t, os.Remove(filepath.Join(r.Dir, ".git/objects", head[:2], head[2:])))
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := gittest.NewRepo(t, env)
			repo.Commit(t, "a", "1", "one")
			c.make(repo, repo.Commit(t, "a", "2", "two"))

			full := &Repo{Runner: &gitexec.Runner{Dir: repo.Dir, Env: gitexec.Environ(env)}}
			require.NoError(t, discover(t.Context(), full))
			if strings.Contains(name, "unborn") {
				full.Head, full.Branch = "", "" // "git rev-parse" would resolve a branch named HEAD instead
			}
			run := &gitexec.Runner{Dir: repo.Dir, Env: gitexec.Environ(env)}
			r, err := Open(t.Context(), run)
			require.NoError(t, err)
			t.Cleanup(r.Close)
			assert.Equal(t, full.Head, r.Head)
			assert.Equal(t, full.Branch, r.Branch)
			assert.Equal(t, c.processes, run.Started())
			if strings.Contains(name, "branch of") {
				assert.Equal(t, "ana/fix@2", r.Branch)
			}
		})
	}
}
