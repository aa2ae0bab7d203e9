package sign

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/gitobj"
	"githandoff/internal/handoff"
)

// Roles of a key.
const (
	RoleSender    = "sender"
	RoleRecipient = "recipient"
	RoleRoot      = "root"
)

const (
	trustSchema = "githandoff-trust/1"
	maxTrust    = 8 << 20 // size of a trust file in bytes
)

// TrustEntry is one pinned key. Times are RFC 3339; an empty one sets no limit.
type TrustEntry struct {
	KID        KID      `json:"kid"`
	Key        string   `json:"key"` // text of the key, as from PublicKey.Text
	Agents     []string `json:"agents,omitempty"`
	Roles      []string `json:"roles,omitempty"`
	Principals []string `json:"principals,omitempty"`
	MaxScope   []string `json:"max_scope,omitempty"` // empty for no limit
	From       string   `json:"from,omitempty"`      // the key is valid from this time on
	Until      string   `json:"until,omitempty"`     // the key is valid before this time
	Retired    string   `json:"retired,omitempty"`   // time of removal; earlier signatures stay valid
	Comment    string   `json:"comment,omitempty"`

	// Seen are the tips of the lanes that were known when the key was retired. For the name of each
	// namespace it has the object id of a tree of tips. An entry signed by the key that is not in
	// these lanes never counts.
	Seen map[string]string `json:"seen,omitempty"`
}

type trustFile struct {
	Schema string       `json:"schema"`
	Keys   []TrustEntry `json:"keys"`
}

// parseEntries reads the JSON of a trust file. Unknown, doubled and
// case-variant members are refused, and so are two entries for one key.
func parseEntries(b []byte) ([]TrustEntry, error) {
	if len(b) > maxTrust {
		return nil, fault.New(fault.Invalid, fault.TooLarge, "trust list of %d bytes, limit %d", len(b), maxTrust)
	}
	var file trustFile
	if err := parseList(b, &file, &file.Schema, trustSchema); err != nil {
		return nil, err
	}
	if err := checkEntries(file.Keys); err != nil {
		return nil, err
	}
	return file.Keys, nil
}

func checkEntries(entries []TrustEntry) error {
	seen := map[KID]bool{}
	for _, e := range entries {
		if seen[e.KID] {
			return malformedTrust(fmt.Errorf("key %s is listed twice", e.KID))
		}
		seen[e.KID] = true
		if err := e.check(); err != nil {
			return malformedTrust(fmt.Errorf("key %s: %w", e.KID, err))
		}
	}
	return nil
}

// parseList reads a list of one of the known schemas into dst, which has the schema. A list that does not fit is
// refused for its schema first: a list of another version has other members.
func parseList(b []byte, dst any, schema *string, known ...string) error {
	err := handoff.ParseStrict(b, dst)
	if err != nil {
		var head struct {
			Schema string `json:"schema"`
		}
		if json.Unmarshal(b, &head) != nil {
			return malformedTrust(err)
		}
		*schema = head.Schema
	}
	if !slices.Contains(known, *schema) {
		err = fmt.Errorf("schema %q is %w, which reads %q", *schema, handoff.ErrUnknown, known[0])
	}
	if err != nil {
		return malformedTrust(err)
	}
	return nil
}

func malformedTrust(err error) error {
	return fault.New(fault.Invalid, fault.Malformed, "read a trust list: %w", err)
}

// EncodeEntries spells a trust file in its one form: sorted by KID, indented, with a final
// line feed.
func EncodeEntries(entries []TrustEntry) ([]byte, error) {
	return encodeList("a trust list", trustFile{Schema: trustSchema, Keys: byKID(entries)})
}

// byKID returns a sorted copy of entries. It is never nil.
func byKID(entries []TrustEntry) []TrustEntry {
	sorted := append([]TrustEntry{}, entries...)
	slices.SortFunc(sorted, func(a, b TrustEntry) int { return strings.Compare(a.KID, b.KID) })
	return sorted
}

