package gittest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Kind is one layout of a repository.
type Kind struct {
	Name string
	// New makes such a repository. HEAD is a commit; Dir is where a user would work: the linked worktree, the
	// submodule.
	New func(t testing.TB, env []string) *Repo
}

// Kinds returns every kind, the plain one first.
func Kinds() []Kind {
	return []Kind{
		{"plain", newPlain},
		{"bare", newBareWithCommit},
		{"worktree", newWorktree},
		{"submodule", newSubmodule},
		{"worktree-config", newWorktreeConfig},
		{"partial-clone", newPartialClone},
		{"shallow-clone", newShallowClone},
		{"alternates", newAlternates},
		{"separate-git-dir", newSeparateGitDir},
		{"sparse-checkout", newSparse},
		{"mirror", newMirror},
		{"shared-repository", newSharedRepository},
		{"odd-path", newOddPath},
		{"core-worktree", newCoreWorktree},
	}
}

// newPlain makes a repository with two commits, so that a shallow clone of it lacks one.
func newPlain(t testing.TB, env []string) *Repo {
	t.Helper()
	repo := NewRepo(t, env)
	repo.Commit(t, "README", "one\n", "first")
	repo.Commit(t, "README", "two\n", "second")
	return repo
}

func newBareWithCommit(t testing.TB, env []string) *Repo {
	t.Helper()
	return Clone(t, env, newPlain(t, env).Dir, "--bare")
}

func newWorktree(t testing.TB, env []string) *Repo {
	t.Helper()
	linked := &Repo{Dir: filepath.Join(t.TempDir(), "linked"), Env: env}
	newPlain(t, env).Git(t, "worktree", "add", "--quiet", "-b", "linked", linked.Dir)
	return linked
}

func newSubmodule(t testing.TB, env []string) *Repo {
	t.Helper()
	outer := newPlain(t, env)
	// git accepts a path as the source of a submodule only with this setting (CVE-2022-39253).
	outer.Git(t, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "--", newPlain(t, env).Dir, "sub")
	outer.Git(t, "commit", "--quiet", "-m", "add submodule")
	return &Repo{Dir: filepath.Join(outer.Dir, "sub"), Env: env}
}

func newWorktreeConfig(t testing.TB, env []string) *Repo {
	t.Helper()
	linked := newWorktree(t, env)
	linked.Git(t, "config", "extensions.worktreeConfig", "true")
	linked.Git(t, "config", "--worktree", "core.sparseCheckout", "false")
	return linked
}

// newPartialClone makes a clone that lacks the blob of the first commit.
func newPartialClone(t testing.TB, env []string) *Repo {
	t.Helper()
	return PartialClone(t, newBareWithCommit(t, env))
}

// PartialClone clones a repository without its blobs, which git fetches as it needs them. flags go to git clone.
func PartialClone(t testing.TB, hub *Repo, flags ...string) *Repo {
	t.Helper()
	hub.Git(t, "config", "uploadpack.allowFilter", "true")
	hub.Git(t, "config", "uploadpack.allowAnySHA1InWant", "true")
	return Clone(t, hub.Env, "file://"+hub.Dir, append([]string{"--filter=blob:none"}, flags...)...)
}

// newShallowClone makes a clone that lacks the first commit. git makes a shallow clone only from a URL: from a
// path it copies everything.
func newShallowClone(t testing.TB, env []string) *Repo {
	t.Helper()
	return Clone(t, env, "file://"+newPlain(t, env).Dir, "--depth=1")
}

// newAlternates makes a clone that has no object of its own.
func newAlternates(t testing.TB, env []string) *Repo {
	t.Helper()
	return Clone(t, env, newPlain(t, env).Dir, "--shared")
}

func newSeparateGitDir(t testing.TB, env []string) *Repo {
	t.Helper()
	return newInit(t, env, "--separate-git-dir", filepath.Join(t.TempDir(), "elsewhere"))
}

// newInit makes a repository with one commit. The arguments are for git init.
func newInit(t testing.TB, env []string, args ...string) *Repo {
	t.Helper()
	repo := &Repo{Dir: t.TempDir(), Env: env}
	repo.Git(t, append([]string{"init", "--quiet"}, args...)...)
	repo.Commit(t, "README", "one\n", "first")
	return repo
}

// newSparse makes a repository that lacks most of its work tree: only the directory "there" is checked out.
func newSparse(t testing.TB, env []string) *Repo {
	t.Helper()
	repo := newPlain(t, env)
	repo.Commit(t, "here/file", "one\n", "a directory")
	repo.Commit(t, "there/file", "two\n", "another directory")
	repo.Git(t, "sparse-checkout", "init", "--cone")
	repo.Git(t, "sparse-checkout", "set", "there")
	return repo
}

// newMirror makes a clone that has every ref of its origin under the same name. git pushes no refspec to that
// origin unless remote.origin.mirror is overridden.
func newMirror(t testing.TB, env []string) *Repo {
	t.Helper()
	return Clone(t, env, newBareWithCommit(t, env).Dir, "--mirror")
}

// newSharedRepository makes a repository that the group can write.
func newSharedRepository(t testing.TB, env []string) *Repo {
	t.Helper()
	return newInit(t, env, "--shared=group")
}

// newOddPath makes a repository below a path with blanks, a line break and letters beyond ASCII.
func newOddPath(t testing.TB, env []string) *Repo {
	t.Helper()
	repo := &Repo{Dir: filepath.Join(t.TempDir(), " a b\nsecond line, \"größe\" 仓库 "), Env: env}
	require.NoError(t, os.Mkdir(repo.Dir, 0o755))
	repo.Git(t, "init", "--quiet")
	repo.Commit(t, "ein Name\nmit Umbruch ü", "one\n", "first")
	return repo
}

// newCoreWorktree makes a repository whose configuration names its work tree. Dir is that work tree, in which a
// .git file leads to the repository.
func newCoreWorktree(t testing.TB, env []string) *Repo {
	t.Helper()
	git := NewBare(t, env)
	repo := &Repo{Dir: t.TempDir(), Env: env}
	git.Git(t, "config", "core.bare", "false")
	git.Git(t, "config", "core.worktree", repo.Dir)
	require.NoError(t, os.WriteFile(filepath.Join(repo.Dir, ".git"), []byte("gitdir: "+git.Dir+"\n"), 0o644))
	repo.Commit(t, "README", "one\n", "first")
	return repo
}
