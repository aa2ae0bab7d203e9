package refs

import (
	"io/fs"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
)

// "sudo -u" without -H leaves HOME as it was: what cannot be looked at is not to be made writable.
func TestDiskFaultOfALook(t *testing.T) {
	for op, hint := range map[string]string{
		"lstat": "# this user may not look there; if HOME or an XDG directory leads there, set it to a directory of this user",
		"stat":  "# this user may not look there; if HOME or an XDG directory leads there, set it to a directory of this user",
		"open":  "# this user must be able to write there",
		"mkdir": "# this user must be able to write there",
	} {
		f := fault.As(DiskFault(&fs.PathError{Op: op, Path: "/root/.config", Err: syscall.EACCES}))
		require.NotNil(t, f, op)
		assert.Equal(t, fault.Unavailable, f.Code, op)
		assert.Equal(t, fault.ReadOnly, f.Reason, op)
		require.Len(t, f.Hints, 1, op)
		assert.Equal(t, hint, f.Hints[0].String(), op)
	}
}
