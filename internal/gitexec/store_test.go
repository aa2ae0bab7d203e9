package gitexec_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gitexec"
)

func TestCouldNotStore(t *testing.T) {
	for stderr, want := range map[string]bool{
		"error: cannot lock ref 'refs/x': Unable to create '/r/.git/refs/x.lock': No space left on device": true,
		"error: cannot update ref 'refs/x': couldn't write '/r/.git/refs/x.lock'":                          true,
		"remote: error: cannot update ref 'refs/x'":                                                        false,
		"fatal: write error: No space left on device\nfatal: index-pack failed":                            true,
		"fatal: unable to create temporary file: Read-only file system":                                    true,
		"error: object 1234: zeroPaddedFilemode\nfatal: fsck error in packed object":                       false,
		"remote: error: No space left on device\nfatal: protocol error":                                    false,
		"fatal: attempting to allocate 134217729 over limit 134217728":                                     false,
		"": false,
	} {
		err := fmt.Errorf("fetch: %w", &gitexec.Error{Program: "git fetch", Code: 128, Stderr: stderr})
		assert.Equal(t, want, gitexec.CouldNotStore(err), "%s", stderr)
	}
	assert.False(t, gitexec.CouldNotStore(errors.New("No space left on device")))
	assert.False(t, gitexec.CouldNotStore(nil))
}

// errors.Is finds the system's error in git's own messages, but not in those of a remote.
func TestErrorIs(t *testing.T) {
	err := fmt.Errorf("read: %w", &gitexec.Error{Stderr: "remote: Permission denied\nfatal: write failure on standard output: No space left on device"})
	assert.ErrorIs(t, err, syscall.ENOSPC)
	assert.NotErrorIs(t, err, syscall.EACCES)
	assert.NotErrorIs(t, err, syscall.EROFS)
	assert.NotErrorIs(t, err, fs.ErrNotExist)

	err = &gitexec.Error{Stderr: "fatal: sha1 file 'objects/pack/tmp_idx_x' write error. Out of diskspace"}
	assert.ErrorIs(t, err, syscall.ENOSPC)
	assert.NotErrorIs(t, err, syscall.EDQUOT)

	err = &gitexec.Error{Stderr: "error: cannot update ref 'refs/x': couldn't write '/r/.git/refs/x.lock'"}
	assert.ErrorIs(t, err, syscall.ENOSPC)
	err = &gitexec.Error{Stderr: "remote: error: cannot update ref 'refs/x': couldn't write '/hub/refs/x.lock'"}
	assert.NotErrorIs(t, err, syscall.ENOSPC)
}

// Only a damaged file of this repository counts. The git of a hub prints the same messages about its own files.
func TestDamaged(t *testing.T) {
	dir := t.TempDir()
	objects := filepath.Join(dir, ".git", "objects")
	require.NoError(t, os.MkdirAll(filepath.Join(objects, "ab"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(objects, "ab", "cd01"), nil, 0o600))
	for stderr, want := range map[string]bool{
		"error: object file .git/objects/ab/cd01 is empty\nfatal: bad object":               true,
		"error: object file .git/objects/ab/cd02 is empty":                                  false,
		"fatal: loose object abcd01 (stored in " + objects + "/ab/cd01) is corrupt":         true,
		"remote: fatal: loose object abcd01 (stored in " + objects + "/ab/cd01) is corrupt": false,
		"error: hash mismatch abcd01\nerror: bad object abcd01":                             true, // git 2.34
		"error: hash mismatch abcd02":                                                       false,
		"remote: error: hash mismatch abcd01":                                               false,
		"error: hash mismatch ab":                                                           false,
		"fatal: bad object refs/handoffs/sent/fixer/x":                                      true,
		"fatal: bad object refs/heads/main":                                                 false,
	} {
		err := fmt.Errorf("fetch: %w", &gitexec.Error{Program: "git fetch", Dir: dir, Code: 128, Stderr: stderr})
		assert.Equal(t, want, gitexec.Damaged(err, objects), "%s", stderr)
	}
}
