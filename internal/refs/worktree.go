package refs

import (
	"bytes"
	"context"

	"githandoff/internal/gitexec"
)

// Uncommitted counts the tracked files of this worktree that differ from HEAD;
// 0 where that cannot be said in time.
func Uncommitted(ctx context.Context, r *Repo) int {
	if r.Worktree == "" || r.Head == "" {
		return 0
	}
	out, err := r.Runner.Run(ctx, gitexec.Cmd{Args: []string{"status", "--porcelain", "-z", "--untracked-files=no", "--ignore-submodules"}})
	if err != nil {
		return 0
	}
	return bytes.Count(out, []byte{0})
}

// Unpushed reports whether a git remote is tracked here and none of its
// branches, as last fetched, holds a commit.
func Unpushed(ctx context.Context, r *Repo, remote, commit string) bool {
	prefix := "refs/remotes/" + remote + "/"
	known, err := r.List(ctx, prefix)
	if err != nil || len(known) == 0 {
		return false
	}
	out, err := r.Runner.Run(ctx, gitexec.Cmd{Args: []string{"for-each-ref", "--count=1", "--contains=" + commit, prefix}})
	return err == nil && len(out) == 0
}
