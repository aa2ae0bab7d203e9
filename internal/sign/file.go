package sign

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"githandoff/internal/fault"
)

// readOwned reads a regular file of one of owners, or where none are named of our
// own user, that nobody else has any of the forbidden permissions on. Links are not
// followed, and a pipe is not waited for. A missing file is fs.ErrNotExist.
func readOwned(path string, forbidden fs.FileMode, limit int64, owners ...uint32) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ELOOP) {
		return nil, unsafeFile(path, "is a symbolic link")
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, unsafeFile(path, "is not a regular file")
	}
	if err := checkOwned(path, info, forbidden, owners); err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(b)) > limit {
		return nil, fault.New(fault.Invalid, "too_large", "%s is larger than %d bytes", path, limit)
	}
	return b, nil
}

func checkOwned(path string, info fs.FileInfo, forbidden fs.FileMode, owners []uint32) error {
	switch uid := ownerOf(info); {
	case owners == nil && int(uid) != os.Geteuid():
		return unsafeFile(path, fmt.Sprintf("belongs to user %d, not to you", uid))
	case owners != nil && !slices.Contains(owners, uid):
		return unsafeFile(path, fmt.Sprintf("belongs to user %d, and the repository to user %d", uid, owners[0])).
			WithHints(fault.Run("chown", fmt.Sprint(owners[0]), path))
	}
	if loose := info.Mode().Perm() & forbidden; loose != 0 {
		return unsafeFile(path, fmt.Sprintf("is open to other users (mode %04o)", info.Mode().Perm())).
			WithHints(fault.Run("chmod", fmt.Sprintf("%04o", info.Mode().Perm()&^forbidden), path))
	}
	return nil
}

func ownerOf(info fs.FileInfo) uint32 { return info.Sys().(*syscall.Stat_t).Uid }

func unsafeFile(path, why string) *fault.Error {
	return fault.New(fault.Denied, "unsafe_file", "%s %s", path, why).
		WithHints(fault.Fact("keys and trust are only read from regular files of your own that nobody else can change"))
}

// makePrivateDir makes dir and what is missing above it, for this user alone.
func makePrivateDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	return nil
}

// writeTemp writes a complete, synced file beside path and returns its name.
func writeTemp(path string, content []byte, mode fs.FileMode) (string, error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".tmp-*") // mode 0600
	if err != nil {
		return "", err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}

// replaceFile puts content at path in one step.
func replaceFile(path string, content []byte, mode fs.FileMode) error {
	temp, err := writeTemp(path, content, mode)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Rename(temp, path); err != nil {
		_ = os.Remove(temp)
		return fmt.Errorf("write %s: %w", path, err)
	}
	return syncDir(filepath.Dir(path))
}

// createFile puts content at path in one step, unless something is there
// already: then it returns fs.ErrExist.
func createFile(path string, content []byte) error {
	temp, err := writeTemp(path, content, 0o600)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer os.Remove(temp)
	if err := os.Link(temp, path); err != nil { // unlike rename, never replaces
		return fmt.Errorf("write %s: %w", path, err)
	}
	return syncDir(filepath.Dir(path))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", dir, err)
	}
	return nil
}

const (
	lockTries = 1000
	lockPause = 10 * time.Millisecond
)

// withLock runs do while no other process is in withLock for the same path. The
// lock is the kernel's, so that it cannot outlive its holder; its file stays.
func withLock(path string, do func() error) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	defer f.Close() // releases it
	for range lockTries {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			break
		}
		time.Sleep(lockPause)
	}
	if err != nil {
		return fault.New(fault.Unavailable, "busy", "lock %s: %w", path, err)
	}
	return do()
}
