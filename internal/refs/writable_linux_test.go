package refs

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
	"githandoff/internal/gittest"
)

// asUser calls a function in a thread of another user.
func asUser(uid uintptr, call func() error) error {
	result := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked, so the thread ends with the goroutine
		if _, _, no := syscall.RawSyscall(syscall.SYS_SETRESUID, uid, uid, uid); no != 0 {
			result <- no
			return
		}
		result <- call()
	}()
	return <-result
}

// CheckWritable names the files that keep this user from writing a step, but not those that belong to another
// user on purpose.
func TestCheckWritable(t *testing.T) {
	gittest.NeedRoot(t)
	const owner, pusher = 12345, 54321
	dir := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755))
	list, objects := filepath.Join(dir, "githandoff"), filepath.Join(dir, "objects")
	for _, path := range []string{list, objects} {
		require.NoError(t, os.Mkdir(path, 0o755))
		require.NoError(t, os.Chmod(path, 0o777))
		require.NoError(t, os.Chown(path, owner, -1))
	}
	require.NoError(t, os.Chmod(dir, 0o777))
	require.NoError(t, os.Chown(dir, owner, -1))
	check := (&Repo{CommonDir: dir, GitDir: dir}).CheckWritable
	require.NoError(t, asUser(owner, check))
	require.NoError(t, asUser(pusher, check))

	require.NoError(t, os.Chmod(list, 0o750))
	require.NoError(t, asUser(pusher, check), "the trust list is its owner's")
	require.NoError(t, os.Chmod(objects, 0o755))
	require.ErrorContains(t, asUser(pusher, check), "1 directory cannot be written to, such as "+objects)

	require.NoError(t, os.Chmod(objects, 0o600))
	err := asUser(owner, check)
	require.True(t, fault.Is(err, fault.ReadOnly), "%v", err)
	hints := fault.As(err).Hints
	require.Len(t, hints, 1)
	require.NoError(t, exec.Command(hints[0].Run[0], hints[0].Run[1:]...).Run())
	assert.NoError(t, asUser(owner, check), "what it advises mends it")

	err = syscall.Mount(dir, dir, "", syscall.MS_BIND, "")
	if errors.Is(err, syscall.EPERM) {
		gittest.Missing(t, "no right to mount: %v", err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
	require.NoError(t, syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_BIND|syscall.MS_RDONLY, ""))
	require.NoError(t, asUser(pusher, check), "somebody who reads a mounted repository")
	assert.ErrorContains(t, asUser(owner, check), "read-only file system")
}
