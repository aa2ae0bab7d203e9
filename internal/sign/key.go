package sign

import (
	"bytes"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
)

// Key is a pinned key with its roles and limits, as both trust files give them. The zero
// value may do nothing.
type Key struct {
	pin    *pin
	issuer KID // key of the signature that was looked up; may be a subkey

	grace time.Duration // see [Key.Late]
}

// pin is one key of a Trust. Its text is parsed on first use, because most commands need only one
// or two of the pinned keys.
type pin struct {
	entry  TrustEntry
	limits [][]string
	texts  []string            // text of the key in each file, if they differ
	seen   []map[string]string // tips seen, one map for each list that has the key; see TrustEntry.Seen
	list   string              // home of the team's list with the key; "" if the key is pinned here

	once   sync.Once
	copies []PublicKey
	err    error
}

// keys returns the copies of the key, at least one. If the files differ, one may have a revocation
// or an end that the other lacks, so all copies must agree to any use of the key. A nil pin has
// none.
func (p *pin) keys() ([]PublicKey, error) {
	if p == nil {
		return nil, notPinned("")
	}
	p.once.Do(func() {
		for _, text := range p.texts {
			public, err := TrustEntry{KID: p.entry.KID, Key: text}.parseKey()
			if err != nil {
				p.copies, p.err = nil, err
				return
			}
			p.copies = append(p.copies, public)
		}
	})
	return p.copies, p.err
}

// mayHave reports whether a copy of the key has a packet like this. It parses no key and checks no signature:
// a command asks it of every key that is pinned.
func (p *pin) mayHave(is func(tag byte, one []byte) bool) bool {
	return slices.ContainsFunc(p.texts, func(text string) bool {
		raw, err := pgpPublicArmor.unwrap([]byte(text))
		if err != nil {
			return strings.Contains(text, pgpPublicArmor.begin()[:10]) // armor in another spelling may have it
		}
		for tag, one := range packets(raw) {
			if is(tag, one) {
				return true
			}
		}
		return false
	})
}

// isRevocation reports whether a packet of a key revokes the key.
func isRevocation(tag byte, one []byte) bool {
	_, header, _, _ := packetHeader(one)
	return tag == signatureTag && len(one) > header+1 && one[header+1] == byte(packet.SigTypeKeyRevocation)
}

// isSubkey tells the packet of a subkey by the name of that subkey.
func isSubkey(name KID) func(tag byte, one []byte) bool {
	return func(tag byte, one []byte) bool {
		if tag != subkeyTag {
			return false
		}
		p, err := packet.Read(bytes.NewReader(one))
		sub, ok := p.(*packet.PublicKey)
		return err == nil && ok && openpgpKID(sub.Fingerprint) == name
	}
}

// KID names the primary key.
func (k Key) KID() KID { return k.Entry().KID }

// Primary reports whether it is the key itself, and not one of its subkeys.
func (k Key) Primary() bool { return k.pin != nil && k.issuer == k.KID() }

// Public returns the key itself. An error means a damaged trust file.
func (k Key) Public() (PublicKey, error) {
	copies, err := k.pin.keys()
	if err != nil {
		return PublicKey{}, err
	}
	return copies[0], nil
}

// Entry returns the entry of the key. If both trust files have one, lists are the common
// members, and times the narrower ones; use Limits for its scope.
func (k Key) Entry() TrustEntry {
	if k.pin == nil {
		return TrustEntry{}
	}
	return k.pin.entry
}

// Seen returns the trees of tips recorded when the key was retired, by any list; nil if none were.
func (k Key) Seen() []string {
	if k.pin == nil {
		return nil
	}
	var trees []string
	for _, seen := range k.pin.seen {
		trees = slices.AppendSeq(trees, maps.Values(seen))
	}
	return trees
}

// SeenAt returns the tree of the tips seen in one namespace; "" if none is known.
func (k Key) SeenAt(namespace string) string {
	if k.pin == nil {
		return ""
	}
	for _, seen := range slices.Backward(k.pin.seen) {
		if seen[namespace] != "" {
			return seen[namespace]
		}
	}
	return ""
}

// Limits returns the key's max_scope lists: a scope must be within each of them. None means no
// limit.
func (k Key) Limits() [][]string {
	if k.pin == nil {
		return nil
	}
	return k.pin.limits
}

// Revoked returns an error if the owner of the key revoked it, as far as a pinned copy knows.
// Reason: key_revoked.
func (k Key) Revoked(at time.Time) error {
	copies, _ := k.pin.keys() // a use of the key reports the error
	for _, public := range copies {
		if err := public.Revoked(at); err != nil {
			return err
		}
	}
	return nil
}

// Repeats reports whether the text of a key says nothing new: a copy that is pinned here has the same text, and its
// owner has not revoked it.
func (k Key) Repeats(text []byte) bool {
	return k.pin != nil && slices.Contains(k.pin.texts, string(text)) && !k.pin.mayHave(isRevocation)
}

// List returns the repo id of a hub if its team's list alone has the key; "" if this repository or
// this user pinned it.
func (k Key) List() string {
	if k.pin == nil {
		return ""
	}
	return k.pin.list
}

// HasRole reports whether the key has the role, at whatever time.
func (k Key) HasRole(role string) bool { return slices.Contains(k.Entry().Roles, role) }

// SpeaksFor reports whether the key may issue tokens on behalf of a principal.
func (k Key) SpeaksFor(principal string) bool {
	return k.HasRole(RoleRoot) && slices.Contains(k.Entry().Principals, principal)
}

