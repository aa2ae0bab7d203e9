package refs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/private"
)

// DiskFault gives the failures of a disk, wherever they were met, their exit
// code and hint, and so those of a git that could not run to its end. Other errors, and refusals, it
// returns as they are.
func DiskFault(err error) error {
	switch {
	case fault.As(err) != nil:
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fault.New(fault.Unavailable, fault.DiskFull, "%w", inWords(err)).
			WithHints(fault.Fact("free some space, then run the same command again"))
	case gitexec.Unexplained(err):
		return notStarted(err)
	case gitexec.BadSetting(err):
		return fault.New(fault.Unavailable, fault.GitRefused, "%w", err).WithHints(ListSettings())
	case errors.Is(err, syscall.EFBIG):
		return fault.New(fault.Unavailable, fault.Unwritable, "%w", err).
			WithHints(fault.Fact("a limit of this shell (ulimit -f) or of the file system is too low for that file: raise it"))
	case errors.Is(err, syscall.EIO):
		return fault.New(fault.Unavailable, fault.Unwritable, "%w", err).
			WithHints(fault.Fact("a disk fails, or the way to it: the log of the system says more"))
	case ofProc(err):
		return fault.New(fault.Unavailable, fault.Unreadable, "%w", err).
			WithHints(fault.Fact("/proc must be mounted: without it no program finds its own file"))
	case errors.Is(err, fs.ErrPermission) && looked(err):
		return fault.New(fault.Unavailable, fault.ReadOnly, "%w", err).
			WithHints(fault.Fact("this user may not look there; if HOME or an XDG directory leads there, set it to a directory of this user"))
	case errors.Is(err, syscall.EROFS):
		return fault.New(fault.Unavailable, fault.ReadOnly, "%w", err).WithHints(outsideSandbox())
	case errors.Is(err, fs.ErrPermission):
		return fault.New(fault.Unavailable, fault.ReadOnly, "%w", err).
			WithHints(fault.Fact("this user must be able to read and write there"))
	}
	return err
}

// ListSettings returns the hint for a setting that git does not take. It shows no values: some are secrets.
func ListSettings() fault.Hint {
	return fault.Run("git", "config", "--list", "--show-origin", "--name-only").Because("names the file of each setting")
}

// outsideSandbox returns the hint for a file or directory which the sandbox of a coding agent keeps from
// being written: Codex CLI the whole git directory, and Claude Code the configuration in it. Both run
// hooks and MCP servers outside of their sandboxes.
func outsideSandbox() fault.Hint {
	return fault.Fact("in a coding agent's sandbox, ask the user to let this command run outside of it, or use the tools of githandoff mcp")
}

// inWords returns an error of a full disk that says so: the last line of a git need not.
func inWords(err error) error {
	said := strings.ToLower(err.Error())
	for _, no := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT} {
		if errors.Is(err, no) && !strings.Contains(said, no.Error()) {
			return fmt.Errorf("%w: %w", err, no)
		}
	}
	return err
}

// ofProc reports whether an error is of [os.Executable] where /proc is not mounted.
func ofProc(err error) bool {
	path, ok := errors.AsType[*fs.PathError](err)
	return ok && path.Op == "readlink" && path.Path == "/proc/self/exe"
}

// looked reports whether an error is of a look at a file, not of a write.
func looked(err error) bool {
	path, ok := errors.AsType[*fs.PathError](err)
	return ok && (path.Op == "lstat" || path.Op == "stat")
}

// WhoMayWrite returns the hint for a git directory that this user cannot write to.
func WhoMayWrite(gitDir string) fault.Hint {
	if errors.Is(unix.Access(gitDir, unix.W_OK), unix.EROFS) {
		return outsideSandbox()
	}
	return fault.Run("ls", "-ld", gitDir).Because("says who owns the repository; it must be writable for this user")
}

// CheckWritable returns an error if this user may write to the repository, but not to some
// directories in it that a step writes to: a git that ran with sudo, or as another user of a shared
// repository, may have made them. It returns nil for a reader, who neither owns the
// repository nor may write to it.
func (r *Repo) CheckWritable() error {
	info, err := os.Stat(r.CommonDir)
	if err != nil {
		return err
	}
	mine := int(private.Owner(info)) == os.Geteuid()
	err = unix.Access(r.CommonDir, unix.W_OK)
	if !mine && (errors.Is(err, unix.EACCES) || errors.Is(err, unix.EROFS)) {
		return nil
	}
	count, first, why := 0, "", error(nil)
	for _, dir := range r.written(mine) {
		if err := unix.Access(dir, unix.W_OK|unix.X_OK); err != nil && !errors.Is(err, unix.ENOENT) {
			if count++; count == 1 {
				first, why = dir, err
			}
		}
	}
	if count == 0 {
		return nil
	}
	f := fault.New(fault.Unavailable, fault.ReadOnly, "%s cannot be written to, such as %s: %w", fault.Count(count, "directory"), first, why)
	if info, err = os.Stat(first); err != nil || errors.Is(why, unix.EROFS) || !mine {
		return f.WithHints(WhoMayWrite(first))
	}
	if int(private.Owner(info)) == os.Geteuid() {
		return f.WithHints(fault.Run("chmod", "-R", "u+rwX", r.CommonDir))
	}
	return f.WithHints(fault.Run("sudo", "chown", "-R", strconv.Itoa(os.Geteuid()), r.CommonDir).Because("the repository is yours, and these are not"))
}

// written returns the directories that a step writes to. The trust list of a shared repository is its
// owner's alone.
func (r *Repo) written(mine bool) []string {
	dirs := []string{r.CommonDir, r.GitDir}
	places := []string{"objects", "refs/handoffs"}
	if mine {
		places = append(places, "githandoff")
	}
	for _, below := range places {
		_ = filepath.WalkDir(filepath.Join(r.CommonDir, below), func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				if path == filepath.Join(r.CommonDir, "objects/info") { // no step writes there
					return fs.SkipDir
				}
				dirs = append(dirs, path)
			}
			return nil // a directory that cannot be read is in dirs already
		})
	}
	return dirs
}
