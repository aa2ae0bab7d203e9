package durable_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/durable"
)

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	for _, content := range []string{"first", "", "a longer second one"} {
		require.NoError(t, durable.WriteFile(path, []byte(content), 0o640))
		got, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, content, string(got))
		info, err := os.Stat(path)
		require.NoError(t, err)
		assert.EqualValues(t, 0o640, info.Mode().Perm())
	}
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, left, 1)
}

// A reader of the old file goes on reading it: the name moves, the content does not.
func TestWriteFileReplaces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	require.NoError(t, durable.WriteFile(path, []byte("old"), 0o600))
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, durable.WriteFile(path, []byte("new"), 0o600))
	b := make([]byte, 8)
	n, err := f.Read(b)
	require.NoError(t, err)
	assert.Equal(t, "old", string(b[:n]))
}

func TestWriteFileFails(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "taken"), 0o755))
	require.Error(t, durable.WriteFile(filepath.Join(dir, "taken"), nil, 0o600))
	require.Error(t, durable.WriteFile(filepath.Join(dir, "no", "where"), nil, 0o600))
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, left, 1, "no temporary file is left")
}
