package sign

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"githandoff/internal/durable"
	"githandoff/internal/fault"
	"githandoff/internal/private"
)

// Trust is the list of keys that this repository and this user pinned. It is safe for
// concurrent reading.
type Trust struct {
	repoPath, userPath string
	repo, user         []TrustEntry
	teams              []*Team // adopted lists
	pins               map[KID]*pin
	owners             []uint32 // whose the repository's files must be; nil: ours

	// Readers are the bits of a file's mode that let others read what is written
	// for the repository, where several users share it. Nobody else writes it.
	Readers fs.FileMode
}

// UserTrustPath is $XDG_CONFIG_HOME/githandoff/trust.json, by default below
// ~/.config.
func UserTrustPath(getenv func(string) string) (string, error) {
	dir, err := private.Config(getenv)
	return filepath.Join(dir, "trust.json"), err
}

// LoadTrust reads the trust file of a repository and that of the user. A path
// may be empty, a file missing: nothing is pinned there.
func LoadTrust(repoPath, userPath string) (*Trust, error) {
	t := &Trust{repoPath: repoPath, userPath: userPath}
	if err := t.reload(); err != nil {
		return nil, err
	}
	return t, nil
}

// NewTrust makes a Trust of entries that are in no file.
func NewTrust(entries ...TrustEntry) (*Trust, error) {
	b, err := EncodeEntries(entries)
	if err != nil {
		return nil, err
	}
	t := &Trust{}
	if t.repo, err = ParseEntries(b); err != nil {
		return nil, err
	}
	t.merge()
	return t, nil
}

func (t *Trust) reload() (err error) {
	if t.repo, err = readTrust(t.repoPath, t.owners...); err != nil {
		return err
	}
	if t.user, err = readTrust(t.userPath); err != nil {
		return err
	}
	t.teams = nil
	if t.repoPath != "" {
		if t.teams, err = readTeams(t.teamDir(), t.owners...); err != nil {
			return err
		}
	}
	t.merge()
	return nil
}

func readTrust(path string, owners ...uint32) ([]TrustEntry, error) {
	if path == "" {
		return nil, nil
	}
	b, err := private.Read(path, 0o022, maxTrust, owners...)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read trust: %w", err)
	}
	entries, err := ParseEntries(b)
	if err != nil {
		return nil, fault.New(fault.CodeOf(err), fault.Malformed, "%s: %w", path, err).
			WithHints(fault.Fact("restore that file from a copy; it lists the trusted keys"))
	}
	return entries, nil
}

func (t *Trust) merge() {
	t.pins = make(map[KID]*pin, len(t.user)+len(t.repo))
	for _, e := range t.user {
		t.pins[e.KID] = newPin(e)
	}
	for _, e := range t.repo {
		if p, both := t.pins[e.KID]; both {
			p.narrow(e)
		} else {
			t.pins[e.KID] = newPin(e)
		}
	}
	t.joinTeams(maps.Clone(t.pins))
}

func newPin(e TrustEntry) *pin {
	p := &pin{entry: e, texts: []string{e.Key}, seen: []map[string]string{e.Seen}}
	if len(e.MaxScope) > 0 {
		p.limits = [][]string{e.MaxScope}
	}
	return p
}

// narrow keeps the part of the user's entry that the repository's entry has too. The
// meaning of a scope is not known here, so both lists of limits bind.
func (p *pin) narrow(repo TrustEntry) {
	e := &p.entry
	e.Agents = intersect(e.Agents, repo.Agents)
	e.Roles = intersect(e.Roles, repo.Roles)
	e.Principals = intersect(e.Principals, repo.Principals)
	p.shorten(repo)
	p.seen = append(p.seen, repo.Seen)
	if repo.Key != e.Key {
		p.texts = append(p.texts, repo.Key)
	}
	if len(repo.MaxScope) > 0 {
		p.limits = append(p.limits, repo.MaxScope)
	}
	if e.MaxScope == nil {
		e.MaxScope = repo.MaxScope
	}
}

// shorten leaves of the times of an entry what another says too.
func (p *pin) shorten(other TrustEntry) {
	e := &p.entry
	e.From = pick(e.From, other.From, time.Time.After)
	e.Until = pick(e.Until, other.Until, time.Time.Before)
	e.Retired = pick(e.Retired, other.Retired, time.Time.Before)
}

// pick returns the time for which better says so; an empty one never is.
func pick(a, b string, better func(time.Time, time.Time) bool) string {
	if a == "" || b == "" {
		return a + b
	}
	ta, _ := parseTime(a)
	tb, _ := parseTime(b)
	if better(tb, ta) {
		return b
	}
	return a
}

