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
	"time"
)

// Lock is a lock file that stands where githandoff writes. git makes such a
// file, renames it into place, and removes it when it is interrupted; only a git
// that was killed, or a machine that stopped, leaves one behind.
type Lock struct {
	Path string
	Age  time.Duration // since it was last written
	// Holder is a process that has it open; 0 where none was found.
	Holder int
	// Foreign says that it belongs to another user, whose processes do not show
	// what they have open.
	Foreign bool
	// Looked says that open files could be looked at. Where they cannot, age
	// alone speaks.
	Looked bool

	info fs.FileInfo
}

// lockAge is how old a lock must be before it may be taken for dead: git holds
// one for milliseconds, and may have closed it while it does.
const lockAge = 10 * time.Second

// Dead reports whether the git that made the lock is gone, as far as can be
// known.
func (l Lock) Dead() bool { return l.Holder == 0 && !l.Foreign && l.Age >= lockAge }

// Locks lists the lock files in the way of refs under refs/handoffs, of the
// notes, of packed-refs and of the configuration.
func (r *Repo) Locks(now time.Time) ([]Lock, error) {
	paths := []string{
		filepath.Join(r.CommonDir, NotesRef+".lock"),
		filepath.Join(r.CommonDir, "packed-refs.lock"),
		filepath.Join(r.CommonDir, "packed-refs.new"), // written under that lock, and as much in the way
		filepath.Join(r.CommonDir, "config.lock"),
	}
	err := filepath.WalkDir(filepath.Join(r.CommonDir, Root), func(path string, _ fs.DirEntry, err error) error {
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
	var locks []Lock
	for _, path := range paths {
		info, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("look for locks: %w", err)
		}
		l := Lock{Path: path, Age: now.Sub(info.ModTime()), info: info}
		l.Foreign = int(info.Sys().(*syscall.Stat_t).Uid) != os.Geteuid() && os.Geteuid() != 0
		l.Holder, l.Looked = holder(path)
		locks = append(locks, l)
	}
	return locks, nil
}

// holder finds the process that has a lock open. git closes packed-refs.lock at
// once and then writes packed-refs.new: that one counts as well. Only Linux
// shows open files.
func holder(path string) (pid int, looked bool) {
	if _, err := os.ReadDir("/proc/self/fd"); err != nil {
		return 0, false
	}
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return 0, true // gone meanwhile
	}
	written := strings.TrimSuffix(path, ".lock") + ".new"
	open, _ := filepath.Glob("/proc/[0-9]*/fd/*") // the pattern is well-formed
	for _, fd := range open {
		if to, err := os.Readlink(fd); err == nil && (to == path || to == written) {
			pid, _ = strconv.Atoi(strings.Split(fd, "/")[2])
			return pid, true
		}
	}
	return 0, true
}

// Break removes a dead lock, unless it is another one by now.
func (r *Repo) Break(l Lock) error {
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
