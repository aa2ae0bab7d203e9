package lifecycle

import (
	"context"
	"fmt"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/record"
	"githandoff/internal/sign"
)

// replay judges the entries of a lane one after the other and leaves in s what
// they amount to.
func (e *Engine) replay(ctx context.Context, home Home, s *State) {
	for _, entry := range s.Entries {
		e.replayEntry(ctx, home, s, entry)
	}
}

// replayEntry judges the next entry. After a receipt that counts nothing counts
// any more, but that the token of the handoff is revoked.
func (e *Engine) replayEntry(ctx context.Context, home Home, s *State, entry *Entry) {
	if entry.Dispute == nil {
		entry.Dispute = e.judge(ctx, home, s, entry)
	}
	if entry.Dispute == nil {
		entry.Dispute = e.twice(s, entry)
	}
	s.watch(entry)
	switch {
	case entry.Dispute == nil:
		s.take(entry.Record())
	case s.Dispute == nil && s.Receipt == nil:
		s.Dispute = entry.Dispute
	}
}

// take lets a record that counts change the state.
func (s *State) take(r *record.Record) {
	switch r.Event {
	case record.Offered:
		if s.Claim != nil {
			return // its payload was delivered again, and whoever holds it still does
		}
		s.Offer, s.Payload, s.To = r, r.Payload, r.To
	case record.Routed:
		s.To = r.To
	case record.Claimed:
		s.Claim, s.Lease = r, r.Lease
	case record.Progressed:
		s.Lease = r.Lease
	case record.Released:
		s.Claim, s.Lease = nil, time.Time{}
	default:
		if r.Event == record.Revoked {
			s.Revoked = r
		}
		if r.Event.Receipt() && s.Receipt == nil {
			s.Receipt = r
		}
	}
}

// judge says why an entry does not count; nil if it does.
func (e *Engine) judge(ctx context.Context, home Home, s *State, entry *Entry) error {
	r := entry.Record()
	key, err := e.SignerOf("entry "+entry.OID, entry.Commit)
	if err != nil {
		return err
	}
	if r.Event == record.Joined {
		return joined(entry.OID, entry.Commit, key)
	}
	if s.Receipt != nil && (r.Event != record.Revoked || s.Revoked != nil || s.Offer == nil || s.Offer.Token == "") {
		entry.Overtaken = s.overtaken(key, r)
		return denied("replayed", "%s by %s after the receipt", r.Event, r.Actor)
	}
	if !home.Answers(r.Home) {
		return denied("audience_mismatch", "%s by %s is for the home %s", r.Event, r.Actor, r.Home)
	}
	if r.Event == record.Offered {
		if s.Offer != nil && !s.offeredAgain(r) {
			return denied("replayed", "offered twice")
		}
		return e.mayOffer(ctx, home, key, r)
	}
	if s.Offer == nil {
		return denied("disputed", "%s by %s before it was offered", r.Event, r.Actor)
	}
	if err := s.tells(r); err != nil {
		return err
	}
	return s.mayStep(key, r)
}

// offeredAgain: a hub that lost the inbox ref, and nothing of its log, is given
// the same payload once more.
func (s *State) offeredAgain(r *record.Record) bool {
	return r.Payload == s.Payload && r.Nonce == s.Offer.Nonce
}

// maySend: a sender offers under its own names, a root key under any.
func maySend(key sign.Key, r *record.Record) error {
	if root(key, r) == nil {
		return nil
	}
	return key.MayAct(sign.RoleSender, r.From, r.At)
}

func root(key sign.Key, r *record.Record) error { return key.MayAct(sign.RoleRoot, "", r.At) }

// mayStep applies the table of roles to a step after the offer. A key that was
// retired or ran out takes none, not even as the holder.
func (s *State) mayStep(key sign.Key, r *record.Record) error {
	at := s.notBefore(r.At)
	for _, t := range []time.Time{r.At, at} {
		if err := key.ValidAt(t); err != nil {
			return err
		}
	}
	if r.Lease.Sub(r.At) > MaxLease {
		return s.misstep(r, "its lease is longer than "+MaxLease.String())
	}
	holder := s.Claim != nil && key.KID() == s.Claim.Key && r.Claim == s.Claim.Nonce
	source := maySend(key, &record.Record{From: s.Offer.From, At: at}) == nil
	recipient := key.MayAct(sign.RoleRecipient, s.To, at)
	unheld := s.Claim == nil || r.At.After(s.Lease)
	isRoot := root(key, &record.Record{At: at}) == nil
	issuer := s.issuedBy(key)

	var may bool
	switch r.Event {
	case record.Routed:
		may = isRoot && s.Claim == nil
	case record.Claimed:
		if recipient != nil {
			return recipient
		}
		if s.Claim == nil && r.Claim != "" || s.Claim != nil && r.Claim != s.Claim.Nonce {
			return s.misstep(r, "it stands on another claim")
		}
		may = unheld
	case record.Progressed, record.Acknowledged:
		may = holder
	case record.Released:
		may = s.Claim != nil && r.Claim == s.Claim.Nonce && (holder || source)
	case record.Failed:
		may = holder || s.Claim == nil && recipient == nil
	case record.Rerouted:
		may = holder || source && unheld
	case record.Revoked:
		may = issuer || source && unheld
		if s.Receipt != nil {
			may = issuer // it ended; what is left to revoke is the token
		}
	case record.Expired:
		may = source && unheld
	}
	// A root key ends anything, but does not pose as the holder.
	if !may && isRoot && r.Event.Receipt() && r.Event != record.Acknowledged {
		may = true
	}
	if !may {
		return s.misstep(r, "its key may not")
	}
	return nil
}

// issuedBy: who signed the payload issued the token that goes with it.
func (s *State) issuedBy(key sign.Key) bool {
	return s.Offer.Token != "" && key.KID() == s.Offer.Key
}

// notBefore is the time at which a key must have been allowed to take a step: the
// one that the step gives, and not one before the offer that it stands on, for a
// key that was retired could date itself back.
func (s *State) notBefore(at time.Time) time.Time {
	if at.Before(s.Offer.At) {
		return s.Offer.At
	}
	return at
}

func (s *State) misstep(r *record.Record, why string) error {
	held := ""
	if s.Claim != nil {
		held = fmt.Sprintf(", held by %s", s.Claim.Actor)
	}
	return fault.New(fault.Denied, "disputed", "%s by %s: %s%s", r.Event, r.Actor, why, held)
}
