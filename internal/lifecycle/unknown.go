package lifecycle

import (
	"errors"
	"fmt"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/record"
	"githandoff/internal/sign"
)

// Nobody here decided about a key until somebody pins it. What it signed does not
// count, and may count tomorrow: so it is named, and nothing is built on its not
// counting.

// unknownKey adds to a refusal because of such a key what is known of its owner,
// and the command that pins it. All of that is a claim of whoever made the key. A
// root is never made by a hint.
func (e *Engine) unknownKey(err error, r *record.Record) error {
	var unknown *sign.UnknownKeyError
	f := fault.As(err)
	if f == nil || !errors.As(err, &unknown) {
		return err
	}
	said := ""
	public, published := e.published(unknown.KID)
	if published {
		said = fmt.Sprintf("; it says that it is of %q", public.UserID())
		if public.UserID() == "" {
			said = "; it does not say whose it is"
		}
	}
	named := fault.New(f.Code, f.Reason, "%w%s", err, said)
	if handoff.CheckAgent(r.Actor) != nil {
		return named.WithHints(fault.Run("githandoff", "trust", "add", "--help").Because("pins a key whose fingerprint its owner has confirmed"))
	}
	if !published {
		return named.WithHints(fault.Hint{Why: fmt.Sprintf("%s publishes that key in its own clone: githandoff key export --to origin", r.Actor)},
			fault.Run("githandoff", "sync").Because("fetches what was published"))
	}
	return named.WithHints(
		fault.Run("githandoff", "trust", "add", unknown.KID, "--agent", r.Actor).Because("if the owner of %s confirms this fingerprint", r.Actor),
		fault.Run("githandoff", "sync").Because("judges again what that key signed"))
}

func (e *Engine) published(kid sign.KID) (public sign.PublicKey, ok bool) {
	if e.Published == nil {
		return public, false
	}
	if known, asked := e.strangers[kid]; asked {
		return known, !known.IsZero()
	}
	if e.strangers == nil {
		e.strangers = map[sign.KID]sign.PublicKey{}
	}
	if len(e.strangers) < maxStrangers { // whoever fills a lane with keys learns nothing by it
		public, _ = e.Published(kid)
		e.strangers[kid] = public
	}
	return public, !public.IsZero()
}

// maxStrangers bounds how many keys of strangers one command looks up.
const maxStrangers = 64

// Undecided reports whether the entry does not count because nobody here decided
// about the key that signed it.
func (e *Entry) Undecided() bool {
	var unknown *sign.UnknownKeyError
	return errors.As(e.Dispute, &unknown)
}

// watch remembers the first entry that would end the handoff if the key that
// signed it were trusted.
func (s *State) watch(e *Entry) {
	if s.UndecidedEnd == nil && e.Undecided() && e.Record().Event.Receipt() {
		s.UndecidedEnd = e
	}
}

// decided refuses to end a handoff that may have ended already, for all that is
// known here. A root key decides that by itself.
func (e *Engine) decided(s *State) error {
	entry := s.UndecidedEnd
	if key, ok := e.Trust.Lookup(e.Signer.KID()); entry == nil || ok && key.MayAct(sign.RoleRoot, "", e.now()) == nil {
		return nil
	}
	f := fault.As(entry.Dispute)
	hints := append(f.Hints[:min(len(f.Hints), 2):2], fault.Run("githandoff", "revoke", "--force", s.ID.Short()).Because("ends it, if that key is nobody's here"))
	return fault.New(fault.Denied, fault.UntrustedKey, "handoff %s was %s by %s, says a key that nobody here decided about: decide about the key first: %w",
		s.ID, entry.Record().Event, entry.Record().Actor, entry.Dispute).WithHints(hints...)
}

// overtaken reports whether an entry behind the receipt is a withdrawal by
// somebody entitled to it. Its author did not see the receipt, or did not trust its
// key by then: it changes nothing, and nobody did wrong.
func (s *State) overtaken(key sign.Key, r *record.Record) bool {
	switch r.Event {
	case record.Revoked, record.Expired, record.Rerouted:
	default:
		return false
	}
	return s.Offer != nil && r.Payload == s.Payload && r.Digest == s.Offer.Digest && r.From == s.Offer.From &&
		maySend(key, &record.Record{From: s.Offer.From, At: s.notBefore(r.At)}) == nil
}
