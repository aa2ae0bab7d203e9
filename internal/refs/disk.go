package refs

import (
	"errors"
	"io/fs"
	"syscall"

	"githandoff/internal/fault"
)

// DiskFault gives the failures of a disk, wherever they were met, their exit
// code and hint. Other errors, and refusals, it returns as they are.
func DiskFault(err error) error {
	switch {
	case fault.As(err) != nil:
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fault.New(fault.Unavailable, fault.DiskFull, "%w", err).
			WithHints(fault.Fact("nothing was recorded: free some space, then run the same command again"))
	case errors.Is(err, fs.ErrPermission) && looked(err):
		return fault.New(fault.Unavailable, fault.ReadOnly, "%w", err).
			WithHints(fault.Fact("this user may not look there; if HOME or an XDG directory leads there, set it to a directory of this user"))
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return fault.New(fault.Unavailable, fault.ReadOnly, "%w", err).
			WithHints(fault.Fact("this user must be able to write there"))
	}
	return err
}

// looked reports whether an error was met where a file was looked at, not written.
func looked(err error) bool {
	path, ok := errors.AsType[*fs.PathError](err)
	return ok && (path.Op == "lstat" || path.Op == "stat")
}

// OwnerOf returns a hint to the owner of a git directory that this user cannot write to.
func OwnerOf(gitDir string) fault.Hint {
	return fault.Run("ls", "-ld", gitDir).Because("says who owns the repository; it must be writable for this user")
}
