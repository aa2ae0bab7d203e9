package gitexec

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Error is a process which could not be started, ended badly or ran too long.
type Error struct {
	Program string // program and subcommand, such as "git push"
	Dir     string // working directory
	Code    int    // exit code; -1 if there is none
	Stderr  string // end of the standard error, trimmed and unescaped: never print it raw
	Err     error
}

func (e *Error) Error() string {
	line := e.Stderr[strings.LastIndexByte(e.Stderr, '\n')+1:]
	if line == "" && TimedOut(e) {
		line = "it took too long"
	}
	if line == "" {
		return fmt.Sprintf("%s: %v", e.Program, e.Err)
	}
	return fmt.Sprintf("%s: %s", e.Program, line)
}

func (e *Error) Unwrap() error { return e.Err }

// diskFull are the words of git, without the system's, for a write of no bytes: to a pack, and to the
// locks of a ref and of the configuration, which it could take.
var diskFull = []string{"out of diskspace", "couldn't write '", "failed to write new configuration file"}

// Is reports whether target is a system error that the process names in its output: git passes the
// reason of a failure on in words alone. The words of a remote do not count.
func (e *Error) Is(target error) bool {
	no, ok := target.(syscall.Errno)
	return ok && (e.says(no.Error()) || no == syscall.ENOSPC && slices.ContainsFunc(diskFull, e.says))
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

// ErrCutOff is the reason of the failure of a git that ended well, and whose output is not complete.
var ErrCutOff = errors.New("its output ends in the middle")

// errOutput is the reason of the failure of a process that wrote more than Run keeps.
var errOutput = errors.New("output")

// cutOff reports whether text of git lacks its end: git ends each line, and each field of its option
// -z, with a byte of its own.
func cutOff(out []byte) bool {
	return len(out) > 0 && out[len(out)-1] != '\n' && out[len(out)-1] != 0
}

// withoutAdvice removes git's warnings and hints from its standard error: they give no reason for its
// end.
func withoutAdvice(said string) string {
	return strings.Join(slices.DeleteFunc(strings.Split(said, "\n"), func(line string) bool {
		return strings.HasPrefix(line, "warning: ") || strings.HasPrefix(line, "hint: ")
	}), "\n")
}

// Unexplained reports whether a git failed, and it was not for a reason of its own: it could not be
// started, a signal ended it, its output was lost, or it said nothing. A git that refuses something says
// why, except where it answers a question with its exit code. A limit of time or output and an interrupt are
// reasons.
func Unexplained(err error) bool {
	e, ok := errors.AsType[*Error](err)
	if !ok || !strings.HasPrefix(e.Program, "git") {
		return false
	}
	for _, reason := range []error{context.DeadlineExceeded, context.Canceled, errOutput} {
		if errors.Is(e.Err, reason) {
			return false
		}
	}
	return e.Stderr == "" || e.Code < 0
}

// settingWords are those of git for a setting with a value that it does not take, such as one for a newer git.
var settingWords = []string{"bad config ", "config value '", "unknown value for config '", "invalid value for '", "from command-line config"}

// NamesSetting reports whether words of git are about a setting whose value it does not take.
func NamesSetting(said string) bool {
	said = strings.ToLower(said)
	return slices.ContainsFunc(settingWords, func(words string) bool { return strings.Contains(said, words) })
}

// BadSetting reports whether the git here ended because it does not take the value of a setting.
func BadSetting(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && strings.HasPrefix(e.Program, "git") && slices.ContainsFunc(settingWords, e.says)
}

// Ran reports whether the process behind err was started, and did not end by itself as it should.
func Ran(err error) bool {
	_, ended := errors.AsType[*exec.ExitError](err)
	return ended || errors.Is(err, ErrCutOff)
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
	e, ok := errors.AsType[*Error](err)
	return ok && errors.Is(e.Err, context.DeadlineExceeded)
}

// Damaged reports whether git met the damaged file of an object or of a ref of githandoff in the
// repository with the given directory of objects. The git of a hub at a path or behind ssh says the
// same of its own files.
func Damaged(err error, objects string) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && (e.says("bad object refs/handoffs") || e.says("bad object refs/notes/handoffs") ||
		slices.ContainsFunc(e.damagedFiles(objects), func(path string) bool {
			if !filepath.IsAbs(path) {
				path = filepath.Join(e.Dir, path)
			}
			_, err := os.Stat(path)
			return err == nil
		}))
}

// damagedFiles lists the files of objects that git calls empty or corrupt. git 2.34 names the
// object alone; its file, if it has one of its own, is below objects.
func (e *Error) damagedFiles(objects string) (paths []string) {
	for line := range strings.Lines(e.Stderr) {
		if oid, ok := strings.CutPrefix(strings.TrimSpace(line), "error: hash mismatch "); ok && len(oid) > 2 {
			paths = append(paths, filepath.Join(objects, oid[:2], oid[2:]))
		}
		for _, words := range [][2]string{{"object file ", " is empty"}, {"(stored in ", ") is corrupt"}} {
			_, path, begins := strings.Cut(line, words[0])
			path, _, ends := strings.Cut(path, words[1])
			if begins && ends && !strings.HasPrefix(line, "remote:") {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// PastMaxAlloc reports whether git failed because it would have needed more memory for one object
// than [MaxAlloc] allows.
func PastMaxAlloc(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.says("attempting to allocate ")
}

// PastMaxMemory reports whether git failed because it would have needed more memory than there is, or
// than MaxMemory of [Cmd] allows.
func PastMaxMemory(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.says("out of memory")
}

// PastMaxOutput reports whether a process wrote more than MaxOutput of [Cmd] allows.
func PastMaxOutput(err error) bool { return errors.Is(err, errOutput) }

// CouldNotStore reports whether git failed because this machine could not store the received
// objects: a disk which is full, broken or read-only, no memory or files left, or a ref which
// could not be written or was locked by another process. The words of a remote do not count.
func CouldNotStore(err error) bool {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return false
	}
	if e.says("cannot lock ref") || e.says("cannot update ref") {
		return true
	}
	return slices.ContainsFunc([]syscall.Errno{
		syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EIO, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE, syscall.EACCES,
	}, func(no syscall.Errno) bool { return e.Is(no) })
}
