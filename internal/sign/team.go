package sign

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"githandoff/internal/durable"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/private"
)

const (
	teamSchema = "githandoff-team/2"

	// mergedSchema marks older lists: their signer merged in the entries of other roots.
	mergedSchema = "githandoff-team/1"

	// MaxTeam bounds the list of a team, in bytes.
	MaxTeam = 1 << 20

	// MaxTeamSig bounds the signature of such a list, in bytes.
	MaxTeamSig = 16 << 10

	// FarSerial is a serial that no team reaches by counting. The roots of a hub number their lists
	// together, but they do not count on from such a serial of another root: there might be no next
	// number.
	FarSerial = 1 << 32
)

// Team is the list of keys published by a root key for those who pinned it. The package
// comment describes it.
type Team struct {
	Schema string       `json:"schema"`
	Home   string       `json:"home"`   // repo id of the hub where the list is published
	Serial int64        `json:"serial"` // 1 for the first list, higher in each later one
	At     string       `json:"at"`     // time of the signature: RFC 3339, UTC
	Signer KID          `json:"signer"`
	Keys   []TrustEntry `json:"keys"`
}

// LastTeamFile is the file of the list published last at a hub. The lists of other roots are
// beside it, named by TeamFile. The signature of each is in a file of its name and TeamSigSuffix.
const (
	LastTeamFile  = "trust.json"
	TeamSigSuffix = ".sig"
)

// SeenPrefix begins the names of the directories beside the lists. Each is a tree of the tips in
// [TrustEntry.Seen], and its name ends with the object id of the tree.
const SeenPrefix = "seen-"

// TeamFile returns the file of a root's list while another root's is the last one.
func TeamFile(signer KID) string { return Hex(signer) + ".json" }

// IsTeamFile reports whether a file of this name is a list.
func IsTeamFile(name string) bool {
	digits, ok := strings.CutSuffix(name, ".json")
	if ok && name != LastTeamFile {
		_, ok = FromHex(digits)
	}
	return ok
}

// NewTeam makes the list after serial, of the keys its signer vouches for.
func NewTeam(home string, serial int64, at time.Time, signer KID, keys []TrustEntry) *Team {
	return &Team{Schema: teamSchema, Home: home, Serial: serial + 1, At: handoff.FormatTime(at), Signer: signer, Keys: keys}
}

// Own reports whether its signer vouches for the whole list. Lists of an older form took over
// entries of other roots.
func (t *Team) Own() bool { return t.Schema == teamSchema }

// Encode returns the one spelling of a list: sorted by KID, indented, a line feed at
// its end.
func (t *Team) Encode() ([]byte, error) {
	sorted := *t
	sorted.Keys = byKID(t.Keys)
	b, err := encodeList("the list of a team", sorted)
	if err == nil && len(b) > MaxTeam {
		err = fault.New(fault.Invalid, fault.TooLarge, "the list of keys has %d bytes, limit %d", len(b), MaxTeam)
	}
	if err != nil {
		return nil, err
	}
	return b, nil
}

// ParseTeam reads a list and requires its one spelling. Nothing is verified.
// Reasons: malformed, non_canonical, too_large.
func ParseTeam(b []byte) (*Team, error) {
	if len(b) > MaxTeam {
		return nil, fault.New(fault.Invalid, fault.TooLarge, "the list of keys has %d bytes, limit %d", len(b), MaxTeam)
	}
	t := &Team{}
	if err := parseList(b, t, &t.Schema, teamSchema, mergedSchema); err != nil {
		return nil, err
	}
	if _, err := handoff.ParseTime(t.At); err != nil || t.Serial < 1 || t.Home == "" || CheckKID(t.Signer) != nil {
		return nil, malformedTrust(errors.New("it names no home, serial, time or signer"))
	}
	if err := checkEntries(t.Keys); err != nil {
		return nil, err
	}
	again, err := t.Encode()
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(again, b) {
		return nil, fault.New(fault.Invalid, fault.NonCanonical, "the list of keys is not in canonical form")
	}
	return t, nil
}

// OpenTeam verifies a list: one signature over exactly those bytes, by a key this repository
// or this user pinned as a root, valid when it signed and now. No list makes a key a signer of
// lists.
//
// Reasons besides those of Verify and ParseTeam: untrusted_root,
// signature_invalid (it names another signer).
func (t *Trust) OpenTeam(raw, armored []byte, now time.Time) (*Team, error) {
	if len(raw) > MaxTeam {
		return nil, fault.New(fault.Invalid, fault.TooLarge, "the list of keys has %d bytes, limit %d", len(raw), MaxTeam)
	}
	key, err := t.Verify(NamespaceTrust, raw, armored)
	if err != nil {
		return nil, err
	}
	team, err := ParseTeam(raw)
	if err != nil {
		return nil, err
	}
	if team.Signer != key.KID() {
		return nil, fault.New(fault.Denied, fault.SignatureInvalid, "the list of keys names the key %s and is signed by %s", team.Signer, key.KID())
	}
	if !key.HasRole(RoleRoot) || key.List() != "" {
		return nil, fault.New(fault.Denied, fault.UntrustedRoot, "the list of keys is signed by %s, which is not pinned here as a root", key.KID()).
			WithHints(fault.Fact("a person whose key is a root here decides whether that one is a root as well"))
	}
	at, _ := handoff.ParseTime(team.At) // ParseTeam has parsed the time
	for _, when := range []time.Time{at, now} {
		if err := key.ValidAt(when); err != nil {
			return nil, err
		}
	}
	return team, nil
}

