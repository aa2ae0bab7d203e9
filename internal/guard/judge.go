package guard

import (
	"context"
	"slices"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/refs"
)

// MaxSkew is the largest difference between the clocks of a signer and of the hub.
const MaxSkew = 5 * time.Minute

// judge says why a push may not change a handoff the way it does; nil if it may.
func (hj handoffJudge) judge(ctx context.Context, st *step) error {
	if len(st.entries) > 1 {
		return denied(fault.Malformed, "%d steps of handoff %s in one push", len(st.entries), st.id)
	}
	s, err := hj.Verifier.Reader.Load(ctx, hj.Home, st.place())
	if err == nil {
		err = hj.judgeInbox(ctx, s, st)
	}
	if err == nil {
		err = hj.judgeWork(ctx, s, st)
	}
	return err
}

// judgeInbox judges the entry and the inbox refs of a handoff, by the state after the push.
func (hj handoffJudge) judgeInbox(ctx context.Context, s *lifecycle.State, st *step) error {
	var last *record.Record // the new entry; nil for none
	if len(st.entries) == 1 {
		last = st.entries[0].Record()
		for _, e := range s.Entries {
			if e.OID == st.entries[0].OID && e.Dispute != nil {
				return e.Dispute
			}
		}
	}
	phase := s.Phase()
	if phase == lifecycle.Disputed && last != nil && last.Event == record.Released {
		phase = lifecycle.Held // its source ends the claim that others may believe in
	}
	switch phase {
	case lifecycle.Ended:
		return hj.ended(ctx, s, st, last)
	case lifecycle.Open, lifecycle.Held:
		return hj.open(ctx, s, st, last)
	case lifecycle.Absent:
		if last == nil && !sets(st.inbox) {
			return nil // the log has no entry of the handoff
		}
		if err := s.Err(); !fault.Is(err, fault.Unfinished) {
			return err
		}
		return unlogged(s)
	}
	return s.Err()
}

// unlogged refuses an inbox ref leading to a commit without an entry.
func unlogged(s *lifecycle.State) error {
	return denied(fault.Unlogged, "the commit on it has no entry in lane %s: both move in one push", s.ID.Lane())
}

// fresh compares an entry's time with the hub's clock. An offer may be old, because it may have
// waited for the hub after it was signed. The key must be valid now by the hub's clock, whatever
// the date of the entry: a key that was retired a second ago makes no more entries.
func (hj handoffJudge) fresh(oid string, c *record.Commit) error {
	now, r := hj.Verifier.Keys.Now().UTC(), c.Record
	if key, err := hj.Verifier.Keys.SignerOf("entry "+oid, c); err == nil {
		at := now
		if r.At.After(now) { // the signer's clock may be ahead, and its key may be as new as the entry
			at = r.At
		}
		if err := key.ValidAt(at); err != nil {
			return err
		}
	} // an unknown signer is refused when the handoff is judged
	switch {
	case r.At.After(now.Add(MaxSkew)):
		return denied(fault.NotYetValid, "entry %s is dated %s by its signer's clock, but here it is %s", oid, handoff.FormatTime(r.At), handoff.FormatTime(now))
	case r.At.Before(now.Add(-MaxSkew)) && r.Event != record.Offered:
		return denied(fault.Expired, "entry %s is dated %s by its signer's clock, but here it is %s", oid, handoff.FormatTime(r.At), handoff.FormatTime(now))
	}
	return nil
}

// ended requires that a receipt comes with the deletion of the inbox refs, and that nothing comes
// after it.
func (hj handoffJudge) ended(ctx context.Context, s *lifecycle.State, st *step, last *record.Record) error {
	for _, e := range st.inbox {
		if e.New != "" {
			return denied(fault.Replayed, "handoff %s was %s by %s", s.ID, s.Receipt.Event, s.Receipt.Actor)
		}
	}
	if last == nil {
		return nil // the log already has the receipt: a killed git left the inbox ref
	}
	for _, agent := range []string{s.To, handoff.Nobody} {
		left, err := hj.Verifier.Repo.Resolve(ctx, refs.LocalNamespace.Inbox(agent, s.ID))
		if err != nil {
			return err
		}
		if left != "" {
			return denied(fault.Disputed, "the receipt of handoff %s comes without the deletion of its inbox ref", s.ID)
		}
	}
	return nil
}

