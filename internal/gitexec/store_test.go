package gitexec_test

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"

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

// What git says of the system's error answers errors.Is; a remote's words do not.
func TestErrorIs(t *testing.T) {
	err := fmt.Errorf("read: %w", &gitexec.Error{Stderr: "remote: Permission denied\nfatal: write failure on standard output: No space left on device"})
	assert.ErrorIs(t, err, syscall.ENOSPC)
	assert.NotErrorIs(t, err, syscall.EACCES)
	assert.NotErrorIs(t, err, syscall.EROFS)
	assert.NotErrorIs(t, err, fs.ErrNotExist)

	err = &gitexec.Error{Stderr: "fatal: sha1 file 'objects/pack/tmp_idx_x' write error. Out of diskspace"}
	assert.ErrorIs(t, err, syscall.ENOSPC)
	assert.NotErrorIs(t, err, syscall.EDQUOT)
}