// MayAct says whether the key could act in a role under an agent's name at a
// time: sender and recipient keys under their own agents' names, a root key as
// root, or as sender under any name. No agent is asked of a root. It is ValidAt
// and more; reasons as there, and untrusted_key.
func (k Key) MayAct(role, agent string, at time.Time) error {
	if k.pin == nil {
		return notPinned("")
	}
	root := k.HasRole(RoleRoot) && (role == RoleRoot || role == RoleSender)
	if !root {
		switch {
		case role == RoleRoot || !k.HasRole(role):
			return fault.New(fault.Denied, fault.UntrustedKey, "key %s is not trusted as %s", k.KID(), role).
				WithHints(fault.Run("githandoff", "trust", "list").Because("shows what each key may do; a person can allow more"))
		case !slices.Contains(k.Entry().Agents, agent):
			return fault.New(fault.Denied, fault.UntrustedKey, "key %s is not trusted as agent %q", k.KID(), agent).
				WithHints(fault.Run("githandoff", "trust", "add", k.KID(), "--agent", agent).Because("only if its owner says that it is the key of %s", agent))
		}
	}
	return k.ValidAt(at)
}

// agentDomain is the mail domain of agents. Mail to it is never delivered (RFC 2606).
const agentDomain = "@githandoff.invalid"

// UserID returns the user id of a key. It proves nothing; ".invalid" keeps it from being a real
// address.
func UserID(name string) string {
	if strings.Contains(name, "@") {
		return name
	}
	return name + " <" + Mail(name) + ">"
}

// Mail returns the address under which somebody signs commits: a person's own, or one made of an
// agent's name.
func Mail(name string) string {
	if strings.Contains(name, "@") {
		return name
	}
	return name + agentDomain
}

// ActsAs returns the name the key acts under: name if the key may bear it or has no principal, else
// its first principal's.
func (k Key) ActsAs(name string) string {
	if k.Named(name, Mail(name)) == nil || len(k.Entry().Principals) == 0 {
		return name
	}
	return strings.TrimPrefix(k.Entry().Principals[0], "user:")
}

// Named says whether a commit signed by the key may bear these names as its author: agents it
// is pinned for, or its principals. The mail address may belong to another of them. Reason:
// untrusted_key.
func (k Key) Named(actor, mail string) error {
	if k.pin == nil {
		return notPinned("")
	}
	is := k.Entry().IsFor
	switch {
	case !is(actor):
		what, flag, name := "agent", "--agent", actor
		if strings.Contains(actor, "@") {
			what, flag, name = "person", "--principal", "user:"+actor
		}
		return fault.New(fault.Denied, fault.UntrustedKey, "key %s is not trusted as %s %q", k.KID(), what, actor).
			WithHints(fault.Run("githandoff", "trust", "add", k.KID(), flag, name).Because("lets it act under that name, if you know that the name is its own"))
	case !is(mail) && !is(strings.TrimSuffix(mail, agentDomain)):
		return fault.New(fault.Denied, fault.UntrustedKey, "key %s signs as %q with the mail address %q, which is not its own", k.KID(), actor, mail)
	}
	return nil
}

// ValidAt says whether the key was valid at a time: by its own word, within From and Until,
// before it was retired. Log entries need a key valid when they were made; open payloads,
// claims and tokens need one valid now as well. Reasons: not_yet_valid, key_expired,
// key_revoked, untrusted_key.
func (k Key) ValidAt(at time.Time) error {
	copies, err := k.pin.keys()
	if err != nil {
		return err
	}
	from, until, retired := k.window()
	switch {
	case !retired.IsZero() && !at.Before(retired):
		return fault.New(fault.Denied, fault.KeyRevoked, "key %s was retired at %s", k.KID(), handoff.FormatTime(retired)).
			WithHints(anotherKey())
	case at.Before(from):
		return fault.New(fault.Denied, fault.NotYetValid, "key %s is trusted from %s on, not at %s", k.KID(), handoff.FormatTime(from), handoff.FormatTime(at))
	case !until.IsZero() && !at.Before(until):
		return fault.New(fault.Denied, fault.KeyExpired, "key %s was trusted until %s", k.KID(), handoff.FormatTime(until))
	}
	issuer, _ := hex.DecodeString(strings.TrimPrefix(k.issuer, openpgpPrefix))
	for _, public := range copies {
		if err := public.ownValidity(issuer, at); err != nil {
			return err
		}
	}
	return nil
}

// Late returns the key as one that is retired that much later. It judges what was seen before the key was
// retired: its date may be ahead of the clock here.
func (k Key) Late(by time.Duration) Key {
	k.grace = by
	return k
}

// window returns the entry's times, known to parse. Zero is no limit.
func (k Key) window() (from, until, retired time.Time) {
	e := k.Entry()
	from, _ = parseTime(e.From)
	until, _ = parseTime(e.Until)
	if retired, _ = parseTime(e.Retired); !retired.IsZero() {
		retired = retired.Add(k.grace)
	}
	return from, until, retired
}

func notPinned(kid KID) error {
	if kid == "" {
		return fault.New(fault.Denied, fault.UntrustedKey, "no key of that name is trusted here")
	}
	return fault.New(fault.Denied, fault.UntrustedKey, "%w", &UnknownKeyError{kid}).
		WithHints(fault.See("trust add").Because("pins a key whose fingerprint its owner has confirmed"))
}

// UnknownKeyError is the cause of a refusal if the trust list has no entry for a key, neither a
// valid nor a retired one.
type UnknownKeyError struct{ KID KID }

func (e *UnknownKeyError) Error() string { return "key " + e.KID + " is not trusted here" }
