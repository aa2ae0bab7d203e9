package gitexec

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
)

// Error is a process which could not be started, ended badly or ran too long.
type Error struct {
	Program string // "git push"
	Code    int    // exit code, -1 where there is none
	Stderr  string // its end, trimmed, unescaped: never print it raw
	Err     error
}

func (e *Error) Error() string {
	line := e.Stderr
	if i := strings.LastIndexByte(line, '\n'); i >= 0 {
		line = line[i+1:]
	}
	if line == "" {
		return fmt.Sprintf("%s: %v", e.Program, e.Err)
	}
	return fmt.Sprintf("%s: %s", e.Program, line)
}

func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is a system error that the process names in its output: git passes the
// reason of a failure on in words alone. The words of a remote do not count.
func (e *Error) Is(target error) bool {
	no, ok := target.(syscall.Errno)
	return ok && e.says(no.Error())
}

// says reports whether a line of the process itself has these words, in upper or lower case.
func (e *Error) says(words string) bool {
	for line := range strings.Lines(strings.ToLower(e.Stderr)) {
		if !strings.HasPrefix(line, "remote:") && strings.Contains(line, strings.ToLower(words)) {
			return true
		}
	}
	return false
}

// ExitCode returns the exit code of the process behind err, or -1.
func ExitCode(err error) int {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return -1
}

// TimedOut reports whether a process took longer than its time limit.
func TimedOut(err error) bool {
	var e *Error
	return errors.As(err, &e) && errors.Is(e.Err, context.DeadlineExceeded)
}

// Damaged reports whether git met the damaged file of an object or of a ref of githandoff in this
// repository.
func Damaged(err error) bool {
	var e *Error
	return errors.As(err, &e) && (e.says("object file ") && e.says(" is empty") || e.says("loose object ") && e.says(" is corrupt") ||
		e.says("bad object refs/handoffs") || e.says("bad object refs/notes/handoffs"))
}

// CouldNotStore reports whether git failed because this machine could not store the received
// objects: a disk which is full, broken or read-only, no memory or files left, or a ref which
// could not be written or was locked by another process. The words of a remote do not count.
func CouldNotStore(err error) bool {
	var e *Error
	if !errors.As(err, &e) {
		return false
	}
	if e.says("cannot lock ref") || e.says("cannot update ref") {
		return true
	}
	return slices.ContainsFunc([]syscall.Errno{
		syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EIO, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE, syscall.EACCES,
	}, func(no syscall.Errno) bool { return e.Is(no) })
}
