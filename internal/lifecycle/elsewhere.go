package lifecycle

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/record"
	"githandoff/internal/sign"
)

// Clones trust different keys. So a claim that does not count here may count for its holder and for
// others: nobody here has decided about its key yet, or this clone retired the key, or trusts it for
// less. Whoever withdraws the handoff without ending that claim would dispute it for them. So the
// source releases the claim first. A release by the source counts in every clone.

// noteDoubtful notes an entry that does not count here and may count elsewhere.
func (s *State) noteDoubtful(entry *Entry, now time.Time) {
	r, on := entry.Record(), s.standsElsewhere(entry.Record())
	_, unknown := errors.AsType[*sign.UnknownKeyError](entry.Dispute)
	switch {
	case unknown:
		entry.undecided = entry.Dispute
	case entry.signature == nil || entry.signature.err != nil || entry.signature.key.KID() != r.Key:
		return // it counts nowhere
	case on:
		entry.undecided = s.elsewhere.undecided
	case !isKeyRefused(entry.Dispute):
		return // it counts nowhere
	}
	if r.Event.Receipt() && entry.undecided != nil {
		s.UndecidedEnd = cmp.Or(s.UndecidedEnd, entry)
	}
	if r.At.After(now.Add(ClockSkew)) {
		return // it counts nowhere yet
	}
	retired := !unknown && s.Claim != nil && r.Claim == s.Claim.Nonce && r.Key == s.Claim.Key // since its claim
	switch byHolder := retired || on && r.Key == s.elsewhere.Record().Key; {
	case r.Event == record.Claimed:
		if s.elsewhere == nil && s.Claim != nil && !s.Overdue(r.At) || s.elsewhere != nil && !r.At.After(leaseOf(s.elsewhere.Record())) {
			return // it came before the end of the lease, so it counts nowhere
		}
		s.elsewhere = entry
	case byHolder && (r.Event == record.Progressed || r.Event == record.Released && s.Claim != nil):
		s.elsewhere = entry
	case byHolder:
		s.elsewhere = nil
	}
}

// isKeyRefused reports whether an entry does not count because this clone does not trust its key, or not
// for that.
func isKeyRefused(dispute error) bool {
	f := fault.As(dispute)
	return f != nil && slices.Contains([]fault.Reason{fault.UntrustedKey, fault.KeyRevoked, fault.KeyExpired, fault.NotYetValid}, f.Reason)
}

// standsElsewhere reports whether a step names a claim that counts elsewhere.
func (s *State) standsElsewhere(r *record.Record) bool {
	return s.elsewhere != nil && r.Claim == claimOf(s.elsewhere.Record())
}

// claimOf returns the nonce of a claim, or of the claim that a renewal is based on; "" for a release.
func claimOf(r *record.Record) string {
	switch r.Event {
	case record.Claimed:
		return r.Nonce
	case record.Released:
		return ""
	}
	return r.Claim
}

// releasedElsewhere reports whether the holder released its claim with a key that does not count here.
func (s *State) releasedElsewhere() bool {
	return s.elsewhere != nil && claimOf(s.elsewhere.Record()) == ""
}

// heldElsewhere reports whether the lease of a claim that counts elsewhere runs at a time.
func (s *State) heldElsewhere(at time.Time) bool {
	return s.elsewhere != nil && holdsAt(s.elsewhere.Record(), at)
}

// holdsAt reports whether the lease of a claim or renewal, if its dates can be right, runs at a time.
func holdsAt(r *record.Record, at time.Time) bool {
	return !r.At.After(at.Add(ClockSkew)) && !at.After(leaseOf(r))
}

// leaseOf returns the end of the lease of a claim or renewal. Anybody with push access can write one: it
// counts for a day at most.
func leaseOf(r *record.Record) time.Time { return sooner(r.Lease, r.At.Add(MaxLease)) }

// checkDecided refuses, except for a root key, to end a handoff that an undecided key may have
// ended, or may hold now.
func (by *Author) checkDecided(s *State) error {
	entry := s.UndecidedEnd
	if entry == nil && s.heldElsewhere(by.Keys.now()) && s.elsewhere.undecided != nil {
		entry = s.elsewhere
	}
	if entry == nil || by.IsRoot() {
		return nil
	}
	f := fault.As(entry.undecided)
	hints := append(slices.Clone(f.Hints[:min(len(f.Hints), 2)]), fault.Run("githandoff", "revoke", "--force", string(s.ID)).Because("ends it, if nobody here owns that key"))
	return denied(fault.UntrustedKey, "handoff %s was %s by %s, according to an undecided key: decide about that key first: %w",
		s.ID, entry.Record().Event, entry.Record().Actor, entry.undecided).WithHints(hints...)
}

// releaseElsewhere releases a claim that counts elsewhere, before its source withdraws the handoff. A
// root key need not release it: it may end what others hold.
func (e *Engine) releaseElsewhere(ctx context.Context, home Home, p Place) (*State, error) {
	return e.act(ctx, home, p, fromCopies, func(s *State, b *batch) error {
		held := s.Phase() == Disputed && s.heldElsewhere(e.Keys.now())
		if !held || s.Offer == nil || len(s.Chain) == 0 || e.Author.IsRoot() || !e.Author.MayAct(sign.RoleSender, s.Offer.From) {
			return nil
		}
		return b.take(ctx, s, record.Released, func(r *record.Record) { r.Claim = claimOf(s.elsewhere.Record()) })
	})
}
