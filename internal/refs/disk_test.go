package refs

import (
	"io/fs"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
)

// "sudo -u" without -H keeps the HOME of another user. For a path that cannot be looked up, the hint does not
// ask to make it writable.
func TestDiskFaultOfALook(t *testing.T) {
	for op, hint := range map[string]string{
		"lstat": "# this user may not look there; if HOME or an XDG directory leads there, set it to a directory of this user",
		"stat":  "# this user may not look there; if HOME or an XDG directory leads there, set it to a directory of this user",
		"open":  "# this user must be able to read and write there",
		"mkdir": "# this user must be able to read and write there",
	} {
		f := fault.As(DiskFault(&fs.PathError{Op: op, Path: "/root/.config", Err: syscall.EACCES}))
		require.NotNil(t, f, op)
		assert.Equal(t, fault.Unavailable, f.Code, op)
		assert.Equal(t, fault.ReadOnly, f.Reason, op)
		require.Len(t, f.Hints, 1, op)
		assert.Equal(t, hint, f.Hints[0].String(), op)
	}
}

// Each failure of a file system has the exit code of what is not available, and a way out.
func TestDiskFaultOfAFileSystem(t *testing.T) {
	for hint, err := range map[string]error{
		"# a limit of this shell (ulimit -f) or of the file system is too low for that file: raise it": &fs.PathError{Op: "write", Path: "f", Err: syscall.EFBIG},
		"# a disk fails, or the way to it: the log of the system says more":                            &fs.PathError{Op: "read", Path: "f", Err: syscall.EIO},
		"# /proc must be mounted: without it no program finds its own file":                            &fs.PathError{Op: "readlink", Path: "/proc/self/exe", Err: syscall.ENOENT},
	} {
		f := fault.As(DiskFault(err))
		require.NotNil(t, f, hint)
		assert.Equal(t, fault.Unavailable, f.Code, hint)
		assert.Equal(t, hint, f.Advice())
	}
	assert.Nil(t, fault.As(DiskFault(&fs.PathError{Op: "open", Path: "f", Err: syscall.ENOENT})))
}

// A container may lack /dev/null, without which Go starts no program.
func TestNotStartedNamesTheMissingDevice(t *testing.T) {
	err := &gitexec.Error{Program: "git version", Code: -1, Err: &fs.PathError{Op: "open", Path: "/dev/null", Err: syscall.ENOENT}}
	assert.Equal(t, "# no program can be started here without /dev/null: the container must have it", fault.As(notStarted(err)).Advice())
}

// The error quotes the last line of git's messages, and adds that the disk is full if an earlier line says so.
func TestDiskFaultSaysThatTheDiskIsFull(t *testing.T) {
	for stderr, said := range map[string]string{
		"error: file write error: No space left on device\nfatal: unpack-objects failed": "git fetch: fatal: unpack-objects failed: no space left on device",
		"error: file write error: Disk quota exceeded\nfatal: unpack-objects failed":     "git fetch: fatal: unpack-objects failed: disk quota exceeded",
		"fatal: write error: No space left on device":                                    "git fetch: fatal: write error: No space left on device",
	} {
		f := fault.As(DiskFault(&gitexec.Error{Program: "git fetch", Stderr: stderr}))
		require.NotNil(t, f, stderr)
		assert.Equal(t, fault.DiskFull, f.Reason, stderr)
		assert.Equal(t, said, f.Error(), stderr)
	}
}
