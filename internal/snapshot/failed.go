package snapshot

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/refs"
)

// gitFailed names the step git failed at. The work tree is not at fault: a full disk is, or a
// killed process, and the same command can be given again.
func gitFailed(err error, doing string) error {
	if _, byGit := errors.AsType[*gitexec.Error](err); !byGit || errors.Is(err, context.Canceled) || fault.As(err) != nil {
		return err
	}
	if gitexec.Unexplained(err) {
		return fault.New(fault.Unavailable, fault.GitFailed, "%s: %w", doing, err).WithHints(fault.As(refs.DiskFault(err)).Hints...)
	}
	return fault.New(fault.Unavailable, fault.GitRefused, "%s: %w", doing, err).
		WithHints(fault.Fact("fix what git reports, then run the same command again"))
}

// locked names the lock a dead git may have left in the way of a checkout in this work tree.
func locked(repo *refs.Repo, err error) error {
	return lockedBy(filepath.Join(repo.GitDir, "HEAD.lock"), lockedBy(filepath.Join(repo.GitDir, "index.lock"), err))
}

// lockedBy names a lock file in place of git's message about it.
func lockedBy(path string, err error) error {
	if err == nil || fault.As(err) != nil {
		return err
	}
	if _, lerr := os.Lstat(path); lerr != nil {
		return err
	}
	return refs.Locked(path)
}
