package snapshot

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A path below a symbolic link is outside this work tree, so nothing is removed there.
func TestBelowLink(t *testing.T) {
	top := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(top, "old", "deep"), 0o700))
	require.NoError(t, os.Symlink("old", filepath.Join(top, "link")))
	for path, want := range map[string]bool{
		"link": false, "link/gone.txt": true, "link/deep/gone.txt": true, "old/deep/gone.txt": false, "no/such/file": false,
	} {
		assert.Equal(t, want, belowLink(top, path), path)
	}
}
