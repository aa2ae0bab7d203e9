package snapshot_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
	"githandoff/internal/gittest"
	"githandoff/internal/snapshot"
)

// A pointer of Git LFS is sent to another repository only if that repository has the content, or if this one
// lacks it too.
func TestPointers(t *testing.T) {
	env := gittest.Env(t)
	store := func(t *testing.T, git *gittest.Repo, path, content string) {
		write(t, git.Dir, path, content)
		git.Git(t, "add", path)
	}
	commit := func(t *testing.T, git *gittest.Repo) { git.Git(t, "commit", "--quiet", "-m", "on") }
	for name, tc := range map[string]struct {
		mess func(*testing.T, *gittest.Repo)
		want string
	}{
		"not staged": {func(t *testing.T, git *gittest.Repo) {
			write(t, git.Dir, ".git/content", "new")
			write(t, git.Dir, "a.big", "new")
		}, "a.big"},
		"staged":    {func(t *testing.T, git *gittest.Repo) { store(t, git, "a.big", "new") }, "a.big"},
		"committed": {func(t *testing.T, git *gittest.Repo) { store(t, git, "a.big", "new"); commit(t, git) }, "a.big"},
		"committed and moved": {func(t *testing.T, git *gittest.Repo) {
			store(t, git, "a.big", "new")
			commit(t, git)
			git.Git(t, "mv", "a.big", "b.big")
			commit(t, git)
		}, "big"},
		"committed, and its move staged": {func(t *testing.T, git *gittest.Repo) {
			store(t, git, "a.big", "new")
			commit(t, git)
			git.Git(t, "mv", "a.big", "b.big")
		}, "big"},
		"moved":         {func(t *testing.T, git *gittest.Repo) { git.Git(t, "mv", "old.big", "b.big") }, ""},
		"its move kept": {func(t *testing.T, git *gittest.Repo) { git.Git(t, "mv", "old.big", "b.big"); commit(t, git) }, ""},
		"copied":        {func(t *testing.T, git *gittest.Repo) { store(t, git, "b.big", "old") }, ""},
		"its copy kept": {func(t *testing.T, git *gittest.Repo) {
			store(t, git, "b.big", "old")
			commit(t, git)
			store(t, git, "text", "more")
		}, ""},
		"pushed with another branch": {func(t *testing.T, git *gittest.Repo) {
			store(t, git, "a.big", "new")
			commit(t, git)
			git.Git(t, "update-ref", "refs/remotes/origin/other", "HEAD")
			git.Git(t, "reset", "--quiet", "--soft", "HEAD^")
		}, ""},
		"no more than a pointer": {func(t *testing.T, git *gittest.Repo) {
			store(t, git, "text", "version https://git-lfs.github.com/spec/v1\n")
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			git := gittest.NewRepo(t, env)
			git.Git(t, "config", "filter.big.clean", "echo version https://git-lfs.github.com/spec/v1; git hash-object --stdin")
			git.Git(t, "config", "filter.big.smudge", "cat .git/content")
			require.NoError(t, os.WriteFile(filepath.Join(git.Dir, ".git/content"), []byte("old"), 0o600))
			write(t, git.Dir, ".gitattributes", "*.big filter=big\n")
			store(t, git, "old.big", "old")
			git.Git(t, "add", "--all")
			commit(t, git)
			git.Git(t, "update-ref", "refs/remotes/origin/main", "HEAD")
			tc.mess(t, git)
			repo := open(t, git.Dir, env)
			defer repo.Close()
			ask := request()
			ask.Away, ask.Remote = true, "origin"
			_, err := snapshot.Capture(ctx(), repo, ask)
			if tc.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tc.want+" is kept by Git LFS, and only its pointer would travel")
			require.True(t, fault.Is(err, fault.CannotTravel))
		})
	}
	t.Run("within one repository", func(t *testing.T) {
		git := gittest.NewRepo(t, env)
		git.Commit(t, "f", "x", "base")
		git.Git(t, "config", "filter.big.smudge", "cat new.big")
		git.Git(t, "config", "filter.big.clean", "echo version https://git-lfs.github.com/spec/v1; git hash-object --stdin")
		write(t, git.Dir, ".git/info/attributes", "*.big filter=big\n")
		store(t, git, "a.big", "new")
		write(t, git.Dir, "new.big", "not staged")
		repo := open(t, git.Dir, env)
		defer repo.Close()
		_, err := snapshot.Capture(ctx(), repo, request())
		require.NoError(t, err)
	})
}
