package gitexec

import (
	"errors"
	"strings"
	"syscall"
)

// CouldNotStore reports whether git failed because this machine could not store what it had
// received: a disk that is full, broken or read-only, no memory or files left, or a ref
// that could not be written or that another process had locked. The words of a remote do
// not count.
func CouldNotStore(err error) bool {
	var e *Error
	if !errors.As(err, &e) {
		return false
	}
	for line := range strings.Lines(e.Stderr) {
		line = strings.ToLower(line)
		if strings.HasPrefix(line, "remote:") {
			continue
		}
		if strings.Contains(line, "cannot lock ref") || strings.Contains(line, "cannot update ref") {
			return true
		}
		for _, no := range []syscall.Errno{
			syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EIO, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE, syscall.EACCES,
		} {
			if strings.Contains(line, no.Error()) {
				return true
			}
		}
	}
	return false
}
