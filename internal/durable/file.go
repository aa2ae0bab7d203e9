// Package durable writes files so that a crash leaves the old content or the new
// one, never a part of either.
package durable

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// TempPattern is how temporary files are named: [os.CreateTemp] puts random digits
// in place of the star. Whoever looks for files of killed writers looks for it.
const TempPattern = ".tmp-*"

// WriteFile replaces the content of path in one step and gives the file the given
// permissions. The content is synced before the name points to it, and the directory
// after that. The directory must exist. A link at path is replaced, not followed.
func WriteFile(path string, content []byte, mode fs.FileMode) (err error) {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, TempPattern) // mode 0600
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
			err = fmt.Errorf("write %s: %w", path, err)
		}
	}()
	_, err = f.Write(content)
	if err == nil {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return err
	}
	return syncDir(dir)
}

// syncDir makes a rename in dir last. File systems that cannot sync a directory say
// so with an error that means nothing to the caller: the file is complete.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return nil //nolint:nilerr // a directory that may be written to and not read
	}
	defer d.Close()
	_ = d.Sync()
	return nil
}
