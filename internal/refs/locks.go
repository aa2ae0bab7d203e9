package refs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
)

// Locks finds the lock files of a repository.
type Locks struct{ CommonDir string }

// Lock is a lock file in githandoff's way. git makes such a file, renames it into place, and
// removes it when it is interrupted; only a killed git, or a stopped machine, leaves one
// behind.
type Lock struct {
	Path string
	Age  time.Duration // time since the last write
	// Holder is a process with the lock open; Unseen for one without a number here; 0 where none was found.
	Holder int
	// Foreign is set for another user's lock: the open files of other users' processes do not
	// show.
	Foreign bool
	// Looked is set if open files could be looked at. If not, age alone speaks.
	Looked bool

	info fs.FileInfo
}

// Unseen is the holder of a lock whose process does not show here, such as one in another container.
const Unseen = -1

// lockAge is how old a lock must be before it may be taken for dead: git holds
// one for milliseconds, and may have closed it while it does.
const lockAge = 10 * time.Second

// Dead reports whether the git behind the lock is gone, as far as can be known.
func (l Lock) Dead() bool { return l.Holder == 0 && !l.Foreign && l.Age >= lockAge }

// List lists the lock files in the way of refs under refs/handoffs, of the notes, of
// packed-refs, of reftables, of the configuration, and of the given files.
func (lk *Locks) List(now time.Time, files ...string) ([]Lock, error) {
	paths := []string{
		filepath.Join(lk.CommonDir, NotesRef+".lock"),
		filepath.Join(lk.CommonDir, "packed-refs.lock"),
		filepath.Join(lk.CommonDir, "packed-refs.new"), // written under the lock above; left behind, it blocks like a lock
		filepath.Join(lk.CommonDir, "config.lock"),
	}
	for _, file := range files {
		paths = append(paths, file+".lock")
	}
	for _, dir := range []string{filepath.Join(lk.CommonDir, Root), filepath.Dir(lk.tables())} {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil
			case err == nil && strings.HasSuffix(path, ".lock"):
				paths = append(paths, path)
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("look for locks: %w", err)
		}
	}
	var locks []Lock
	for _, path := range paths {
		info, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("look for locks: %w", err)
		}
		if isDevice(info) {
			continue
		}
		l := Lock{Path: path, Age: now.Sub(info.ModTime()), info: info}
		l.Foreign = int(info.Sys().(*syscall.Stat_t).Uid) != os.Geteuid() && os.Geteuid() != 0
		l.Holder, l.Looked = lk.holder(path)
		locks = append(locks, l)
	}
	return locks, nil
}

// holder finds the process with a lock open. git closes packed-refs.lock at once and then
// writes packed-refs.new: an open packed-refs.new counts as well. Only Linux shows open files.
func (lk *Locks) holder(path string) (pid int, looked bool) {
	if _, err := os.ReadDir("/proc/self/fd"); err != nil {
		return 0, false
	}
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return 0, true // the lock is gone
	}
	written := strings.TrimSuffix(path, ".lock") + ".new"
	open, _ := filepath.Glob("/proc/[0-9]*/fd/*") // Glob fails only on a malformed pattern
	for _, fd := range open {
		if to, err := os.Readlink(fd); err == nil && (to == path || to == written) {
			pid, _ = strconv.Atoi(strings.Split(fd, "/")[2])
			return pid, true
		}
	}
	head := filepath.Join(lk.CommonDir, "HEAD") // replaced, and never written in place
	if openUnseen(path, head) || openUnseen(written, head) {
		return Unseen, true
	}
	return 0, true
}

