package footprint_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/footprint"
)

func TestOf(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a[1]*")
	seen := map[string]string{}
	changed := func(what string) {
		t.Helper()
		sum := footprint.Of(file, dir).Sum
		assert.Equal(t, sum, footprint.Of(file, dir).Sum, what)
		assert.NotContains(t, seen, sum, "%s looks like %s", what, seen[sum])
		seen[sum] = what
	}
	changed("nothing")
	require.NoError(t, os.WriteFile(file, []byte("one"), 0o600))
	changed("a file")
	require.NoError(t, os.WriteFile(file, []byte("longer"), 0o600))
	changed("another size")
	require.NoError(t, os.Chtimes(file, time.Unix(1, 0), time.Unix(1, 0)))
	changed("another time")
	other := filepath.Join(dir, "b")
	require.NoError(t, os.WriteFile(other, []byte("longer"), 0o600))
	require.NoError(t, os.Chtimes(other, time.Unix(1, 0), time.Unix(1, 0)))
	require.NoError(t, os.Rename(other, file))
	changed("another file with the same size and time")
	require.NoError(t, os.Remove(file))
	changed("nothing again")
}

// A change may have the same time as the one before it. A print can therefore rule out a change only some time
// later.
func TestPrintSettlesLater(t *testing.T) {
	dir := t.TempDir()
	p := footprint.Of(dir)
	assert.False(t, p.Settled(p.Newest))
	assert.False(t, p.Settled(p.Newest.Add(footprint.Settling-1)))
	assert.True(t, p.Settled(p.Newest.Add(footprint.Settling)))
	assert.True(t, footprint.Of(filepath.Join(dir, "none")).Settled(time.Time{}), "a file that is not there gets a time of its own")
}