// open requires that the inbox ref is in the inbox that the lane names, and leads to a handoff that
// verifies.
func (hj handoffJudge) open(ctx context.Context, s *lifecycle.State, st *step, last *record.Record) error {
	if s.Tip == "" {
		return denied(fault.Lost, "handoff %s would disappear without a receipt", s.ID)
	}
	for _, e := range st.inbox {
		// A handoff may still be in the inbox of undecided ones after its decision, but does not go there.
		if e.New != "" && (e.agent != s.Agent || e.Old == "" && e.agent != s.To) {
			return denied(fault.AudienceMismatch, "handoff %s is for %s", s.ID, s.To)
		}
	}
	if s.Agent != handoff.Nobody {
		left, err := hj.Verifier.Repo.Resolve(ctx, refs.LocalNamespace.Inbox(handoff.Nobody, s.ID))
		if err != nil {
			return err
		}
		if left != "" {
			return denied(fault.Disputed, "handoff %s would be in two inboxes", s.ID)
		}
	}
	if len(s.Chain) == 0 { // the inbox ref leads to no payload of this handoff
		_, err := hj.Verifier.Verify(ctx, hj.Home, s, lifecycle.Options{})
		return err
	}
	if s.Unlogged() {
		return unlogged(s)
	}
	if logged := lastStep(s); s.Chain[len(s.Chain)-1].Commit.Record.Nonce != logged.Nonce {
		return denied(fault.Unlogged, "the last entry of handoff %s is %s by %s, and its inbox ref leads to another commit", s.ID, logged.Event, logged.Actor)
	}
	if last == nil {
		if err := hj.repaired(ctx, s, st); err != nil || !sets(st.inbox) && !sets(st.work) {
			return err
		}
	}
	if s.Phase() == lifecycle.Disputed {
		return nil // nothing is shown or claimed until it verifies
	}
	return hj.verified(ctx, s, last)
}

// verified requires that a handoff verifies after a step.
func (hj handoffJudge) verified(ctx context.Context, s *lifecycle.State, last *record.Record) error {
	v, err := hj.Verifier.Verify(ctx, hj.Home, s, lifecycle.Options{
		AllowExpired: true, AsKnown: true, UnknownStands: true, Unopened: true, Lapsed: true,
	})
	if err != nil {
		return err
	}
	if last == nil || last.Event != record.Claimed && last.Event != record.Progressed && last.Event != record.Offered {
		return nil
	}
	if v.Lapse() != nil {
		return v.Lapse()
	}
	return leased(v, last)
}

// lastStep returns the newest entry that moved the inbox ref.
func lastStep(s *lifecycle.State) *record.Record {
	for _, e := range slices.Backward(s.Entries) {
		r := e.Record()
		if step, ok := lifecycle.StepOf(r.Event); e.Dispute == nil && ok && step.Moves() {
			return r
		}
	}
	return s.Offer
}

// repaired requires an entry for each move of an inbox ref, except for two that mend a push cut off by
// its git: a ref that git left out is made, and a ref goes back from an unlogged commit. Both lead to
// the last logged commit, as [handoffJudge.open] requires.
func (hj handoffJudge) repaired(ctx context.Context, s *lifecycle.State, st *step) error {
	for _, e := range st.inbox {
		if e.New == "" || e.Old == "" {
			continue
		}
		o, err := hj.Verifier.Repo.Read(ctx, e.Old, record.MaxCommit)
		if err != nil {
			return err
		}
		if o == nil {
			continue
		}
		was, err := record.ParseCommit(o.Body)
		if err == nil && slices.ContainsFunc(s.Entries, func(l *lifecycle.Entry) bool { return l.Record().Nonce == was.Record.Nonce }) {
			return denied(fault.Unlogged, "it moves without an entry in lane %s", s.ID.Lane())
		}
	}
	return nil
}

// leased compares the end of a lease with the end of its token. The table of steps bounds its length.
func leased(v *lifecycle.Verified, r *record.Record) error {
	if v.Token() != nil && r.Lease.After(v.Token().Expires()) {
		return denied(fault.Disputed, "a claim until %s, longer than its token", handoff.FormatTime(r.Lease))
	}
	return nil
}
