package gittest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
)

func TestTryGit(t *testing.T) {
	repo := gittest.NewRepo(t, gittest.Env(t))

	stdout, stderr, code := repo.TryGit("rev-parse", "--is-bare-repository")
	assert.Equal(t, "false\n", stdout)
	assert.Empty(t, stderr)
	assert.Zero(t, code)

	stdout, stderr, code = repo.TryGit("rev-parse", "--verify", "HEAD")
	assert.Empty(t, stdout)
	assert.Contains(t, stderr, "fatal:")
	assert.Equal(t, 128, code)

	nowhere := &gittest.Repo{Dir: filepath.Join(repo.Dir, "nowhere"), Env: repo.Env}
	_, stderr, code = nowhere.TryGit("version")
	assert.Contains(t, stderr, "nowhere")
	assert.Equal(t, -1, code)
}

func TestCommit(t *testing.T) {
	repo := gittest.NewRepo(t, gittest.Env(t))
	oid := repo.Commit(t, "dir/a.txt", "one\n", "subject\n\n# kept\n")

	assert.Equal(t, "one", repo.Git(t, "cat-file", "blob", oid+":dir/a.txt"))
	assert.Equal(t, "subject\n\n# kept", strings.TrimRight(repo.Git(t, "log", "-1", "--format=%B"), "\n"))
	assert.Equal(t, "Agent <agent@example.com>", repo.Git(t, "log", "-1", "--format=%an <%ae>"))
	assert.Empty(t, repo.Git(t, "status", "--porcelain"))
}

func TestKinds(t *testing.T) {
	missing := func(t *testing.T, repo *gittest.Repo) string {
		return repo.Git(t, "rev-list", "--objects", "--all", "--missing=print")
	}
	traits := map[string]func(t *testing.T, repo *gittest.Repo){
		"plain": func(t *testing.T, repo *gittest.Repo) {
			assert.DirExists(t, filepath.Join(repo.Dir, ".git"))
		},
		"bare": func(t *testing.T, repo *gittest.Repo) {
			assert.Equal(t, "true", repo.Git(t, "rev-parse", "--is-bare-repository"))
		},
		"worktree": func(t *testing.T, repo *gittest.Repo) {
			assert.NotEqual(t, repo.Git(t, "rev-parse", "--absolute-git-dir"),
				repo.Git(t, "rev-parse", "--path-format=absolute", "--git-common-dir"))
		},
		"submodule": func(t *testing.T, repo *gittest.Repo) {
			assert.Equal(t, filepath.Dir(repo.Dir), repo.Git(t, "rev-parse", "--show-superproject-working-tree"))
		},
		"worktree-config": func(t *testing.T, repo *gittest.Repo) {
			assert.Equal(t, "true", repo.Git(t, "config", "extensions.worktreeConfig"))
			assert.FileExists(t, repo.Git(t, "rev-parse", "--git-path", "config.worktree"))
		},
		"partial-clone": func(t *testing.T, repo *gittest.Repo) {
			assert.Contains(t, missing(t, repo), "?")
		},
		"shallow-clone": func(t *testing.T, repo *gittest.Repo) {
			assert.Equal(t, "true", repo.Git(t, "rev-parse", "--is-shallow-repository"))
			assert.Equal(t, "1", repo.Git(t, "rev-list", "--count", "HEAD"))
		},
		"alternates": func(t *testing.T, repo *gittest.Repo) {
			assert.FileExists(t, filepath.Join(repo.Dir, ".git/objects/info/alternates"))
			assert.Regexp(t, `^0 objects`, repo.Git(t, "count-objects"))
		},
		"separate-git-dir": func(t *testing.T, repo *gittest.Repo) {
			info, err := os.Lstat(filepath.Join(repo.Dir, ".git"))
			require.NoError(t, err)
			assert.True(t, info.Mode().IsRegular())
			assert.Equal(t, repo.Git(t, "rev-parse", "--absolute-git-dir"),
				repo.Git(t, "rev-parse", "--path-format=absolute", "--git-common-dir"))
		},
		"sparse-checkout": func(t *testing.T, repo *gittest.Repo) {
			assert.NoDirExists(t, filepath.Join(repo.Dir, "here"))
			assert.DirExists(t, filepath.Join(repo.Dir, "there"))
		},
		"mirror": func(t *testing.T, repo *gittest.Repo) {
			assert.Equal(t, "true", repo.Git(t, "config", "remote.origin.mirror"))
		},
		"shared-repository": func(t *testing.T, repo *gittest.Repo) {
			info, err := os.Stat(filepath.Join(repo.Dir, ".git", "refs"))
			require.NoError(t, err)
			assert.Equal(t, os.FileMode(0o020), info.Mode().Perm()&0o020)
		},
		"odd-path": func(t *testing.T, repo *gittest.Repo) {
			assert.Contains(t, repo.Git(t, "rev-parse", "--show-toplevel"), "\n")
		},
		"core-worktree": func(t *testing.T, repo *gittest.Repo) {
			assert.Equal(t, repo.Dir, repo.Git(t, "config", "core.worktree"))
		},
	}
	kinds := gittest.Kinds()
	require.Len(t, kinds, len(traits))
	for _, kind := range kinds {
		t.Run(kind.Name, func(t *testing.T) {
			require.Contains(t, traits, kind.Name)
			repo := kind.New(t, gittest.Env(t))
			oid := repo.Git(t, "rev-parse", "--verify", "HEAD^{commit}")
			traits[kind.Name](t, repo)
			repo.Git(t, "update-ref", "refs/handoffs/inbox/fixer/x", oid)
			assert.Equal(t, oid, repo.Git(t, "rev-parse", "refs/handoffs/inbox/fixer/x"))
			repo.Git(t, "fsck", "--strict", "--connectivity-only")
		})
	}
}

// hook installs a hook, run by the shell.
func hook(t *testing.T, repo *gittest.Repo, name, script string) {
	t.Helper()
	path := filepath.Join(repo.Git(t, "rev-parse", "--absolute-git-dir"), "hooks", name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o755))
}
