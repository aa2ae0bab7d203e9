package snapshot_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
	"githandoff/internal/gittest"
	"githandoff/internal/refs"
	"githandoff/internal/snapshot"
)

// withLibrary returns a repository with a file and a submodule at path, and a second commit of the
// submodule.
func withLibrary(t *testing.T, env []string, path string) (git *gittest.Repo, second string) {
	sub := gittest.NewRepo(t, env)
	sub.Commit(t, ".gitignore", "*.env\n", "one")
	first := sub.Commit(t, "t", "tracked\n", "two")
	write(t, sub.Dir, "local.env", "theirs\n")
	sub.Git(t, "add", "--force", "local.env")
	sub.Git(t, "commit", "--quiet", "-m", "three")
	second = sub.Git(t, "rev-parse", "HEAD")
	git = gittest.NewRepo(t, env)
	git.Commit(t, "dir/a", "a\n", "one")
	git.Git(t, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "--", sub.Dir, path)
	git.Git(t, "-C", path, "checkout", "--quiet", "--detach", first)
	git.Git(t, "add", "--all")
	git.Git(t, "commit", "--quiet", "-m", "with a submodule")
	return git, second
}

// receiver returns a clone with its submodules, and an ignored file in the one at path.
func receiver(t *testing.T, git *gittest.Repo, path string) *gittest.Repo {
	own := gittest.Clone(t, git.Env, git.Dir)
	own.Git(t, "-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init")
	if path != "" {
		write(t, own.Dir, path+"/local.env", "the only copy\n")
	}
	return own
}

// brought captures a snapshot in one repository and returns it opened in another.
func brought(t *testing.T, git, own *gittest.Repo) (*snapshot.Contents, *refs.Repo) {
	s, _, from := capture(t, git)
	from.Close()
	own.Git(t, "fetch", "--quiet", git.Dir, "refs/handoffs/work/*:refs/handoffs/work/*")
	repo := open(t, own.Dir, own.Env)
	t.Cleanup(repo.Close)
	c, err := snapshot.Open(ctx(), repo, s.Work.Commit)
	require.NoError(t, err)
	return c, repo
}

