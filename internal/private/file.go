package private

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"githandoff/internal/durable"
	"githandoff/internal/fault"
)

// maxState bounds, in bytes, a file in which githandoff notes its own state.
const maxState = 1 << 20

// Read reads a regular file of one of owners, or of this user if none are named. Nobody else may
// have any of the forbidden permissions on it. Links are not followed, and a pipe is not waited
// for. A missing file is fs.ErrNotExist.
func Read(path string, forbidden fs.FileMode, limit int64, owners ...uint32) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ELOOP) {
		return nil, Unsafe(path, "is a symbolic link")
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
		return nil, Unsafe(path, "is not a regular file")
	}
	if err := Check(path, info, forbidden, owners...); err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(b)) > limit {
		return nil, fault.New(fault.Invalid, fault.TooLarge, "%s is larger than %d bytes", path, limit)
	}
	return b, nil
}

// ReadDocument reads a document of this user of at most limit bytes: a regular file, and no link.
// Its directory may be open to others, as /tmp is.
func ReadDocument(path string, limit int64) ([]byte, fs.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ELOOP) {
		return nil, nil, fault.New(fault.Invalid, fault.NotAFile, "a symbolic link is not read")
	}
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, fault.New(fault.Invalid, fault.NotAFile, "not a regular file")
	}
	if int(Owner(info)) != os.Getuid() {
		return nil, nil, fault.New(fault.Invalid, fault.NotOwnFile, "it belongs to another user")
	}
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, nil, err
	}
	if int64(len(b)) > limit {
		return nil, nil, fault.New(fault.Invalid, fault.TooLarge, "more than %d bytes", limit)
	}
	return b, info, nil
}

// ReadState reads a file written by githandoff beside a repository; nil if there is none. Its
// directory was checked when the repository was opened; the file belongs to this user, to root,
// or to the owner of the directory, and others may not write it.
func ReadState(path string) ([]byte, error) { return ReadLargeState(path, maxState) }

// ReadLargeState is like ReadState for a file with a limit of its own.
func ReadLargeState(path string, limit int64) ([]byte, error) {
	owners := []uint32{uint32(os.Geteuid()), 0}
	if info, err := os.Lstat(filepath.Dir(path)); err == nil {
		owners = append(owners, Owner(info))
	}
	b, err := Read(path, Others, limit, owners...)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return b, err
}

// WriteFile replaces one of this user's files, whole or not at all, and makes its
// directory. After a power cut the old content may be back.
func WriteFile(path string, content []byte) error {
	if err := MakeDir(filepath.Dir(path)); err != nil {
		return err
	}
	return durable.Replace(path, content, 0o600)
}

// MakeDir makes dir and its missing parents, for this user alone.
func MakeDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	return nil
}

// flock is replaced by the test of a file system without locks.
var flock = syscall.Flock

// Lock takes a lock of the kernel on a file, which it makes with its directory. The lock
// goes away with its process; the file stays. Lock waits until ctx ends.
func Lock(ctx context.Context, path string) (func(), error) {
	if err := MakeDir(filepath.Dir(path)); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	for {
		err := flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			_ = f.Close()
			return nil, fault.New(fault.Unavailable, fault.Unwritable, "lock %s: %w", path, err).
				WithHints(fault.Fact("this file system has no locks: mount it with them (flock; for NFS also local_lock=flock, if one host uses it), or clone onto another one"))
		}
		select {
		case <-ctx.Done():
			_ = f.Close()
			return nil, ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// The variables for the places of this user's files.
const (
	Data   = "XDG_DATA_HOME"   // directory of the keys
	Config = "XDG_CONFIG_HOME" // directory of the trust list
	State  = "XDG_STATE_HOME"  // directory of the record of setup, and of the scratch of hooks
)

// Dir returns the directory "githandoff" at a place: Data, Config or State. It need not exist; where
// it does, it and the directories above it are this user's own.
func Dir(getenv func(string) string, name string) (string, error) {
	fallback := map[string]string{Data: ".local/share", Config: ".config", State: ".local/state"}[name]
	home, homeErr := Home(getenv)
	base := getenv(name)
	switch {
	case base == "" && homeErr != nil:
		return "", fault.As(homeErr).WithHints(absolute(name))
	case base == "":
		base = filepath.Join(home, fallback)
	case !filepath.IsAbs(base):
		return "", fault.New(fault.Usage, fault.RelativePath, "$%s is %q: want an absolute path", name, base).
			WithHints(fault.Fact("set %s to an absolute path, or unset it", name))
	}
	base = filepath.Clean(base)
	dir := filepath.Join(base, "githandoff")
	err := checkAbove(base, home)
	if err == nil {
		err = CheckDir(dir)
	}
	if err != nil {
		err = elsewhere(err, name)
	}
	return dir, err
}

// elsewhere adds a hint to the error of a place that this user cannot mend: the variable that names another one.
func elsewhere(err error, name string) error {
	f := fault.As(err)
	switch {
	case errors.Is(err, syscall.ENOTDIR):
		return fault.New(fault.Usage, fault.NoHome, "%w", err).WithHints(absolute(name))
	case f != nil && len(f.Hints) == 1 && f.Hints[0].Run == nil:
		return f.WithHints(f.Hints[0], fault.Fact("set %s to a directory that only this user can change", name))
	}
	return err
}

// absolute returns the hint for a user without a home directory.
func absolute(name string) fault.Hint {
	return fault.Fact("set HOME or %s to the absolute path of a directory of this user", name)
}

// Home returns this user's home directory: $HOME if absolute, else that of the user database.
func Home(getenv func(string) string) (string, error) {
	if home := getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Clean(home), nil
	}
	uid := strconv.Itoa(os.Geteuid())
	if u, err := user.LookupId(uid); err == nil && filepath.IsAbs(u.HomeDir) {
		return filepath.Clean(u.HomeDir), nil
	}
	return "", fault.New(fault.Usage, fault.NoHome, "$HOME is not an absolute path, and the user database has no home directory of user %s", uid).
		WithHints(fault.Fact("set HOME to the absolute path of a directory of this user"))
}
