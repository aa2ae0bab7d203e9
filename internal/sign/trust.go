package sign

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/private"
)

// Trust is the list of keys pinned by this repository and this user. It is safe for concurrent
// reading.
type Trust struct {
	repoPath, userPath string
	repo, user         []TrustEntry
	teams              []*Team // adopted lists of teams
	pins               map[KID]*pin
	owners             []uint32 // allowed owners of the repository's files; nil for this user

	// SharedRead has the mode bits that let others read the repository's files if several users
	// share it. Nobody else writes them.
	SharedRead fs.FileMode
}

// UserTrustPath returns $XDG_CONFIG_HOME/githandoff/trust.json, by default below
// ~/.config.
func UserTrustPath(getenv func(string) string) (string, error) {
	dir, err := private.Dir(getenv, private.Config)
	return filepath.Join(dir, "trust.json"), err
}

// LoadTrust reads the trust files of a repository and a user. A path may be empty, a file
// missing: nothing is pinned there.
func LoadTrust(repoPath, userPath string) (*Trust, error) {
	t := &Trust{repoPath: repoPath, userPath: userPath}
	if err := t.reload(); err != nil {
		return nil, err
	}
	return t, nil
}

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
			WithHints(fault.Run("git", "--git-dir="+gitDir, "config", "core.sharedRepository", "group").Because("lets pushers read it; then githandoff trust add rewrites it"))
	}
	if err != nil {
		return nil, err
	}
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
	entries, err := parseEntries(b)
	if err != nil {
		f := fault.New(fault.CodeOf(err), fault.Malformed, "%s: %w", path, err)
		if len(f.Hints) == 0 {
			f = f.WithHints(fault.Fact("restore that file from a copy; it lists the trusted keys"))
		}
		return nil, f
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
	if len(t.teams) > 0 {
		t.joinTeams()
	}
}

func newPin(e TrustEntry) *pin {
	p := &pin{entry: e, texts: []string{e.Key}, seen: []map[string]string{e.Seen}}
	if len(e.MaxScope) > 0 {
		p.limits = [][]string{e.MaxScope}
	}
	return p
}

// narrow keeps the part of the user's entry that the repository's entry has too. This package does
// not know the meaning of a scope, so both lists of limits bind.
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

// Earlier returns the earlier of two times of an entry. An empty time is no limit.
func Earlier(a, b string) string { return pick(a, b, time.Time.Before) }

// shorten limits the times of an entry to those of other as well.
func (p *pin) shorten(other TrustEntry) {
	e := &p.entry
	e.From = pick(e.From, other.From, time.Time.After)
	e.Until = Earlier(e.Until, other.Until)
	e.Retired = Earlier(e.Retired, other.Retired)
}

// pick returns the better of two times; an empty one never is.
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
	return byKID(entries)
}

// Pinned lists the keys pinned by this repository or this user, sorted by KID, without those
// known only from a team's list.
func (t *Trust) Pinned() []Key {
	return slices.DeleteFunc(KeysOf(t), func(k Key) bool { return k.List() != "" })
}