// A repository inside the work tree has files that git does not list. If a snapshot has anything
// else than this submodule in its place, it is refused before anything changes.
func TestRepositoriesInTheWorkTreeStay(t *testing.T) {
	env := gittest.Env(t)
	becomes := func(path string) func(t *testing.T, git *gittest.Repo) {
		return func(t *testing.T, git *gittest.Repo) {
			git.Git(t, "rm", "--quiet", "--force", path)
			require.NoError(t, os.RemoveAll(filepath.Join(git.Dir, path)))
			write(t, git.Dir, path+"/local.env", "x\n")
			write(t, git.Dir, path+"/t", "x\n")
			git.Git(t, "add", "--all", "--force")
		}
	}
	for name, tc := range map[string]struct {
		path string                                // path of the submodule in HEAD
		send func(t *testing.T, git *gittest.Repo) // the sender's changes
		have func(t *testing.T, own *gittest.Repo) // what else the receiver has
		want string                                // part of the refusal
	}{
		"a directory in its place":         {path: "lib", send: becomes("lib"), want: "lib"},
		"a directory in its place, deeper": {path: "dir/in/lib", send: becomes("dir/in/lib"), want: "dir/in/lib"},
		"a directory in its place, untracked": {path: "lib", send: func(t *testing.T, git *gittest.Repo) {
			becomes("lib")(t, git)
			git.Git(t, "rm", "--quiet", "-r", "--cached", "lib")
		}, want: "lib"},
		"a file in its place": {path: "lib", send: func(t *testing.T, git *gittest.Repo) {
			git.Git(t, "rm", "--quiet", "--force", "lib")
			write(t, git.Dir, "lib", "x\n")
		}, want: "lib"},
		"a link in its place": {path: "lib", send: func(t *testing.T, git *gittest.Repo) {
			git.Git(t, "rm", "--quiet", "--force", "lib")
			require.NoError(t, os.Symlink("dir", filepath.Join(git.Dir, "lib")))
			git.Git(t, "add", "lib")
		}, want: "lib"},
		"a file in the place of a directory above": {path: "dir/in/lib", send: func(t *testing.T, git *gittest.Repo) {
			git.Git(t, "rm", "--quiet", "-r", "--force", "dir")
			require.NoError(t, os.RemoveAll(filepath.Join(git.Dir, "dir")))
			write(t, git.Dir, "dir", "x\n")
		}, want: "dir/in/lib"},
		"removed":                    {path: "lib", send: func(t *testing.T, git *gittest.Repo) { git.Git(t, "rm", "--quiet", "--force", "lib") }, want: "lib"},
		"removed with its directory": {path: "dir/in/lib", send: func(t *testing.T, git *gittest.Repo) { git.Git(t, "rm", "--quiet", "-r", "--force", "dir") }, want: "dir/in/lib"},
		"renamed":                    {path: "lib", send: func(t *testing.T, git *gittest.Repo) { git.Git(t, "mv", "lib", "other") }, want: "lib"},
		"files in an ignored repository": {path: "lib", send: func(t *testing.T, git *gittest.Repo) {
			write(t, git.Dir, "own/x", "x\n")
			write(t, git.Dir, "far/own/x", "x\n")
		}, have: func(t *testing.T, own *gittest.Repo) {
			for _, path := range []string{"own", "far/own"} {
				own.Git(t, "init", "--quiet", path)
				write(t, own.Dir, path+"/mine", "mine\n")
			}
			write(t, own.Dir, ".git/info/exclude", "own\n")
		}, want: "far/own, own"},
		"a file in the place of an ignored repository": {path: "lib", send: func(t *testing.T, git *gittest.Repo) { write(t, git.Dir, "own", "x\n") }, have: func(t *testing.T, own *gittest.Repo) {
			own.Git(t, "init", "--quiet", "own")
			write(t, own.Dir, ".git/info/exclude", "own\n")
		}, want: "own"},
		"a submodule in the place of an ignored repository": {path: "lib", send: func(t *testing.T, git *gittest.Repo) {
			git.Git(t, "clone", "--quiet", "--", filepath.Join(git.Dir, ".git/modules/lib"), "own")
			git.Git(t, "-c", "advice.addEmbeddedRepo=false", "add", "own")
		}, have: func(t *testing.T, own *gittest.Repo) {
			own.Git(t, "init", "--quiet", "own")
			write(t, own.Dir, ".git/info/exclude", "own\n")
		}, want: "own"},
		"a repository around files that git tracks": {path: "lib", send: func(t *testing.T, git *gittest.Repo) { write(t, git.Dir, "dir/a", "changed\n") }, have: func(t *testing.T, own *gittest.Repo) {
			own.Git(t, "init", "--quiet", "dir")
		}, want: "dir"},
		"files that a submodule left behind": {path: "lib", send: becomes("lib"), have: func(t *testing.T, own *gittest.Repo) {
			require.NoError(t, os.Remove(filepath.Join(own.Dir, "lib/.git")))
		}, want: "lib/local.env"},
	} {
		t.Run(name, func(t *testing.T) {
			git, _ := withLibrary(t, env, tc.path)
			own := receiver(t, git, tc.path)
			tc.send(t, git)
			if tc.have != nil {
				tc.have(t, own)
			}
			c, repo := brought(t, git, own)
			before := fingerprint(t, own.Dir, ".git")
			for _, err := range []error{c.FitsHere(ctx()), c.CheckOutHere(ctx(), branch), c.FinishHere(ctx(), branch, repo.Head), c.Apply(ctx(), c.Head)} {
				require.ErrorContains(t, err, ": "+tc.want)
				// "git apply" of git 2.34 merges no file into the place of a submodule.
				assert.True(t, fault.Is(err, fault.WorkTreeTaken) || fault.Is(err, fault.DoesNotFit) && !gittest.HasGit(t, "2.39"), err)
			}
			assert.Equal(t, before, fingerprint(t, own.Dir, ".git"))
		})
	}
}

