// Package durable writes files atomically: after a crash a file has the old content or the new
// one, never a part of either.
package durable

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// tempPrefix begins the name of a file being written. Nobody reads such a file: it counts once it
// has its own name.
const tempPrefix = ".tmp-"

// WriteFile replaces the content of path in one step and gives the file the given
// permissions. The content is synced before the name points to it, and the directory
// after that. The directory must exist. A link at path is replaced, not followed.
func WriteFile(path string, content []byte, mode fs.FileMode) error {
	if err := Replace(path, content, mode); err != nil {
		return err
	}
	syncDir(filepath.Dir(path))
	return nil
}

// Replace is like WriteFile without the sync of the directory, which takes as long as all
// the rest: after a power cut the old content may be back.
func Replace(path string, content []byte, mode fs.FileMode) error {
	return write(path, content, mode, os.Rename)
}

// WriteOutput writes a file that a user named. Like WriteFile it leaves the old content or
// the new one, but it follows a link, and a device or a pipe takes the content itself: a
// rename would put a file in its place.
func WriteOutput(path string, content []byte, mode fs.FileMode) error {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = f.Write(content)
		return errors.Join(err, f.Close())
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	return WriteFile(path, content, mode)
}

// CreateFile is like WriteFile for a file of this user alone, at a path at which nothing may be yet. Otherwise it
// returns fs.ErrExist and changes nothing.
func CreateFile(path string, content []byte) error {
	err := write(path, content, 0o600, func(temp, path string) error {
		err := link(temp, path) // unlike a rename, a link never replaces
		if noLinks(err) {
			return renameToNew(temp, path)
		}
		if err != nil {
			return err
		}
		_ = os.Remove(temp)
		return nil
	})
	if err == nil {
		syncDir(filepath.Dir(path))
	}
	return err
}

// link is replaced by the test of a file system without hard links.
var link = os.Link

// noLinks reports whether a file system has no hard links, such as exFAT.
func noLinks(err error) bool {
	return errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOTSUP) || errors.Is(err, syscall.ENOSYS)
}

// renameToNew renames a file to a path at which nothing is yet. Of two at the same moment, the second
// replaces the first.
func renameToNew(temp, path string) error {
	if _, err := os.Lstat(path); err == nil {
		return &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(temp, path)
}

// write makes a complete, synced file beside path and lets name move it there.
func write(path string, content []byte, mode fs.FileMode, name func(temp, path string) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), tempPrefix) // mode 0600
	if err != nil {
		return unwritten(path, err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
			err = unwritten(path, err)
		}
	}()
	_, err = f.Write(content)
	if err == nil && mode != 0o600 {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = Sync(f)
	}
	err = cmp.Or(err, f.Close())
	if err == nil {
		err = name(f.Name(), path)
	}
	return err
}

// fsync is replaced by the test of a file system that syncs no files.
var fsync = (*os.File).Sync

// Sync brings the content of a file to the disk. A file system without a disk of its own may have no sync. git works there
// too: by default it syncs no loose object.
func Sync(f *os.File) error {
	err := fsync(f)
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL) {
		return nil
	}
	return err
}

// syncDir makes a new name in dir last. If the file system cannot sync a directory, its error
// means nothing to the caller: the file is complete.
func syncDir(dir string) {
	d, err := os.Open(dir)
	if err != nil {
		return // the directory is writable but not readable
	}
	defer d.Close()
	_ = d.Sync()
}

// unwritten says why a file was not written. The file beside it, which nobody named, is left
// out.
func unwritten(path string, err error) error {
	if file, ok := errors.AsType[*fs.PathError](err); ok {
		err = file.Err
	} else if link, ok := errors.AsType[*os.LinkError](err); ok {
		err = link.Err
	}
	return fmt.Errorf("write %s: %w", path, err)
}
