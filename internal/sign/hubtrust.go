package sign

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"githandoff/internal/fault"
	"githandoff/internal/private"
)

// LoadHubTrust reads the trust file of a hub, and no other. git runs a hub's hooks as the
// pushing user, so the list need not belong to the current user. It must belong to the owner
// of gitDir or to root, and so must its directory: a pusher then cannot substitute a list,
// not even one of their own.
func LoadHubTrust(path, gitDir string) (*Trust, error) {
	info, err := os.Stat(gitDir)
	if err != nil {
		return nil, fmt.Errorf("read trust: %w", err)
	}
	t := &Trust{repoPath: path, owners: []uint32{private.Owner(info), 0}}
	dir := filepath.Dir(path)
	if info, err = os.Lstat(dir); err == nil {
		if !info.IsDir() {
			return nil, private.Unsafe(dir, "is not a directory")
		}
		err = private.Check(dir, info, private.Others, t.owners...)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	err = t.reload()
	if errors.Is(err, fs.ErrPermission) {
		return nil, fault.New(fault.Unavailable, fault.Unreadable, "%w", err).
			WithHints(fault.Run("git", "-C", gitDir, "config", "core.sharedRepository", "group").Because("lets pushers read it; then githandoff trust add rewrites it"))
	}
	if err != nil {
		return nil, err
	}
	return t, nil
}

// shareReadable lets those read a file of the repository who may.
func (t *Trust) shareReadable(path string) error {
	if t.Readers == 0 || path == t.userPath {
		return nil
	}
	return shareReadable(path, t.Readers)
}

// shareReadable lets others read a file and the directory that it is in: readers are the
// bits of a file's mode that say who.
func shareReadable(path string, readers fs.FileMode) error {
	for _, name := range []string{filepath.Dir(path), path} {
		info, err := os.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		mode := info.Mode() | readers
		if info.IsDir() {
			mode |= readers >> 2 // who may read a directory must be able to enter it
		}
		if mode == info.Mode() {
			continue
		}
		if err := os.Chmod(name, mode); err != nil {
			return err
		}
	}
	return nil
}

// HasRoot reports whether a root key is pinned.
func HasRoot(t *Trust) bool {
	for _, p := range t.pins {
		if p.list == "" && slices.Contains(p.entry.Roles, RoleRoot) {
			return true
		}
	}
	return false
}

// TakeList lets the keys of a list that OpenTeam returned count at a hub, each within what its
// signer was pinned for. Nothing is written: the hub reads the list anew with each push. A
// list makes nobody a root there, so it leaves out the keys of other roots.
func TakeList(t *Trust, team *Team) {
	own := *team
	own.Keys = slices.DeleteFunc(slices.Clone(team.Keys), func(e TrustEntry) bool {
		p := t.pins[e.KID]
		return slices.Contains(e.Roles, RoleRoot) && (p == nil || p.list != "")
	})
	t.teams = append(t.teams, &own)
	t.merge()
}
