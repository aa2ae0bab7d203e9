package sign

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"githandoff/internal/durable"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/private"
)

// Add pins a key in the trust file at path, or widens its entry there. A key does not come
// back after it revoked itself, or after somebody entitled retired it: its signatures in
// between would become valid. For a key that is there already, each statement of its owner stays,
// even one that the new copy lacks.
func (t *Trust) Add(path string, e TrustEntry) error {
	add, err := adding(t, e)
	if err != nil {
		return err
	}
	return t.change(path, add)
}

// MayAdd returns the error with which Add would end, and changes nothing.
func (t *Trust) MayAdd(path string, e TrustEntry) error {
	add, err := adding(t, e)
	if err != nil {
		return err
	}
	entries, err := readTrust(path)
	if err != nil {
		return err
	}
	_, err = add(entries)
	return err
}

// adding checks an entry, and returns the change that adds it to a list.
func adding(t *Trust, e TrustEntry) (func([]TrustEntry) ([]TrustEntry, error), error) {
	public, err := e.parseKey()
	if err != nil {
		return nil, err
	}
	e.Key = public.text
	if err := e.check(); err != nil {
		return nil, fault.New(fault.Usage, fault.Malformed, "pin key %s: %w", e.KID, err)
	}
	if retiredByList(t, e) {
		return nil, retiredKey(e.KID)
	}
	return func(entries []TrustEntry) ([]TrustEntry, error) {
		i := slices.IndexFunc(entries, func(old TrustEntry) bool { return old.KID == e.KID })
		if i < 0 {
			return append(entries, e.widen(TrustEntry{})), nil
		}
		old := entries[i]
		before, err := old.parseKey()
		switch {
		case old.Retired != "":
			return nil, retiredKey(e.KID)
		case err != nil:
			return nil, err
		case before.pgp != nil && len(before.pgp.Revocations) > len(public.pgp.Revocations): // missing in the new copy
			return nil, retiredKey(e.KID)
		}
		whole, err := before.With(public)
		if err != nil {
			return nil, err
		}
		entries[i] = e.widen(old)
		entries[i].Key = whole.text
		return entries, nil
	}, nil
}

// retiredByList reports whether a list retired a key about to be pinned, and may do so.
func retiredByList(t *Trust, e TrustEntry) bool {
	for _, team := range t.teams {
		signer := t.pins[team.Signer]
		if signer == nil || signer.list != "" || !slices.Contains(signer.entry.Roles, RoleRoot) || !signer.mayRetire(newPin(e)) {
			continue
		}
		if slices.ContainsFunc(team.Keys, func(old TrustEntry) bool { return old.KID == e.KID && old.Retired != "" }) {
			return true
		}
	}
	return false
}

func retiredKey(kid KID) error {
	return fault.New(fault.Denied, fault.KeyRevoked, "key %s was retired and cannot be trusted again", kid).
		WithHints(anotherKey())
}

func anotherKey() fault.Hint {
	return fault.SeeAll("key generate").Because("how its owner makes another key")
}

