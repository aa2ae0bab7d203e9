package hooks

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"githandoff/internal/durable"
	"githandoff/internal/fault"
)

// tempPattern names the directory in which a file is made before it is moved
// to its place. git never looks into it.
const tempPattern = ".githandoff-*"

// A file is an entry of the hooks directory: missing, a symbolic link or a regular file.
type file struct {
	exists bool
	link   string // target of a symbolic link; "" for a regular file
	mode   fs.FileMode
	data   []byte
}

func (f file) equal(g file) bool {
	return f.exists == g.exists && f.link == g.link && f.mode == g.mode && bytes.Equal(f.data, g.data)
}

// load reads a path without following a link.
func load(path string) (file, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return file{}, nil
	case err != nil:
		return file{}, fmt.Errorf("read hook: %w", err)
	case info.Mode().Type() == fs.ModeSymlink:
		target, err := os.Readlink(path)
		if err != nil {
			return file{}, fmt.Errorf("read hook: %w", err)
		}
		return file{exists: true, link: target}, nil
	case !info.Mode().IsRegular():
		return file{}, fault.New(fault.Other, fault.HookNotAFile, "hook %q is neither a file nor a link", path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return file{}, fmt.Errorf("read hook: %w", err)
	}
	return file{exists: true, mode: info.Mode(), data: data}, nil
}

// store puts f at path in one step, in the place of any older file.
func store(path string, f file) error {
	temp, err := os.MkdirTemp(filepath.Dir(path), tempPattern)
	if err != nil {
		return fmt.Errorf("write hook: %w", err)
	}
	defer os.RemoveAll(temp)
	made := filepath.Join(temp, filepath.Base(path))
	if f.link != "" {
		err = os.Symlink(f.link, made)
	} else {
		err = writeSynced(made, f)
	}
	if err == nil {
		err = os.Rename(made, path)
	}
	if err != nil {
		return fmt.Errorf("write hook: %w", err)
	}
	return nil
}

func writeSynced(path string, f file) error {
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = out.Write(f.data)
	// Chmod ignores the umask, which would change the mode of a kept hook.
	return errors.Join(err, out.Chmod(f.mode), durable.Sync(out), out.Close())
}

// sweep removes the leftovers of a killed process.
func sweep(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("list hooks: %w", err)
	}
	for _, entry := range entries {
		if stale, _ := filepath.Match(tempPattern, entry.Name()); !stale {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, entry.Name())); err != nil {
			return fmt.Errorf("remove leftover: %w", err)
		}
	}
	return nil
}
