package refs

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gitexec"
	"githandoff/internal/gittest"
)

// Open finds in every kind of repository what "git rev-parse" finds, and reads and writes it.
func TestOpenPlainKinds(t *testing.T) {
	for _, kind := range gittest.Kinds() {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			repo := kind.New(t, gittest.Env(t))
			assertSamePlace(t, repo.Dir, repo.Env)
			r, err := Open(t.Context(), &gitexec.Runner{Dir: repo.Dir, Env: gitexec.Environ(repo.Env)})
			require.NoError(t, err)
			t.Cleanup(r.Close)
			c := commit("from here")
			require.NoError(t, r.Apply(t.Context(), Transaction{
				Edits: []Edit{{Ref: LocalNamespace.Lane(someID), New: c.OID}}, Objects: []*Object{emptyTree(), c},
			}))
			o, err := r.Read(t.Context(), LocalNamespace.Lane(someID), 1<<20)
			require.NoError(t, err)
			require.NotNil(t, o)
			assert.Equal(t, c.Body, o.Body)
			assert.Equal(t, c.OID, repo.Git(t, "rev-parse", LocalNamespace.Lane(someID)))
		})
	}
}

// assertSamePlace compares Open of a directory with "git rev-parse", and returns how many processes Open took.
func assertSamePlace(t *testing.T, dir string, env []string) int64 {
	t.Helper()
	full := &Repo{Runner: &gitexec.Runner{Dir: dir, Env: gitexec.Environ(env)}}
	require.NoError(t, discover(t.Context(), full))
	run := &gitexec.Runner{Dir: dir, Env: gitexec.Environ(env)}
	short, err := Open(t.Context(), run)
	require.NoError(t, err)
	t.Cleanup(short.Close)
	assert.Equal(t, full.GitDir, short.GitDir)
	assert.Equal(t, full.CommonDir, short.CommonDir)
	assert.Equal(t, full.Objects, short.Objects)
	assert.Equal(t, full.Worktree, short.Worktree)
	assert.Equal(t, full.Bare, short.Bare)
	return run.Started()
}

// One process is enough for plain repositories. If the environment steers git, or the files do not agree with
// git, git is asked.
func TestOpenPlainLikeGit(t *testing.T) {
	env := gittest.Env(t)
	git := gittest.NewRepo(t, env)
	git.Commit(t, "a/b", "1", "one")
	linked := filepath.Join(t.TempDir(), "linked")
	git.Git(t, "worktree", "add", "-q", "-b", "other", linked)
	other := gittest.NewRepo(t, env)
	// The link leads from the work tree of one repository to a directory of another.
	crossing := filepath.Join(other.Dir, "link")
	require.NoError(t, os.Symlink(filepath.Join(git.Dir, "a"), crossing))
	apart := gittest.NewRepo(t, env)
	apart.Git(t, "config", "core.worktree", t.TempDir())
	submodule := filepath.Join(other.Dir, "module")
	other.Git(t, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", git.Dir, "module")
	elsewhere := gittest.NewRepo(t, env)
	included := filepath.Join(t.TempDir(), "config")
	require.NoError(t, os.WriteFile(included, []byte("[core]\n\tquotePath = false\n"), 0o600))
	elsewhere.Git(t, "config", "include.path", included)
	with := func(more ...string) []string { return append(slices.Clone(env), more...) }
	for _, c := range []struct {
		name, dir string
		env       []string
		processes int64
	}{
		{"the top", git.Dir, env, 1},
		{"below it", filepath.Join(git.Dir, "a"), env, 1},
		{"a linked worktree", linked, env, 1},
		{"a link that crosses repositories", crossing, env, 1},
		{"a submodule", submodule, env, 1},
		{"an included file", elsewhere.Dir, env, 1},
		{"a work tree elsewhere", apart.Dir, env, 2},
		{"GIT_DIR", other.Dir, with("GIT_DIR=" + git.Dir + "/.git"), 2},
		{"GIT_OBJECT_DIRECTORY", git.Dir, with("GIT_OBJECT_DIRECTORY=" + git.Dir + "/.git/objects"), 2},
		{"a bare one", gittest.NewBare(t, env).Dir, env, 2},
	} {
		t.Run(c.name, func(t *testing.T) { assert.Equal(t, c.processes, assertSamePlace(t, c.dir, c.env)) })
	}
}

// If git reads no configuration, because the repository belongs to another user or is none, it is not opened,
// whatever the files say.
func TestOpenPlainRefuses(t *testing.T) {
	env := gittest.Env(t)
	git := gittest.NewRepo(t, env)
	git.Commit(t, "a", "1", "one")
	run := &gitexec.Runner{Dir: git.Dir, Env: append(gitexec.Environ(env), "GIT_TEST_ASSUME_DIFFERENT_OWNER=1")}
	_, err := Open(t.Context(), run)
	if gittest.HasGit(t, looksAtOwners) {
		assert.ErrorContains(t, err, "dubious ownership")
	}
	broken := gittest.NewRepo(t, env)
	require.NoError(t, os.WriteFile(filepath.Join(broken.Dir, ".git/config"), []byte("[core\n"), 0o600))
	_, err = Open(t.Context(), &gitexec.Runner{Dir: broken.Dir, Env: gitexec.Environ(env)})
	assert.ErrorContains(t, err, "bad config line")
	require.NoError(t, os.RemoveAll(filepath.Join(git.Dir, ".git/objects")))
	_, err = Open(t.Context(), &gitexec.Runner{Dir: git.Dir, Env: gitexec.Environ(env)})
	assert.ErrorContains(t, err, "not a git repository")
}
