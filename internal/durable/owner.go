package durable

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Own makes a file that belongs to this process until [Disown], or the process ends.
// Other processes learn that from [Owned], also those in another container or on another host with the
// same file system, where the id of a process says nothing. The file is not synced.
func Own(path string, content []byte) (*os.File, error) {
	f, err := os.CreateTemp(filepath.Dir(path), tempPrefix) // locked before it is renamed to path
	if err != nil {
		return nil, unwritten(path, err)
	}
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) // without locks in the file system, Owned judges by age
	if _, err = f.Write(content); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = f.Close()
		_ = os.Remove(f.Name())
		return nil, unwritten(path, err)
	}
	return f, nil
}

// Disown gives a file of this process up, and closes it. The file stays. A process that is being started at
// this moment has a copy of the file until it runs, so that to close it were not enough.
func Disown(f *os.File) {
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
	_ = f.Close()
}

// Owned reports whether a file belongs to a process that runs, see [Own]. Several may ask at once.
func Owned(path string) bool {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err == nil {
		defer Disown(f)
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	}
	switch {
	case err == nil:
		return false
	case errors.Is(err, syscall.EWOULDBLOCK), errors.Is(err, syscall.EINTR):
		return true
	}
	info, err := os.Lstat(path) // the lock cannot be read: judge by age
	return err == nil && !isOld(info)
}

func isOld(info fs.FileInfo) bool {
	return Stale(info, time.Now()) //nolint:forbidigo // a file's time is compared with the real clock
}

// Dir is a directory of this process, which others remove once the process is gone.
type Dir struct {
	Path  string
	owner *os.File // the owner file beside the directory
}

// ownerSuffix ends the name of a file that says whose something is, such as a [Dir].
const ownerSuffix = ".owner"

// NewDir makes a directory below a directory of root, for this user alone, and removes those of killed
// processes there. The directory of root stays when its last one goes, because another process may be
// about to make one there.
func NewDir(root, below string) (*Dir, error) {
	Sweep(root, below)
	top := filepath.Join(root, below)
	if err := os.MkdirAll(top, 0o700); err != nil {
		return nil, err
	}
	var tag [8]byte
	if _, err := rand.Read(tag[:]); err != nil {
		return nil, err
	}
	d := &Dir{Path: filepath.Join(top, "own-"+hex.EncodeToString(tag[:]))}
	var err error
	if d.owner, err = Own(d.Path+ownerSuffix, nil); err != nil {
		return nil, err
	}
	if err := os.Mkdir(d.Path, 0o700); err != nil {
		d.Remove()
		return nil, err
	}
	return d, nil
}

// Remove removes the directory with all that is in it.
func (d *Dir) Remove() {
	_ = os.RemoveAll(d.Path)
	_ = os.Remove(d.Path + ownerSuffix)
	Disown(d.owner)
}

// Sweep removes the directories of killed processes below a directory of root. It follows no link out of
// root: an agent may have put it there, even since somebody looked.
func Sweep(root, below string) {
	within, err := os.OpenRoot(root)
	if err != nil {
		return
	}
	defer func() { _ = within.Close() }()
	top, err := within.OpenRoot(below)
	if err != nil {
		return
	}
	defer func() { _ = top.Close() }()
	entries, _ := fs.ReadDir(top.FS(), ".")
	for _, e := range entries {
		name := e.Name()
		dir, owned := strings.CutSuffix(name, ownerSuffix)
		switch {
		case owned && !Owned(filepath.Join(root, below, name)):
			_ = top.RemoveAll(dir)
			_ = top.Remove(name)
		case owned || !e.IsDir():
		default:
			_, err := top.Lstat(name + ownerSuffix)
			info, ierr := top.Lstat(name)
			if errors.Is(err, fs.ErrNotExist) && ierr == nil && isOld(info) { // left by a version without owner files
				_ = top.RemoveAll(name)
			}
		}
	}
}