// KeysOf lists the pinned keys, sorted by KID.
func KeysOf(t *Trust) []Key {
	keys := make([]Key, 0, len(t.pins))
	for _, kid := range slices.Sorted(maps.Keys(t.pins)) {
		keys = append(keys, Key{pin: t.pins[kid], issuer: kid})
	}
	return keys
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

// HasTeams reports whether a list of a team was adopted.
func (t *Trust) HasTeams() bool { return len(t.teams) > 0 }

// HasTeamAt reports whether this repository follows a team at a home: it adopted a list there, whose signer is
// a root here now.
func HasTeamAt(t *Trust, is func(home string) bool, now time.Time) bool {
	return slices.ContainsFunc(t.teams, func(team *Team) bool {
		key, ok := t.Lookup(team.Signer)
		return ok && is(team.Home) && key.MayAct(RoleRoot, "", now) == nil
	})
}

// ListedIn returns the adopted lists that still let others trust a key.
func ListedIn(t *Trust, kid KID) (lists []*Team) {
	for _, team := range t.teams {
		if slices.ContainsFunc(team.Keys, func(e TrustEntry) bool { return e.KID == kid && e.Retired == "" }) {
			lists = append(lists, team)
		}
	}
	return lists
}

// Lookup returns a pinned key.
func (t *Trust) Lookup(kid KID) (Key, bool) {
	p, ok := t.pins[kid]
	if !ok {
		return Key{}, false
	}
	return Key{pin: p, issuer: kid}, true
}

// Verify verifies a signature and returns the pinned key behind it. It does not decide whether
// the key is entitled: ask the Key, with MayAct or ValidAt, about the time of the record, and
// about the present time as well if the handoff is open. Reasons: unsigned, signature_invalid,
// untrusted_key, and by the key's own packets at the time in the signature: key_expired,
// key_revoked, not_yet_valid.
func (t *Trust) Verify(namespace string, message, armored []byte) (Key, error) {
	s, err := parseSignature(armored)
	if err != nil {
		return Key{}, err
	}
	k, err := t.keyOf(s.issuer())
	if err != nil {
		return Key{}, err
	}
	copies, err := k.pin.keys()
	if err != nil {
		return Key{}, err
	}
	for _, public := range copies {
		if err := public.verify(s, namespace, message); err != nil {
			return Key{}, err
		}
	}
	return k, nil
}

// keyOf finds the pinned key of the issuer of a signature: the key itself or its subkey.
func (t *Trust) keyOf(issuer KID) (Key, error) {
	if k, ok := t.Lookup(issuer); ok {
		return k, nil
	}
	if strings.HasPrefix(issuer, sshPrefix) {
		return Key{}, notPinned(issuer)
	}
	for _, k := range KeysOf(t) {
		if !k.pin.mayHave(isSubkey(issuer)) {
			continue
		}
		copies, err := k.pin.keys()
		if err != nil || copies[0].pgp == nil {
			continue
		}
		for _, sub := range copies[0].pgp.Subkeys {
			if openpgpKID(sub.PublicKey.Fingerprint) == issuer {
				return Key{pin: k.pin, issuer: issuer}, nil
			}
		}
	}
	return Key{}, notPinned(issuer)
}

// Digest stands for the trust files and the adopted lists: if it is the same, every signature
// and every right is judged the same way.
func (t *Trust) Digest() (string, error) {
	b, err := json.Marshal(struct {
		Repo, User []TrustEntry
		Teams      []*Team
	}{t.repo, t.user, t.teams})
	if err != nil {
		return "", fmt.Errorf("digest of the trust files: %w", err)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}

// NearestAgent reports whether an agent trusted here has this name, and else the name spelled
// most nearly so.
func NearestAgent(trust *Trust, name string) (known bool, near string) {
	var all []string
	for _, e := range trust.Entries() {
		if slices.Contains(e.Agents, name) {
			return true, ""
		}
		all = append(all, e.Agents...)
	}
	return false, fault.Nearest(name, all)
}

// Unwitnessed lists the keys no longer valid without a record of the tips seen by then in this
// repository's list: retired from elsewhere, by another list, or by a time now past, or revoked
// by its owner. For a key known only from a team's list, the record there is enough.
func (t *Trust) Unwitnessed(now time.Time) []KID {
	var kids []KID
	for _, k := range KeysOf(t) {
		e := k.Entry()
		until, _ := parseTime(e.Until)
		over := e.Retired != "" || !until.IsZero() && !now.Before(until) ||
			k.pin.mayHave(isRevocation) && fault.Is(k.Revoked(now), fault.KeyRevoked)
		noted := slices.ContainsFunc(t.repo, func(own TrustEntry) bool { return own.KID == e.KID && len(own.Seen) > 0 })
		if over && !noted && (k.List() == "" || len(k.Seen()) == 0) {
			kids = append(kids, e.KID)
		}
	}
	return kids
}

// readTeams reads all adopted lists, in the order of their file names.
func readTeams(dir string, owners ...uint32) ([]*Team, error) {
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read trust: %w", err)
	}
	var teams []*Team
	for _, f := range files {
		if filepath.Ext(f.Name()) != ".json" || strings.HasPrefix(f.Name(), ".") {
			continue
		}
		team, err := readTeam(filepath.Join(dir, f.Name()), owners...)
		if err != nil {
			return nil, err
		}
		teams = append(teams, team)
	}
	return teams, nil
}

func readTeam(path string, owners ...uint32) (*Team, error) {
	b, err := private.Read(path, 0o022, MaxTeam, owners...)
	if err != nil {
		return nil, fmt.Errorf("read trust: %w", err)
	}
	team, err := ParseTeam(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return team, nil
}

func (t *Trust) teamDir() string { return filepath.Join(filepath.Dir(t.repoPath), "team") }
