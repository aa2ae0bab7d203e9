package durable

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestStaleTempFiles(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	file := func(name string, age time.Duration) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
		require.NoError(t, os.WriteFile(path, []byte("{"), 0o666))
		require.NoError(t, os.Chtimes(path, now.Add(-age), now.Add(-age)))
		return path
	}
	const old, young = staleAge + time.Second, staleAge - time.Second
	gone := []string{file("claims/.tmp-1", old), file("claims/ended/.tmp-22", old), file("claims/ho_1.owner", old)}
	kept := []string{file("claims/.tmp-3", young), file("claims/ho_1.json", old), file("claims/x.tmp-4", old), file("claims/ho_2.owner", young), file("claims/their.owner", old)}
	owned, err := Own(filepath.Join(dir, "claims/ho_3.owner"), nil)
	require.NoError(t, err)
	defer Disown(owned)
	require.NoError(t, os.Chtimes(filepath.Join(dir, "claims/ho_3.owner"), now.Add(-old), now.Add(-old)))
	require.NoError(t, os.Mkdir(filepath.Join(dir, ".tmp-dir"), 0o777))
	require.NoError(t, os.Symlink(kept[1], filepath.Join(dir, ".tmp-link")))

	files, err := StaleTempFiles(now, filepath.Join(dir, "claims"), filepath.Join(dir, "missing"), filepath.Join(dir, ".tmp-link"))
	require.NoError(t, err)
	assert.ElementsMatch(t, gone, files)
	require.NoError(t, RemoveAll(append(files, filepath.Join(dir, "missing"))), "what is gone already is no failure")
	for _, path := range gone {
		assert.NoFileExists(t, path)
	}
	for _, path := range kept {
		assert.FileExists(t, path)
	}
	assert.Error(t, RemoveAll([]string{filepath.Join(dir, "claims")}), "a directory with something in it")
}

// A writer that fails removes its temporary file. The file of a killed writer is found.
func TestTempFileOfAWriter(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "document.json")
	require.NoError(t, os.MkdirAll(filepath.Join(target, "in the way"), 0o777), "so that the file cannot be renamed")
	require.Error(t, WriteFile(target, []byte("1"), 0o600))
	files, err := StaleTempFiles(time.Now().Add(2*staleAge), dir)
	require.NoError(t, err)
	assert.Empty(t, files, "a writer that fails takes its file away")

	f, err := os.CreateTemp(dir, tempPrefix)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	files, err = StaleTempFiles(time.Now().Add(2*staleAge), dir)
	require.NoError(t, err)
	assert.Equal(t, []string{f.Name()}, files)
}
