package gittest

import (
	"path/filepath"
	"testing"
)

// Kind is one way in which a repository can be laid out.
type Kind struct {
	Name string
	// New makes such a repository. HEAD is a commit; Dir is where a user
	// would stand: the linked worktree, the submodule.
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
	}
}

// newPlain has two commits, so that a shallow clone of it lacks one.
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
	// git takes submodules from a path only on request (CVE-2022-39253).
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

// newPartialClone lacks the blob of the first commit.
func newPartialClone(t testing.TB, env []string) *Repo {
	t.Helper()
	hub := newBareWithCommit(t, env)
	hub.Git(t, "config", "uploadpack.allowFilter", "true")
	hub.Git(t, "config", "uploadpack.allowAnySHA1InWant", "true")
	return Clone(t, env, "file://"+hub.Dir, "--filter=blob:none")
}

// newShallowClone lacks the first commit. Only a URL makes git shallow: from
// a path it would copy the lot.
func newShallowClone(t testing.TB, env []string) *Repo {
	t.Helper()
	return Clone(t, env, "file://"+newPlain(t, env).Dir, "--depth=1")
}

// newAlternates has no object of its own.
func newAlternates(t testing.TB, env []string) *Repo {
	t.Helper()
	return Clone(t, env, newPlain(t, env).Dir, "--shared")
}

func newSeparateGitDir(t testing.TB, env []string) *Repo {
	t.Helper()
	repo := &Repo{Dir: t.TempDir(), Env: env}
	repo.Git(t, "init", "--quiet", "--separate-git-dir", filepath.Join(t.TempDir(), "elsewhere"))
	repo.Commit(t, "README", "one\n", "first")
	return repo
}