// Retire ends the trust in a key at a time, in the trust file at path or, if path is empty,
// wherever it is pinned. A key known only from a team's list is pinned here for this. The
// entry stays: log entries made before count. A key retired earlier stays so. Seen are the
// lanes known by now, for [TrustEntry.Seen]; nil if there are none.
func (t *Trust) Retire(path string, kid KID, at time.Time, seen map[string]string) error {
	paths := []string{path}
	if path == "" {
		paths = t.pinnedIn(kid)
	}
	var listed TrustEntry // entry of a key that only a team's list has
	if k, _ := t.Lookup(kid); path == "" && k.List() != "" {
		listed, paths = k.Entry(), []string{t.repoPath}
	}
	if len(paths) == 0 {
		return unknownKey(kid)
	}
	for _, path := range paths {
		err := t.change(path, func(entries []TrustEntry) ([]TrustEntry, error) {
			i := slices.IndexFunc(entries, func(e TrustEntry) bool { return e.KID == kid })
			if i < 0 && listed.KID == kid {
				i, entries = len(entries), append(entries, listed)
			}
			if i < 0 {
				return nil, unknownKey(kid)
			}
			if entries[i].Retired == "" {
				entries[i].Seen = seen
			}
			entries[i].Retired = Earlier(entries[i].Retired, handoff.FormatTime(at))
			return entries, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *Trust) pinnedIn(kid KID) []string {
	var paths []string
	has := func(e TrustEntry) bool { return e.KID == kid }
	if slices.ContainsFunc(t.repo, has) && t.repoPath != "" {
		paths = append(paths, t.repoPath)
	}
	if slices.ContainsFunc(t.user, has) && t.userPath != "" {
		paths = append(paths, t.userPath)
	}
	return paths
}

func unknownKey(kid KID) error {
	return fault.New(fault.NotFound, fault.NoKey, "key %s is not pinned there", kid).WithHints(fault.Run("githandoff", "trust", "list").Because("lists the keys that are"))
}

// Learn takes over a key's own statements, such as a revocation, from a fuller copy, wherever
// the key is pinned. A revoked key named only by a list is retired here.
func (t *Trust) Learn(fuller PublicKey, now time.Time) error {
	k, ok := t.Lookup(fuller.kid)
	if !ok {
		return nil
	}
	copies, err := k.pin.keys()
	if err != nil {
		return err
	}
	if slices.ContainsFunc(copies, func(c PublicKey) bool { return c.Holds(fuller) }) {
		return nil
	}
	if k.List() != "" {
		if fuller.Revoked(now) == nil || k.Entry().Retired != "" {
			return nil
		}
		return t.Retire("", fuller.kid, now, nil)
	}
	for _, path := range t.pinnedIn(fuller.kid) {
		err := t.change(path, func(entries []TrustEntry) ([]TrustEntry, error) {
			for i, e := range entries {
				if e.KID != fuller.kid {
					continue
				}
				old, err := e.parseKey()
				if err != nil {
					return nil, err
				}
				both, err := old.With(fuller)
				if err != nil {
					return nil, err
				}
				entries[i].Key = both.text
			}
			return entries, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Witness records, in the repository's list, the tips seen by the time some pinned keys were found
// invalid. A key known only from another list is pinned here for this, with its entry there.
func (t *Trust) Witness(kids []KID, seen map[string]string) error {
	if len(kids) == 0 || t.repoPath == "" {
		return nil
	}
	return t.change(t.repoPath, func(entries []TrustEntry) ([]TrustEntry, error) {
		for _, kid := range kids {
			i := slices.IndexFunc(entries, func(e TrustEntry) bool { return e.KID == kid })
			if i < 0 {
				k, ok := t.Lookup(kid)
				if !ok {
					return nil, unknownKey(kid)
				}
				i, entries = len(entries), append(entries, k.Entry())
				entries[i].Seen = nil
			}
			if len(entries[i].Seen) == 0 {
				entries[i].Seen = seen
			}
		}
		return entries, nil
	})
}

// change rewrites a trust file under its lock, so no concurrent write is lost.
func (t *Trust) change(path string, edit func([]TrustEntry) ([]TrustEntry, error)) error {
	dir := filepath.Dir(path)
	if err := private.MakeDir(dir); err != nil {
		return err
	}
	err := withLock(filepath.Join(dir, "trust.lock"), func() error {
		entries, err := readTrust(path)
		if err != nil {
			return err
		}
		before, err := EncodeEntries(entries)
		if err != nil {
			return err
		}
		if entries, err = edit(entries); err != nil {
			return err
		}
		after, err := EncodeEntries(entries)
		if err != nil {
			return err
		}
		if string(after) != string(before) {
			if err := durable.WriteFile(path, after, 0o600); err != nil {
				return err
			}
		}
		return t.shareReadable(path)
	})
	if err != nil {
		return err
	}
	return t.reload()
}

// shareReadable makes a file of the repository, and its directory, readable for the users who share
// the repository.
func (t *Trust) shareReadable(path string) error {
	if t.SharedRead == 0 || path == t.userPath {
		return nil
	}
	for _, name := range []string{filepath.Dir(path), path} {
		info, err := os.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		mode := info.Mode() | t.SharedRead
		if info.IsDir() {
			mode |= t.SharedRead >> 2 // whoever may read a directory must be able to enter it
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

// lockPatience is the longest wait for a list of keys locked by others.
const lockPatience = 10 * time.Second

// withLock runs do while no other process is in withLock for the same path.
func withLock(path string, do func() error) error {
	ctx, cancel := context.WithTimeout(context.Background(), lockPatience)
	defer cancel()
	unlock, err := private.Lock(ctx, path)
	if errors.Is(err, context.DeadlineExceeded) {
		return fault.New(fault.Unavailable, fault.Busy, "lock %s: another process holds it", path)
	}
	if err != nil {
		return err
	}
	defer unlock()
	return do()
}