// Break removes a dead lock, unless it is another one by now.
func (l Lock) Break() error {
	info, err := os.Lstat(l.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && os.SameFile(info, l.info) && info.ModTime().Equal(l.info.ModTime()) && l.Dead() {
		err = os.Remove(l.Path)
	} else if err == nil {
		err = errors.New("it is in use")
	}
	if err != nil {
		return fmt.Errorf("remove %s: %w", l.Path, err)
	}
	return nil
}

// tables returns the lock of all refs where git keeps them in reftables.
func (lk *Locks) tables() string { return filepath.Join(lk.CommonDir, "reftable", "tables.list.lock") }

func (lk *Locks) paths(edits []Edit) []string {
	paths := []string{lk.tables(), filepath.Join(lk.CommonDir, "packed-refs.lock"), filepath.Join(lk.CommonDir, "packed-refs.new")}
	for _, e := range edits {
		paths = append(paths, filepath.Join(lk.CommonDir, e.Ref+".lock"))
	}
	return paths
}

// standing returns the lock files in the way of edits now.
func (lk *Locks) standing(edits []Edit) []os.FileInfo {
	found := make([]os.FileInfo, 0, len(edits)+1)
	for _, path := range lk.paths(edits) {
		info, _ := os.Lstat(path)
		found = append(found, info)
	}
	return found
}

// Await waits until no lock file blocks the edits, for as long as Apply would. Then it fails with
// a refusal naming the lock.
func (lk *Locks) Await(ctx context.Context, edits []Edit) error {
	for try := 0; ; try++ {
		path := ""
		if lock := lk.tables(); exists(lock) {
			path = lock
		}
		for _, e := range edits {
			if lock := filepath.Join(lk.CommonDir, e.Ref+".lock"); exists(lock) {
				path = lock
			}
		}
		if path == "" {
			return nil
		}
		if try+1 == attempts {
			return Locked(path)
		}
		if err := Pause(ctx, try); err != nil {
			return err
		}
	}
}

// dead names a lock apparently left by a git that died; "" where none is. Each further try
// would wait for packed-refs.lock for a second.
func (lk *Locks) dead(edits []Edit, before []os.FileInfo) string {
	for i, path := range lk.paths(edits) {
		if !stays(path, before[i]) || time.Since(before[i].ModTime()) < abandoned {
			continue
		}
		if pid, looked := lk.holder(path); looked && pid == 0 {
			return path
		}
	}
	return ""
}

// refusal names a lock in the way from the first try to the last; one that came and went is not
// to blame.
func (lk *Locks) refusal(edits []Edit, before []os.FileInfo, cause error) error {
	for i, path := range lk.paths(edits) {
		if stays(path, before[i]) {
			return Locked(path)
		}
	}
	hint := fault.Run("githandoff", "doctor").Because("looks for the cause")
	if gitexec.BadSetting(cause) {
		hint = ListSettings() // git reads some settings only where it writes refs, and doctor writes none
	}
	return fault.New(fault.Unavailable, fault.GitRefused, "update refs: %w", cause).WithHints(hint)
}

// Locked returns the refusal naming a lock file in the way.
func Locked(path string) error {
	return fault.New(fault.Unavailable, fault.Locked, "%s exists: another git is running, or one crashed", path).
		WithHints(LockHint(path))
}

// LockHint returns the hint for a lock file in the way.
func LockHint(path string) fault.Hint {
	if info, err := os.Lstat(path); err == nil && isDevice(info) {
		return outsideSandbox()
	}
	return fault.Run("githandoff", "doctor", "--fix").Because("removes the lock if no process has it open")
}

// isDevice reports whether a file is a device, which is no lock of git: the sandbox of Claude Code
// mounts one over config.lock, so that nothing writes the configuration.
func isDevice(info fs.FileInfo) bool { return info.Mode()&fs.ModeDevice != 0 }

// abandoned is the age from which a lock that no process has open is not waited for. git may have
// closed it, and still need it for some moments.
const abandoned = 5 * time.Second

// stays reports whether a file is still the same, and unchanged.
func stays(path string, before os.FileInfo) bool {
	now, err := os.Lstat(path)
	return err == nil && before != nil && os.SameFile(before, now) && before.ModTime().Equal(now.ModTime())
}
