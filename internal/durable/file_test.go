package durable_test

import (
	"os"
	"path/filepath"
	"syscall"
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

// A process that has the old file open still reads the old content, since the name is moved to a new file.
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

func TestWriteOutputFollowsALink(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	require.NoError(t, os.WriteFile(target, []byte("old"), 0o600))
	require.NoError(t, os.Symlink("target", link))
	require.NoError(t, durable.WriteOutput(link, []byte("new"), 0o600))
	b, err := os.ReadFile(target)
	require.NoError(t, err)
	assert.Equal(t, "new", string(b))
	to, err := os.Readlink(link)
	require.NoError(t, err)
	assert.Equal(t, "target", to)
}

// Output to a pipe is written into the pipe, as "> pipe" in a shell does, and the pipe stays.
func TestWriteOutputToAPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	f, err := os.OpenFile(path, os.O_RDWR, 0) // open without waiting for the other end
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, durable.WriteOutput(path, []byte("new"), 0o600))
	info, err := os.Lstat(path)
	require.NoError(t, err)
	require.Equal(t, os.ModeNamedPipe, info.Mode().Type())
	b := make([]byte, 8)
	n, err := f.Read(b)
	require.NoError(t, err)
	assert.Equal(t, "new", string(b[:n]))
}

func TestWriteOutputMakesAFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	require.NoError(t, durable.WriteOutput(path, []byte("new"), 0o600))
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "new", string(b))
	require.Error(t, durable.WriteOutput(dir, []byte("new"), 0o600), "a directory")
}
