package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// staleAge is the age at which the writer of a temporary file is surely gone: it needs
// milliseconds. A writer stopped for longer finds its file missing, reports it, and has changed
// nothing.
const staleAge = time.Hour

// Stale reports whether a file is too old to have a running writer.
func Stale(info fs.FileInfo, now time.Time) bool { return now.Sub(info.ModTime()) > staleAge }

// StaleTempFiles lists the files of killed writers below dirs, temporary ones and those that said whose
// something is, each under its directory in dirs. A directory may be missing.
func StaleTempFiles(now time.Time, dirs ...string) ([]string, error) {
	var found []string
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil || !e.Type().IsRegular() || !mayBeStale(e.Name()) {
				return err
			}
			info, err := e.Info()
			switch {
			case errors.Is(err, fs.ErrNotExist): // the file was renamed meanwhile
				return nil
			case err == nil && Stale(info, now) && !Owned(path):
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

// mayBeStale reports whether a file has the name of a temporary one, or of one that says who makes a work
// copy. Nothing else is touched: some of the directories are git's.
func mayBeStale(name string) bool {
	return strings.HasPrefix(name, tempPrefix) || strings.HasPrefix(name, "ho_") && strings.HasSuffix(name, ownerSuffix)
}

// RemoveAll removes files. A missing one is no error.
func RemoveAll(files []string) error {
	for _, path := range files {
		if err := Remove(path); err != nil {
			return fmt.Errorf("remove stale files: %w", err)
		}
	}
	return nil
}

// Remove removes a file. A missing one is no error.
func Remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
