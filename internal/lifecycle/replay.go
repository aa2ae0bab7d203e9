package lifecycle

import (
	"context"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/record"
)

// replay judges the entries of a lane one after the other and leaves in s what
// they amount to.
func (rd *Reader) replay(ctx context.Context, home Home, s *State) {
	rd.replayAs(ctx, home, s, asked)
}

// depth says which handoff is judged: the one that the caller asked about, or the parent
// of one, to find out whether the child counts.
type depth int

const (
	asked depth = iota
	above
)

func (rd *Reader) replayAs(ctx context.Context, home Home, s *State, d depth) {
	for i, entry := range s.Entries {
		rd.replayEntry(ctx, home, s, entry, d, func(than time.Time) bool { return olderAmong(s.Entries[i+1:], than) })
	}
}

// replayEntry judges the next entry. After a receipt that counts, only a revocation of the
// handoff's token still counts. Later reports whether a later entry is older than a time.
func (rd *Reader) replayEntry(ctx context.Context, home Home, s *State, entry *Entry, d depth, later func(time.Time) bool) {
	if entry.Dispute == nil {
		entry.Dispute = rd.judge(ctx, home, s, entry, d, later)
	}
	if entry.Dispute == nil {
		entry.Dispute = rd.twice(s, entry)
	}
	s.watch(entry)
	switch {
	case entry.Dispute == nil:
		s.take(entry.Record())
		rd.capLease(s, entry)
	case entry.Early:
		if s.Early == nil {
			s.Early = entry.Dispute
		}
	case s.Dispute == nil && s.Receipt == nil:
		s.Dispute = entry.Dispute
	}
}

// take lets a record that counts change the state.
func (s *State) take(r *record.Record) {
	if r.Event == record.Joined || r.Event == record.Offered && s.Offer != nil {
		return // an offer that is repeated changes nothing
	}
	if r.At.After(s.newest) {
		s.newest = r.At
	}
	if s.holds(r) && r.Next != "" {
		s.named = append(s.named, naming{child: r.Next, key: r.Key})
	}
	switch r.Event {
	case record.Offered:
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

// naming is a child that the holder of a handoff named in its lane, and by which
// key.
type naming struct {
	child handoff.ID
	key   string
}

// holds reports whether the holder of the handoff took a step.
func (s *State) holds(r *record.Record) bool {
	return s.Claim != nil && r.Key == s.Claim.Key && r.Claim == s.Claim.Nonce && s.Receipt == nil
}

// judge says why an entry does not count; nil if it does.
func (rd *Reader) judge(ctx context.Context, home Home, s *State, entry *Entry, d depth, later func(time.Time) bool) error {
	r := entry.Record()
	key, err := rd.Keys.signerOf(entry)
	if err != nil {
		return err
	}
	if r.Event == record.Joined {
		return rd.Lanes.joined(ctx, entry.OID, entry.Commit, key)
	}
	if err := named(key, entry.Commit); err != nil {
		return err
	}
	if s.Receipt != nil && (r.Event != record.Revoked || s.Revoked != nil || s.Offer == nil || s.Offer.Token == "") {
		entry.Overtaken = isOvertaken(s, key, r)
		return denied(fault.Replayed, "%s by %s after the receipt", r.Event, r.Actor)
	}
	if !home.Is(r.Home) {
		return denied(fault.AudienceMismatch, "%s by %s is for the home %s", r.Event, r.Actor, r.Home).
			WithHints(elsewhere(home, r.Home)...)
	}
	if err := rd.early(entry, later); err != nil {
		entry.Early = true
		return err
	}
	if r.Event == record.Offered && s.Offer != nil {
		if !isOfferAgain(s, r) {
			return denied(fault.Replayed, "offered twice")
		}
		return nil
	}
	if err := rd.Lanes.unseen(ctx, key, entry); err != nil {
		return err
	}
	if r.Event == record.Offered {
		err = rd.mayOffer(ctx, home, key, r, d)
	} else {
		err = checkContinues(s, key, r)
	}
	if err != nil {
		return err
	}
	return checkDate(s, r)
}

// notBefore is the time at which a key must have been allowed to take a step: the
// one that the step gives, and not one before the newest entry that it stands on,
// for a key that was retired could date itself back.
func (s *State) notBefore(at time.Time) time.Time {
	if at.Before(s.newest) {
		return s.newest
	}
	return at
}

// watch remembers the first entry that would end the handoff if the key that
// signed it were trusted.
func (s *State) watch(e *Entry) {
	if s.UndecidedEnd == nil && e.Undecided() && e.Record().Event.Receipt() {
		s.UndecidedEnd = e
	}
}