func encodeList(what string, list any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(list); err != nil {
		return nil, fmt.Errorf("write %s: %w", what, err)
	}
	return out.Bytes(), nil
}

func (e TrustEntry) check() error {
	if err := CheckKID(e.KID); err != nil {
		return err
	}
	for _, role := range e.Roles {
		if role != RoleSender && role != RoleRecipient && role != RoleRoot {
			return fmt.Errorf("unknown role %q: want %s, %s or %s", role, RoleSender, RoleRecipient, RoleRoot)
		}
	}
	for _, agent := range e.Agents {
		if err := handoff.CheckAgent(agent); err != nil {
			return err
		}
	}
	for _, s := range slices.Concat(e.Principals, e.MaxScope) {
		if s == "" || strings.ContainsFunc(s, notPlain) {
			return fmt.Errorf("%q: want printable ASCII without spaces", s)
		}
	}
	for _, principal := range e.Principals {
		if strings.ContainsAny(principal, sshPatterns) {
			return fmt.Errorf("principal %q: want none of %s in it", principal, sshPatterns)
		}
	}
	for ns, tree := range e.Seen {
		if ns != "local" && !handoff.IsHex(ns, 12) || !gitobj.IsID(tree) {
			return fmt.Errorf("seen %q: want the name of a namespace and a tree", ns)
		}
	}
	for _, at := range []string{e.From, e.Until, e.Retired} {
		if _, err := parseTime(at); err != nil {
			return err
		}
	}
	return nil
}

// notPlain and sshPatterns are characters unsafe in a line of allowed_signers: they could
// change its meaning.
func notPlain(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '#' }

const sshPatterns = "*?!,"

// parseTime takes "" as the zero time.
func parseTime(s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{}, fmt.Errorf("time %q is not RFC 3339", s)
	}
	return t, nil
}

// parseKey returns the key of an entry, which must be the one it names.
func (e TrustEntry) parseKey() (PublicKey, error) {
	public, err := ParsePublic([]byte(e.Key))
	if err != nil {
		return PublicKey{}, fmt.Errorf("pinned key %s: %w", e.KID, err)
	}
	if public.kid != e.KID {
		return PublicKey{}, fault.New(fault.Invalid, fault.Malformed, "the entry of key %s holds key %s", e.KID, public.kid)
	}
	return public, nil
}

// widen adds e to the entry pinned before: lists grow, and a limit or a comment in e replaces
// the old one. An absent limit in e keeps the old limit.
func (e TrustEntry) widen(old TrustEntry) TrustEntry {
	e.Agents = union(old.Agents, e.Agents)
	e.Roles = union(old.Roles, e.Roles)
	e.Principals = union(old.Principals, e.Principals)
	if len(e.MaxScope) == 0 {
		e.MaxScope = old.MaxScope
	}
	e.From, e.Until, e.Comment = cmp.Or(e.From, old.From), cmp.Or(e.Until, old.Until), cmp.Or(e.Comment, old.Comment)
	return e
}

// Mixes reports whether adding e to the entry pinned before gives the key rights that neither
// gives: a role under a name, or another time for it. A role of root is given for all names.
func (e TrustEntry) Mixes(old TrustEntry) bool {
	all := e.widen(old)
	moved := all.From != old.From || all.Until != old.Until
	for _, agent := range all.Agents {
		for _, role := range all.Roles {
			before, now := old.gives(role, agent), e.gives(role, agent)
			if role != RoleRoot && !now && (!before || moved) {
				return true
			}
		}
	}
	return false
}

// IsFor reports whether the entry is for this agent, or for the person with this mail address.
func (e TrustEntry) IsFor(name string) bool {
	return slices.Contains(e.Agents, name) || slices.Contains(e.Principals, "user:"+name)
}

// gives reports whether the entry names both.
func (e TrustEntry) gives(role, agent string) bool {
	return slices.Contains(e.Roles, role) && slices.Contains(e.Agents, agent)
}

func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

func intersect(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return !slices.Contains(b, s) })
}
