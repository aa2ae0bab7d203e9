package lifecycle

import (
	"errors"
	"slices"
	"strings"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/record"
	"githandoff/internal/sign"
	"githandoff/internal/untrusted"
)

// Keys says who signed a commit, and which keys may do something now. It is not safe
// for concurrent use.
type Keys struct {
	Trust *sign.Trust
	Now   func() time.Time

	// Published finds a key where its owner published it, by its id. It serves hints only:
	// nobody trusts a key for being there. It may be nil.
	Published func(sign.KID) (sign.PublicKey, bool)
	Alias     func(repoID string) string // names a repository in hints; "" if it has no name. It may be nil.

	strangers map[sign.KID]sign.PublicKey // results of Published; the zero key if it found none
}

// now returns the time of a record: whole seconds, UTC.
func (k *Keys) now() time.Time { return k.Now().UTC().Truncate(time.Second) }

// SignerOf returns the pinned key that signed c. It must be the key named in c. A refusal
// begins with subject, a readable name of the commit.
func (k *Keys) SignerOf(subject string, c *record.Commit) (sign.Key, error) {
	key, err := k.Trust.Verify(sign.NamespaceGit, c.Payload(), c.Signature)
	return k.checkSigner(subject, c, key, err)
}

// checkSigner is like SignerOf for a signature that was checked, with the result key and err.
func (k *Keys) checkSigner(subject string, c *record.Commit, key sign.Key, err error) (sign.Key, error) {
	err = k.unknownKey(err, c.Record)
	if err == nil && key.KID() != c.Record.Key {
		err = denied(fault.SignatureInvalid, "%s names the key %s and is signed by %s", subject, c.Record.Key, key.KID())
	}
	return key, err
}

// CheckTrustedSigner refuses a commit not signed by a trusted key. It reads nothing else.
func (k *Keys) CheckTrustedSigner(c *record.Commit) error {
	if _, err := k.Trust.Verify(sign.NamespaceGit, c.Payload(), c.Signature); err != nil {
		err = k.unknownKey(err, c.Record)
		f := fault.As(err)
		if f == nil {
			return err
		}
		named := fault.New(f.Code, f.Reason, "handoff %s: %w", c.Record.ID, err)
		named.Hints = f.Hints
		return named
	}
	return nil
}

// unknownKey adds to the refusal of an unknown key what is known of its owner, and the command
// to pin it. All of this is claimed by the maker of the key. A hint never makes a root.
func (k *Keys) unknownKey(err error, r *record.Record) error {
	unknown, ok := errors.AsType[*sign.UnknownKeyError](err)
	f := fault.As(err)
	if f == nil || !ok {
		return err
	}
	said := ""
	public, published := k.published(unknown.KID)
	if published {
		said = "; it claims to be from " + untrusted.Owner(public.UserID())
		if public.UserID() == "" {
			said = "; it does not say whose it is"
		}
	}
	named := fault.New(f.Code, f.Reason, "%w%s", err, said)
	if handoff.CheckAgent(r.Actor) != nil {
		return named.WithHints(fault.See("trust add").Because("pins a key whose fingerprint its owner has confirmed"))
	}
	sync := []string{"githandoff", "sync"}
	if k.Alias != nil && k.Alias(r.Home) != "" {
		sync = append(sync, k.Alias(r.Home))
	}
	if !published {
		return named.WithHints(fault.Run(sync...).Because("fetches published keys, and the lists of a team"),
			fault.Fact("if that does not bring the key, %s publishes it in its own clone: githandoff key export --to origin", r.Actor))
	}
	return named.WithHints(
		fault.Run("githandoff", "trust", "add", unknown.KID, "--agent", r.Actor).Because("if the owner of %s confirms this fingerprint", r.Actor),
		fault.Run(sync...).Because("checks again the entries that the key signed"))
}

func (k *Keys) published(kid sign.KID) (public sign.PublicKey, ok bool) {
	if k.Published == nil {
		return public, false
	}
	if known, asked := k.strangers[kid]; asked {
		return known, !known.IsZero()
	}
	if k.strangers == nil {
		k.strangers = map[sign.KID]sign.PublicKey{}
	}
	if len(k.strangers) < maxStrangers { // limits the cost of a lane full of unknown keys
		public, _ = k.Published(kid)
		k.strangers[kid] = public
	}
	return public, !public.IsZero()
}

