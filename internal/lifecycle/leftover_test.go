package lifecycle

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLeftovers(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	file := func(name string, age time.Duration) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
		require.NoError(t, os.WriteFile(path, []byte("{"), 0o666))
		require.NoError(t, os.Chtimes(path, now.Add(-age), now.Add(-age)))
		return path
	}
	const old, young = abandoned + time.Second, abandoned - time.Second
	gone := []string{file("claims/.tmp-1", old), file("claims/ended/.tmp-22", old)}
	kept := []string{file("claims/.tmp-3", young), file("claims/ho_1.json", old), file("claims/x.tmp-4", old)}
	require.NoError(t, os.Mkdir(filepath.Join(dir, ".tmp-dir"), 0o777))
	require.NoError(t, os.Symlink(kept[1], filepath.Join(dir, ".tmp-link")))

	files, err := Leftovers(now, filepath.Join(dir, "claims"), filepath.Join(dir, "missing"), filepath.Join(dir, ".tmp-link"))
	require.NoError(t, err)
	assert.ElementsMatch(t, gone, files)
	require.NoError(t, Sweep(append(files, filepath.Join(dir, "missing"))), "what is gone already is no failure")
	for _, path := range gone {
		assert.NoFileExists(t, path)
	}
	for _, path := range kept {
		assert.FileExists(t, path)
	}
	assert.Error(t, Sweep([]string{filepath.Join(dir, "claims")}), "a directory with something in it")
}

// What WriteFile begins is what Leftovers looks for, and no document.
func TestLeftoverOfAWriter(t *testing.T) {
	dir := t.TempDir()
	shelf := Shelf[int]{Dir: dir}
	target := shelf.path("ho_01m7z4mxarb663w4hg5qancgxw")
	require.NoError(t, os.MkdirAll(filepath.Join(target, "in the way"), 0o777), "so that the file cannot be renamed")
	require.Error(t, WriteFile(target, []byte("1")))
	files, err := Leftovers(time.Now().Add(2*abandoned), dir)
	require.NoError(t, err)
	assert.Empty(t, files, "a writer that fails takes its file away")

	f, err := os.CreateTemp(dir, tempPrefix)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.NoError(t, os.RemoveAll(target))
	all, err := shelf.All()
	require.NoError(t, err)
	assert.Empty(t, all)
}
