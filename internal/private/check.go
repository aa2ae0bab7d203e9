package private

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"githandoff/internal/fault"
)

// Others are the bits of a mode by which somebody else may change a file. The group's bit is
// allowed in a group without other members.
const Others fs.FileMode = 0o022

const groupWrite fs.FileMode = 0o020

// nobody is the kernel's id for users unknown in a sandbox.
const nobody = 65534

// CheckDir refuses a directory of githandoff's own if it is a link, belongs to neither this user
// nor one of owners, or is writable by others. A missing one is fine.
func CheckDir(dir string, owners ...uint32) error {
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return Unsafe(dir, "is not a directory")
	}
	return Check(dir, info, Others, append([]uint32{uint32(os.Geteuid())}, owners...)...)
}

// CheckTree is like CheckDir for a directory and each one below it.
func CheckTree(dir string, owners ...uint32) error {
	if err := CheckDir(dir, owners...); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil // what this user cannot read is not trusted either
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if e.Type()&fs.ModeSymlink != 0 {
			if to, err := os.Stat(path); err == nil && to.IsDir() {
				return Unsafe(path, "is a symbolic link")
			}
		}
		if e.IsDir() {
			if err := CheckTree(path, owners...); err != nil {
				return err
			}
		}
	}
	return nil
}

// Check refuses a file which belongs to none of owners (or, if none are named, not to this user),
// or on which somebody else has one of the forbidden permissions.
func Check(path string, info fs.FileInfo, forbidden fs.FileMode, owners ...uint32) error {
	uid, me := Owner(info), uint32(os.Geteuid())
	switch {
	case len(owners) == 0 && uid != me, len(owners) > 0 && owners[0] == me && !slices.Contains(owners, uid):
		return Unsafe(path, fmt.Sprintf("belongs to user %d, not to you", uid))
	case len(owners) > 0 && !slices.Contains(owners, uid):
		return Unsafe(path, fmt.Sprintf("belongs to user %d, and the repository to user %d", uid, owners[0])).
			WithHints(fault.Run("chown", fmt.Sprint(owners[0]), path).Because("gives it to the owner of the repository; look at it first"))
	}
	if loose := info.Mode().Perm() & forbidden; loose != 0 && !(loose == groupWrite && forbidden == Others && ownGroup(group(info))) {
		f := Unsafe(path, fmt.Sprintf("is open to other users (mode %04o)", info.Mode().Perm()))
		if !keepsModes(filepath.Dir(path)) {
			return f.WithHints(fault.Fact("this file system lets everybody change its files: mount it with permissions (in WSL, with the option metadata), or use another one"))
		}
		if uid != me && me != 0 { // only its owner may close it
			return f
		}
		return f.WithHints(fault.Run("chmod", fmt.Sprintf("%04o", info.Mode().Perm()&^forbidden), path).Because("closes it"))
	}
	return nil
}

// CheckHolding refuses a directory in which another user could exchange what it holds: one that belongs
// to none of owners, or that others may write. In a sticky directory what is another user's is
// protected.
func CheckHolding(dir string, info fs.FileInfo, owners ...uint32) error {
	forbidden := Others
	if info.Mode()&fs.ModeSticky != 0 {
		forbidden = 0
	}
	return Check(dir, info, forbidden, owners...)
}

// newFile makes a file for this user alone.
var newFile = os.CreateTemp

// keepsModes reports whether the file system of a directory keeps the modes of files. NTFS, FAT and
// many folders of another system show the same mode for all of them, and chmod changes none.
func keepsModes(dir string) bool {
	f, err := newFile(dir, ".githandoff-*")
	if err != nil {
		return true // chmod may still help
	}
	defer os.Remove(f.Name())
	defer f.Close()
	info, err := f.Stat()
	return err != nil || info.Mode().Perm()&0o077 == 0
}

// Owner returns the owner of a file.
func Owner(info fs.FileInfo) uint32 { return info.Sys().(*syscall.Stat_t).Uid }

func group(info fs.FileInfo) uint32 { return info.Sys().(*syscall.Stat_t).Gid }

// Unsafe returns the refusal of a file which somebody else could have put there.
func Unsafe(path, why string) *fault.Error {
	return fault.New(fault.Denied, fault.UnsafeFile, "%s %s", path, why).
		WithHints(fault.Fact("githandoff trusts only your own regular files and directories that nobody else can change"))
}

// checkAbove refuses a directory in which, or above which, others could exchange
// githandoff's own: each one from base up to the home directory, and base itself where
// it is elsewhere. These may be links, as people keep them, if no other user made the
// link; the directory behind it is held to the same.
func checkAbove(base, home string) error {
	dirs := []string{base}
	if home != "" && strings.HasPrefix(base, strings.TrimSuffix(home, "/")+"/") {
		for d := filepath.Dir(base); d != home; d = filepath.Dir(d) {
			dirs = append(dirs, d)
		}
	}
	owners := []uint32{uint32(os.Geteuid()), 0, nobody}
	for _, d := range slices.Backward(dirs) {
		info, err := os.Lstat(d)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if !slices.Contains(owners, Owner(info)) {
			return Unsafe(d, fmt.Sprintf("belongs to user %d, not to you", Owner(info)))
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			behind, err := filepath.EvalSymlinks(base)
			if err != nil {
				return nil //nolint:nilerr // the link leads nowhere, so there is nothing to trust
			}
			realHome, err := filepath.EvalSymlinks(home)
			if err != nil {
				realHome = home
			}
			return checkAbove(behind, realHome)
		}
		if err := CheckHolding(d, info, owners...); err != nil {
			return err
		}
	}
	return nil
}

// ownGroup reports whether a group is this user's alone. Debian, Ubuntu and Fedora give each user
// such a group and a umask of 002, so an agent's files may be writable by its group. The
// superuser's group is never one: it has other members on many systems.
func ownGroup(gid uint32) bool {
	if os.Geteuid() == 0 || int(gid) != os.Getegid() {
		return false
	}
	me, err := user.LookupId(strconv.Itoa(os.Geteuid()))
	if err != nil {
		return false
	}
	groups, err := os.Open("/etc/group")
	if err != nil {
		return false
	}
	defer groups.Close()
	users, err := os.Open("/etc/passwd")
	if err != nil {
		return false
	}
	defer users.Close()
	return aloneInGroup(groups, users, me.Username, gid)
}

// aloneInGroup reads group(5) and passwd(5). A group missing in the first belongs to a directory
// service, and its members are unknown.
func aloneInGroup(groups, users io.Reader, name string, gid uint32) bool {
	id := strconv.FormatUint(uint64(gid), 10)
	known := false
	for fields := range database(groups, 4) {
		if fields[2] != id {
			continue
		}
		known = true
		others := func(member string) bool { return member != "" && member != name }
		if slices.ContainsFunc(strings.Split(fields[3], ","), others) {
			return false
		}
	}
	for fields := range database(users, 7) {
		if fields[3] == id && fields[0] != name {
			return false
		}
	}
	return known
}

// database yields the lines with n fields of a file of the user database.
func database(r io.Reader, n int) iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		for lines := bufio.NewScanner(r); lines.Scan(); {
			if f := strings.Split(lines.Text(), ":"); len(f) == n && !yield(f) {
				return
			}
		}
	}
}