// Adopt remembers a list returned by OpenTeam, beside the repository's trust file, and lets
// its keys count. A key missing from it, but in an earlier list of the same signer and home,
// is retired at the time of this one. False: this very list, or its content, was adopted
// before.
//
// Reason: rollback, for a serial lower than one seen before, or the same with other content.
func (t *Trust) Adopt(team *Team) (bool, error) {
	if t.repoPath == "" {
		return false, errors.New("adopt a list of keys: no repository to remember it in")
	}
	path := teamPath(t.teamDir(), team.Home, team.Signer)
	if err := private.MakeDir(filepath.Dir(path)); err != nil {
		return false, err
	}
	changed := false
	err := withLock(filepath.Join(filepath.Dir(path), "team.lock"), func() error {
		old, err := t.Team(team.Home, team.Signer)
		if err != nil {
			return err
		}
		next := *team
		if old != nil {
			next.Keys = succeed(old.Keys, team.Keys, team.At)
			if err := old.follows(team, next.Keys); err != nil {
				return err
			}
			if old.Serial == team.Serial {
				return nil
			}
		}
		b, err := next.Encode()
		if err != nil {
			return err
		}
		changed = true
		if err := durable.WriteFile(path, b, 0o600); err != nil {
			return err
		}
		if err := forgetMerged(t.teamDir(), team, t.owners...); err != nil {
			return err
		}
		return t.shareReadable(path)
	})
	if err != nil || !changed {
		return false, err
	}
	return true, t.reload()
}

// follows says why team must not come after the adopted list t; keys are team's, and those it
// dropped from t.
func (t *Team) follows(team *Team, keys []TrustEntry) error {
	same := *team
	same.Keys = keys
	switch {
	case team.Serial < t.Serial:
		return fault.New(fault.Denied, fault.Rollback, "%s has the list of keys with the serial %d; this clone has seen %d", t.Home, team.Serial, t.Serial).
			WithHints(fault.Fact("a person with a root key publishes it again, with githandoff trust export --to"))
	case team.Serial > t.Serial:
		return nil
	}
	// The copy of this clone also has the keys left out before.
	mine, err := t.Encode()
	if err != nil {
		return err
	}
	theirs, err := same.Encode()
	if err != nil {
		return err
	}
	if !bytes.Equal(mine, theirs) {
		return fault.New(fault.Denied, fault.Rollback, "%s has two lists of keys with the serial %d", t.Home, t.Serial).
			WithHints(fault.Fact("a person with a root key publishes it again, with githandoff trust export --to"))
	}
	return nil
}

// succeed adds the old entries missing from the new ones, retired. An entry retired before
// stays so.
func succeed(old, entries []TrustEntry, at string) []TrustEntry {
	all := map[KID]TrustEntry{}
	for _, e := range entries {
		all[e.KID] = e
	}
	for _, e := range old {
		now, kept := all[e.KID]
		switch {
		case !kept:
			e.Retired = Earlier(e.Retired, at)
			all[e.KID] = e
		case e.Retired != "":
			now.Retired = Earlier(e.Retired, now.Retired)
			all[e.KID] = now
		}
	}
	return byKID(slices.Collect(maps.Values(all)))
}

// Team returns the list of a signer adopted last at a home; nil if there is none.
func (t *Trust) Team(home string, signer KID) (*Team, error) {
	if t.repoPath == "" {
		return nil, nil
	}
	for _, path := range []string{teamPath(t.teamDir(), home, signer), mergedPath(t.teamDir(), home)} {
		team, err := readTeam(path, t.owners...)
		if errors.Is(err, fs.ErrNotExist) || err == nil && team.Signer != signer {
			continue
		}
		return team, err
	}
	return nil, nil
}

// teamPath returns the path of a root's list at a home. The file name consists of hashes of the
// two.
func teamPath(dir, home string, signer KID) string {
	return filepath.Join(dir, hashName(home)+"-"+hashName(signer)+".json")
}

// mergedPath returns where the one list of a home was, before each root had one.
func mergedPath(dir, home string) string {
	return filepath.Join(dir, hashName(home)+".json")
}

// forgetMerged removes the list of the older form, once replaced by one of the same signer.
func forgetMerged(dir string, team *Team, owners ...uint32) error {
	path := mergedPath(dir, team.Home)
	old, err := readTeam(path, owners...)
	if errors.Is(err, fs.ErrNotExist) || err == nil && old.Signer != team.Signer {
		return nil
	}
	if err != nil {
		return err
	}
	return os.Remove(path)
}

func hashName(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:6])
}