// If the snapshot has another commit of a submodule, the submodule's files and HEAD stay as they
// are, whatever the settings are. An unpopulated submodule is an empty directory, which can be
// replaced.
func TestSubmodulesAreNotTouched(t *testing.T) {
	env := gittest.Env(t)
	settings := [][2]string{{"submodule.recurse", "true"}, {"diff.ignoreSubmodules", "all"}, {"fetch.recurseSubmodules", "true"}, {"submodule.lib.update", "checkout"}, {"submodule.lib.ignore", "all"}}
	for name, make := range map[string]func(t *testing.T, c *snapshot.Contents) (dir string){
		"here": func(t *testing.T, c *snapshot.Contents) string {
			require.NoError(t, c.FitsHere(ctx()))
			require.NoError(t, c.CheckOutHere(ctx(), branch))
			return ""
		},
		"cut off": func(t *testing.T, c *snapshot.Contents) string {
			require.NoError(t, c.FinishHere(ctx(), branch, c.Head))
			return ""
		},
		"a worktree": func(t *testing.T, c *snapshot.Contents) string {
			dir := filepath.Join(t.TempDir(), "tree")
			require.NoError(t, c.AddWorktree(ctx(), dir, branch, complete))
			return dir
		},
		"apply": func(t *testing.T, c *snapshot.Contents) string {
			require.NoError(t, c.Apply(ctx(), c.Head))
			return ""
		},
	} {
		t.Run(name, func(t *testing.T) {
			git, second := withLibrary(t, env, "lib")
			own := receiver(t, git, "lib")
			for _, kv := range settings {
				own.Git(t, "config", kv[0], kv[1])
			}
			git.Git(t, "-C", "lib", "checkout", "--quiet", second)
			git.Git(t, "add", "lib")
			write(t, git.Dir, "dir/a", "changed\n")
			c, _ := brought(t, git, own)
			had, head := fingerprint(t, filepath.Join(own.Dir, "lib")), own.Git(t, "-C", "lib", "rev-parse", "HEAD")
			dir := make(t, c)
			assert.Equal(t, had, fingerprint(t, filepath.Join(own.Dir, "lib")))
			assert.Equal(t, head, own.Git(t, "-C", "lib", "rev-parse", "HEAD"))
			if dir == "" {
				dir = own.Dir
			} else {
				entries, err := os.ReadDir(filepath.Join(dir, "lib"))
				require.NoError(t, err)
				assert.Empty(t, entries, "the submodule of a new worktree is not populated")
			}
			a, err := os.ReadFile(filepath.Join(dir, "dir/a"))
			require.NoError(t, err)
			assert.Equal(t, "changed\n", string(a))
		})
	}
	t.Run("not populated", func(t *testing.T) {
		git, _ := withLibrary(t, env, "lib")
		own := gittest.Clone(t, env, git.Dir)
		git.Git(t, "rm", "--quiet", "--force", "lib")
		write(t, git.Dir, "lib/x", "x\n")
		c, _ := brought(t, git, own)
		require.NoError(t, c.CheckOutHere(ctx(), branch))
		assert.FileExists(t, filepath.Join(own.Dir, "lib/x"))
	})
}

// A patch contains the new commit of a submodule, whatever .gitmodules says about its changes.
func TestPatchHasSubmodules(t *testing.T) {
	env := gittest.Env(t)
	git, second := withLibrary(t, env, "lib")
	git.Git(t, "config", "--file", ".gitmodules", "submodule.lib.ignore", "all")
	git.Git(t, "commit", "--quiet", "--all", "-m", "hide it")
	own := receiver(t, git, "lib")
	git.Git(t, "-C", "lib", "checkout", "--quiet", second)
	git.Git(t, "add", "--force", "lib")
	c, _ := brought(t, git, own)
	patch, err := c.Patch(ctx(), c.Head)
	require.NoError(t, err)
	assert.Contains(t, string(patch), "+Subproject commit "+second)
}
