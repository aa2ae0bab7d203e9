package refs

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Containers with one clone do not see each other's processes. The kernel knows which lock is open.
func TestOpenUnseen(t *testing.T) {
	dir := t.TempDir()
	path, still := filepath.Join(dir, "packed-refs.lock"), filepath.Join(dir, "HEAD")
	require.NoError(t, os.WriteFile(still, nil, 0o600))
	assert.False(t, openUnseen(path, still))
	f, err := os.Create(path)
	require.NoError(t, err)
	assert.True(t, openUnseen(path, still))
	assert.True(t, openUnseen(path, still), "a look leaves no lease behind")
	other, err := os.OpenFile(still, os.O_WRONLY, 0)
	require.NoError(t, err)
	assert.False(t, openUnseen(path, still), "the file system refuses every lease, as NFS may")
	require.NoError(t, other.Close())
	require.NoError(t, f.Close())
	assert.False(t, openUnseen(path, still))
	assert.False(t, Lock{Age: lockAge, Holder: Unseen}.Dead())
}