// Entries lists the pinned keys as they take effect, sorted by KID.
func (t *Trust) Entries() []TrustEntry {
	entries := make([]TrustEntry, 0, len(t.pins))
	for _, p := range t.pins {
		entries = append(entries, p.entry)
	}
	slices.SortFunc(entries, func(a, b TrustEntry) int { return strings.Compare(a.KID, b.KID) })
	return entries
}

// Pinned lists the keys that this repository or this user pinned, without those
// that only a team's list has, sorted by KID.
func (t *Trust) Pinned() []Key {
	var keys []Key
	for _, e := range t.Entries() {
		if k, _ := t.Lookup(e.KID); k.List() == "" {
			keys = append(keys, k)
		}
	}
	return keys
}

// Lookup returns the pinned key of that name.
func (t *Trust) Lookup(kid KID) (Key, bool) {
	p, ok := t.pins[kid]
	if !ok {
		return Key{}, false
	}
	return Key{pin: p, issuer: kid}, true
}

// Verify finds the pinned key that made a signature and verifies it. It does not decide
// whether the key is entitled: ask the Key, with MayAct or ValidAt, about the time of the
// record, and about the present time as well if the handoff is open.
// Reasons: unsigned, signature_invalid, untrusted_key, and by the key's own packets at the
// time in the signature: key_expired, key_revoked, not_yet_valid.
func (t *Trust) Verify(namespace string, message, armored []byte) (Key, error) {
	s, err := parseSignature(armored)
	if err != nil {
		return Key{}, err
	}
	k, err := t.signer(s.issuer())
	if err != nil {
		return Key{}, err
	}
	if err := k.verify(s, namespace, message); err != nil {
		return Key{}, err
	}
	return k, nil
}

// signer finds the key that an issuer is, or is a subkey of.
func (t *Trust) signer(issuer KID) (Key, error) {
	if k, ok := t.Lookup(issuer); ok {
		return k, nil
	}
	if strings.HasPrefix(issuer, sshPrefix) {
		return Key{}, notPinned(issuer)
	}
	for _, e := range t.Entries() {
		p := t.pins[e.KID]
		copies, err := p.keys()
		if err != nil || copies[0].pgp == nil {
			continue
		}
		for _, sub := range copies[0].pgp.Subkeys {
			if openpgpKID(sub.PublicKey.Fingerprint) == issuer {
				return Key{pin: p, issuer: issuer}, nil
			}
		}
	}
	return Key{}, notPinned(issuer)
}

// Add pins a key in the trust file at path, or widens what is pinned of it
// there. A key that was retired, by somebody who may, or that revoked itself, does
// not come back: what it signed in between would become valid.
func (t *Trust) Add(path string, e TrustEntry) error {
	public, err := e.parseKey()
	if err != nil {
		return err
	}
	e.Key = public.text
	if err := e.check(); err != nil {
		return fault.New(fault.Usage, fault.Malformed, "pin key %s: %w", e.KID, err)
	}
	if t.retiredByList(e) {
		return retiredKey(e.KID)
	}
	return t.change(path, func(entries []TrustEntry) ([]TrustEntry, error) {
		i := slices.IndexFunc(entries, func(old TrustEntry) bool { return old.KID == e.KID })
		if i < 0 {
			return append(entries, e.widen(TrustEntry{})), nil
		}
		old := entries[i]
		if old.Retired != "" || revokedEarlier(old, public) {
			return nil, retiredKey(e.KID)
		}
		entries[i] = e.widen(old)
		return entries, nil
	})
}

func retiredKey(kid KID) error {
	return fault.New(fault.Denied, fault.KeyRevoked, "key %s was retired and cannot be trusted again", kid).
		WithHints(fault.See("key generate").Because("its owner makes another key"))
}

// revokedEarlier: the pinned copy carries a revocation that the new one lacks.
func revokedEarlier(old TrustEntry, public PublicKey) bool {
	before, err := old.parseKey()
	return err == nil && before.pgp != nil && len(before.pgp.Revocations) > len(public.pgp.Revocations)
}

// Retire ends the trust in a key at a time, in the trust file at path, or with
// an empty path wherever it is pinned; one that only a team's list has is pinned
// here for that. The entry stays: log entries made before count. A key that was
// retired earlier stays so. Seen are the lanes that are known by now, for
// [TrustEntry.Seen]; nil where there are none.
func (t *Trust) Retire(path string, kid KID, at time.Time, seen map[string]string) error {
	paths := []string{path}
	if path == "" {
		paths = t.pinnedIn(kid)
	}
	var listed TrustEntry // what to write down of a key that is in no file
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
			entries[i].Retired = pick(entries[i].Retired, stamp(at), time.Time.Before)
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

// change reads and rewrites a trust file under its lock, so that no concurrent write is lost.
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
