package snapshot

import (
	"os"
	"path/filepath"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/refs"
)

// refuseElsewhere refuses a work tree to which core.worktree leads and from which nothing
// leads back to the repository: git would find another repository there, or none.
func refuseElsewhere(repo *refs.Repo) error {
	_, named := gitexec.Lookup(repo.Runner.Env, "GIT_DIR")
	if named || repo.Config.Get("core.worktree") == "" || leadsTo(repo.Worktree, repo.GitDir) {
		return nil
	}
	return fault.New(fault.Policy, fault.CannotTravel, "no snapshot here: the setting core.worktree puts the work tree at %s, apart from its repository", repo.Worktree).
		WithHints(fault.Run("git", "config", "--show-origin", "--get", "core.worktree").Because("shows which file sets it"))
}

// leadsTo reports whether the entry .git of a directory is, or names, the directory of a repository.
func leadsTo(worktree, gitDir string) bool {
	path, err := refs.GitDirOf(worktree)
	if err != nil {
		return false
	}
	a, aerr := os.Stat(path)
	b, berr := os.Stat(gitDir)
	return aerr == nil && berr == nil && os.SameFile(a, b)
}

// fromHere returns a path of the work tree relative to the directory in which this command was
// given.
func fromHere(repo *refs.Repo, path string) string {
	file := filepath.Join(repo.Worktree, path)
	dir, err := filepath.Abs(repo.Runner.Dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return file
	}
	if rel, err := filepath.Rel(dir, file); err == nil {
		return rel
	}
	return file
}