// maxStrangers bounds the unknown keys one command looks up.
const maxStrangers = 64

// Recipients returns the keys that may claim from an agent's inbox now.
func (k *Keys) Recipients(agent string) []string {
	var kids []string
	for _, key := range sign.KeysOf(k.Trust) {
		if key.MayAct(sign.RoleRecipient, agent, k.now()) == nil {
			kids = append(kids, key.KID())
		}
	}
	return kids
}

// openers returns the keys to seal for: those allowed to claim from an agent's inbox now and able
// to decrypt.
func (k *Keys) openers(agent string) ([]sign.PublicKey, error) {
	kids := k.Recipients(agent)
	if len(kids) == 0 {
		return nil, denied(fault.UntrustedKey, "no key is trusted here as a recipient of %s, so nobody could open it", agent).
			WithHints(whoseKey(agent))
	}
	var to []sign.PublicKey
	for _, kid := range kids {
		key, _ := k.Trust.Lookup(kid)
		public, err := key.Public()
		if err != nil {
			return nil, err
		}
		if public.CanSeal(k.now()) {
			to = append(to, public)
		}
	}
	if len(to) == 0 {
		return nil, fault.New(fault.Policy, fault.CannotSeal, "cannot seal for %s: SSH keys and OpenPGP keys without an encryption subkey can only sign", agent).
			WithHints(fault.Fact("where %s works, githandoff key generate %[1]s makes one that can decrypt, and githandoff init --key %[1]s takes it; trust it here after that", agent))
	}
	return to, nil
}

// deciders returns the hint naming the people to ask for a decision: the principals of the root
// keys trusted here.
func (k *Keys) deciders() fault.Hint {
	var people []string
	for _, key := range sign.KeysOf(k.Trust) {
		if key.MayAct(sign.RoleRoot, "", k.now()) == nil {
			people = append(people, key.Entry().Principals...)
		}
	}
	slices.Sort(people)
	if people = slices.Compact(people); len(people) == 0 {
		return fault.Fact("a person decides this, and no person's root key is trusted here yet")
	}
	return fault.Fact("ask %s to decide it", strings.Join(people[:min(len(people), 3)], " or "))
}

// whoseKey returns the hint for an agent without a trusted key. Only its owner can say which key it
// is.
func whoseKey(agent string) fault.Hint {
	return fault.See("trust add").Because("trusts a key of %s, once its owner confirmed its fingerprint", agent)
}

// signatureCheck is the result of checking a signature.
type signatureCheck struct {
	key sign.Key
	err error
}

// holds reports whether a valid signature needs no second check: the trust in its key has not been read anew
// since the first one.
func (c *signatureCheck) holds(trust *sign.Trust) bool {
	if c == nil || c.err != nil {
		return false
	}
	key, ok := trust.Lookup(c.key.KID())
	return ok && key == c.key
}

// checkSignature checks the signature of an entry. It may be called for several entries at a time.
func (e *Entry) checkSignature(trust *sign.Trust) {
	if e.Dispute != nil {
		return
	}
	key, err := trust.Verify(sign.NamespaceGit, e.Commit.Payload(), e.Commit.Signature)
	e.signature = &signatureCheck{key: key, err: err}
}

// takeAsSigned takes the signature of an entry for one that was checked before, and was made by the key
// that the entry names. It reports false where that key is not trusted here.
func (e *Entry) takeAsSigned(trust *sign.Trust) bool {
	if e.Dispute != nil {
		return true
	}
	key, ok := trust.Lookup(e.Record().Key)
	if ok {
		e.signature = &signatureCheck{key: key}
	}
	return ok
}

// signed reports whether the key named in the entry made its signature itself, not by a subkey,
// whose validity may differ.
func (e *Entry) signed() bool {
	return e.signature != nil && e.signature.err == nil && e.signature.key.Primary() && e.signature.key.KID() == e.Record().Key
}
