package durable_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/durable"
)

func TestOwned(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	assert.False(t, durable.Owned(path))
	f, err := durable.Own(path, []byte("text"))
	require.NoError(t, err)
	assert.True(t, durable.Owned(path))
	require.NoError(t, exec.Command("true").Run(), "a process started here does not inherit it")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "text", string(text))
	durable.Disown(f)
	assert.False(t, durable.Owned(path))
}

// Another process owns a file as long as it runs, whatever its process id is.
func TestOwnedByAnother(t *testing.T) {
	if path := os.Getenv("OWN_FILE"); path != "" {
		_, err := durable.Own(path, nil)
		require.NoError(t, err)
		time.Sleep(time.Minute)
		return
	}
	path := filepath.Join(t.TempDir(), "file")
	other := exec.Command(os.Args[0], "-test.run=^TestOwnedByAnother$")
	other.Env = append(os.Environ(), "OWN_FILE="+path)
	require.NoError(t, other.Start())
	assert.Eventually(t, func() bool { return durable.Owned(path) }, time.Minute, 10*time.Millisecond)
	require.NoError(t, other.Process.Kill())
	assert.Error(t, other.Wait())
	assert.False(t, durable.Owned(path))
}

// A process that only asks for the owner is not reported as the owner to others that ask.
func TestOwnedAskedAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	f, err := durable.Own(path, nil)
	require.NoError(t, err)
	durable.Disown(f)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 1000 {
				if !assert.False(t, durable.Owned(path)) {
					return
				}
			}
		})
	}
	all.Wait()
}

// A process with too many open files cannot check for an owner, and then removes nothing.
func TestOwnedWithoutAFile(t *testing.T) {
	if path := os.Getenv("OWNED_FILE"); path != "" {
		require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 32, Max: 32}))
		var open []int
		for fd, err := syscall.Open("/dev/null", syscall.O_RDONLY, 0); err == nil; fd, err = syscall.Open("/dev/null", syscall.O_RDONLY, 0) {
			open = append(open, fd)
		}
		assert.True(t, durable.Owned(path))
		for _, fd := range open { // a process that is measured writes files when it ends
			assert.NoError(t, syscall.Close(fd))
		}
		return
	}
	path := filepath.Join(t.TempDir(), "file")
	f, err := durable.Own(path, nil)
	require.NoError(t, err)
	defer durable.Disown(f)
	other := exec.Command(os.Args[0], "-test.run=^TestOwnedWithoutAFile$")
	other.Env = append(os.Environ(), "OWNED_FILE="+path)
	out, err := other.CombinedOutput()
	assert.NoError(t, err, string(out))
}

// The directory of a process that has ended is removed, and no other one.
func TestNewDir(t *testing.T) {
	root := t.TempDir()
	top := filepath.Join(root, "top")
	first, err := durable.NewDir(root, "top")
	require.NoError(t, err)
	info, err := os.Stat(first.Path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o700), info.Mode().Perm())

	dead := filepath.Join(top, "dead")
	require.NoError(t, os.MkdirAll(filepath.Join(dead, "objects"), 0o700))
	require.NoError(t, os.WriteFile(dead+".owner", nil, 0o600))
	early := filepath.Join(top, "early.owner") // left by a process that was killed before it made the directory
	require.NoError(t, os.WriteFile(early, nil, 0o600))
	older, newer := filepath.Join(top, "7-1"), filepath.Join(top, "7-2") // as earlier versions named them
	require.NoError(t, os.Mkdir(older, 0o700))
	require.NoError(t, os.Mkdir(newer, 0o700))
	ago := time.Now().Add(-2 * time.Hour)
	require.NoError(t, os.Chtimes(older, ago, ago))

	second, err := durable.NewDir(root, "top")
	require.NoError(t, err)
	assert.NotEqual(t, first.Path, second.Path)
	for _, gone := range []string{dead, dead + ".owner", early, older} {
		assert.NoFileExists(t, gone)
		assert.NoDirExists(t, gone)
	}
	assert.DirExists(t, first.Path)
	assert.DirExists(t, newer)
	first.Remove()
	second.Remove()
	names, err := os.ReadDir(top)
	require.NoError(t, err)
	assert.Len(t, names, 1)
}

// A link leads to the directories of nobody else, wherever it stands.
func TestSweepFollowsNoLink(t *testing.T) {
	root, other := t.TempDir(), t.TempDir()
	ago := time.Now().Add(-2 * time.Hour)
	for _, dir := range []string{"old", "top/old"} {
		require.NoError(t, os.MkdirAll(filepath.Join(other, dir), 0o700))
		require.NoError(t, os.Chtimes(filepath.Join(other, dir), ago, ago))
	}
	require.NoError(t, os.WriteFile(filepath.Join(other, "old.owner"), nil, 0o600))
	require.NoError(t, os.Symlink(other, filepath.Join(root, "top")))
	require.NoError(t, os.Symlink(other, filepath.Join(root, "link")))
	for _, below := range []string{"top", "link/top", "link"} {
		durable.Sweep(root, below)
	}
	assert.DirExists(t, filepath.Join(other, "old"))
	assert.DirExists(t, filepath.Join(other, "top/old"))
	assert.FileExists(t, filepath.Join(other, "old.owner"))
}
