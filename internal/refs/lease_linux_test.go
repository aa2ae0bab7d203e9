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
	path := filepath.Join(t.TempDir(), "packed-refs.lock")
	assert.False(t, openUnseen(path))
	f, err := os.Create(path)
	require.NoError(t, err)
	assert.True(t, openUnseen(path))
	assert.True(t, openUnseen(path), "a look leaves no lease behind")
	require.NoError(t, f.Close())
	assert.False(t, openUnseen(path))
	assert.False(t, Lock{Age: lockAge, Holder: Unseen}.Dead())
}
