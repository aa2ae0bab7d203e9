package lifecycle

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// tempPrefix begins the name of a file that is being written, here and in package
// sign. Nobody reads such a file: it counts once it has been renamed.
const tempPrefix = ".tmp-"

// abandoned is the age at which the writer of such a file is surely gone: it needs
// milliseconds. One that was stopped for longer finds its file missing, says so,
// and has changed nothing.
const abandoned = time.Hour

// Leftovers lists the files below dirs that a writer which was killed did not
// come to rename, each under the directory that led there. A directory may be
// missing.
func Leftovers(now time.Time, dirs ...string) ([]string, error) {
	var found []string
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil || !e.Type().IsRegular() || !strings.HasPrefix(e.Name(), tempPrefix) {
				return err
			}
			info, err := e.Info()
			switch {
			case errors.Is(err, fs.ErrNotExist): // it was renamed meanwhile
				return nil
			case err == nil && now.Sub(info.ModTime()) > abandoned:
				found = append(found, path)
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("look for stale files: %w", err)
		}
	}
	return found, nil
}

// Sweep removes what Leftovers found.
func Sweep(files []string) error {
	for _, path := range files {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove stale files: %w", err)
		}
	}
	return nil
}
