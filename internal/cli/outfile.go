package cli

import (
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"

	"githandoff/internal/durable"
	"githandoff/internal/fault"
	"githandoff/internal/refs"
)

// inDir returns the path of a file that the user named: relative to dir, the directory of -C.
func inDir(dir, name string) string {
	if dir == "" || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

// writeOutput writes a file that the user named.
func writeOutput(path string, content []byte, mode fs.FileMode) error {
	err := durable.WriteOutput(path, content, mode)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fault.New(fault.NotFound, fault.NoSuchFile, "%w", err)
	case errors.Is(err, syscall.EISDIR):
		return usage("%s is a directory", printable(path))
	}
	return refs.DiskFault(err)
}
