package durable

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A new file is made on file systems with and without hard links, and no file is replaced.
func TestCreateFile(t *testing.T) {
	for name, err := range map[string]error{"links": nil, "exFAT": syscall.EPERM, "FUSE": syscall.ENOSYS, "SMB": syscall.ENOTSUP} {
		t.Run(name, func(t *testing.T) {
			if err != nil {
				link = func(old, path string) error { return &os.LinkError{Op: "link", Old: old, New: path, Err: err} }
				t.Cleanup(func() { link = os.Link })
			}
			dir := t.TempDir()
			path := filepath.Join(dir, "f")
			require.NoError(t, CreateFile(path, []byte("one")))
			require.ErrorIs(t, CreateFile(path, []byte("two")), fs.ErrExist)
			b, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, "one", string(b))
			left, err := os.ReadDir(dir)
			require.NoError(t, err)
			assert.Len(t, left, 1)
		})
	}
}

// A file is written on a file system that syncs none. Another error of a sync is one.
func TestWriteFileWithoutSync(t *testing.T) {
	t.Cleanup(func() { fsync = (*os.File).Sync })
	path := filepath.Join(t.TempDir(), "f")
	for err, want := range map[syscall.Errno]bool{syscall.EINVAL: true, syscall.ENOTSUP: true, syscall.ENOSYS: true, syscall.EIO: false} {
		fsync = func(*os.File) error { return &os.PathError{Op: "sync", Path: path, Err: err} }
		assert.Equal(t, want, WriteFile(path, []byte("text"), 0o600) == nil, "%v", err)
	}
}
