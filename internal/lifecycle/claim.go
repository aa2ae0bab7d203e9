package lifecycle

import (
	"cmp"
	"context"
	"slices"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/record"
)

// Bounds of a lease.
const (
	DefaultLease = time.Hour
	MaxLease     = 24 * time.Hour
)

// ClaimRequest is one claim to make.
type ClaimRequest struct {
	Place        Place
	Lease        time.Duration
	AllowExpired bool
	// ByID means the caller wants this handoff and no other, so an expired claim may be taken over at
	// once. Otherwise it may be taken only after twice its lease, because clocks differ.
	ByID bool
	// NoRetry gives the claim up with the hub's error if others were faster: the hub is not asked
	// who they are.
	NoRetry bool
	// Nonces are those of earlier claims on this handoff that the caller recorded: only the holder
	// can show them. A claim with one of them is the caller's.
	Nonces []string
	// Record is called with the claim before anything leaves this machine, once for each try.
	Record func(*record.Record) error
	// Fits, if set, may refuse a verified handoff before it is claimed. Its error is returned as
	// it is. It may be called more than once.
	Fits func(*Verified) error
}

// Claim takes an open handoff, or one whose claim ran out. A handoff held with a recorded nonce
// is returned as it is. Losing the race is a conflict naming the winner. The whole handoff is
// verified on the state pinned by the transaction.
func (e *Engine) Claim(ctx context.Context, home Home, req ClaimRequest) (*Verified, error) {
	var v *Verified
	nonces := slices.Clone(req.Nonces)
	isMine := func(s *State) bool {
		return s.Claim != nil && s.Claim.Key == e.Author.Signer.KID() && slices.Contains(nonces, s.Claim.Nonce)
	}
	s, err := e.act(ctx, home, req.Place, fromCopies, func(s *State, b *batch) error {
		mine := isMine(s)
		if !mine {
			if err := checkClaimable(s, e.Keys.now(), req.ByID); err != nil {
				return err
			}
		}
		var err error
		if v, err = e.Verifier.Verify(ctx, home, s, Options{AllowExpired: req.AllowExpired || mine, lanePinned: !mine}); err != nil {
			return ToRecipient(err, s.ID)
		}
		if req.Fits != nil {
			if err := req.Fits(v); err != nil {
				return err
			}
		}
		if mine {
			return nil
		}
		rec, err := e.Author.draft(s, record.Claimed, func(r *record.Record) { r.Lease = leaseEnd(r.At, req.Lease, r.Expires) })
		if err != nil {
			return err
		}
		if err := v.checkClaim(rec); err != nil {
			return err
		}
		if err := req.Record(rec); err != nil {
			return err
		}
		nonces = append(nonces, rec.Nonce)
		b.tx.NoRetry = req.NoRetry
		return b.build(ctx, s, rec)
	})
	if err != nil {
		return nil, err
	}
	if !isMine(s) {
		return nil, errHeld(s)
	}
	v.state = s
	return v, nil
}

// leaseEnd limits a lease to a day, and to the expiry of the handoff, unless the handoff has
// expired already.
func leaseEnd(from time.Time, lease time.Duration, expires time.Time) time.Time {
	if lease <= 0 {
		lease = DefaultLease
	}
	end := from.Add(min(lease, MaxLease))
	if end.After(expires) && expires.After(from) {
		end = expires
	}
	return end.Truncate(time.Second)
}

// ClaimProof proves a claim is ours: its nonce was recorded before the claim left.
type ClaimProof struct {
	Place Place
	Nonce string
}

// Renewal is one progress entry by the holder. The lane has its nonce, so it is recorded once,
// however often it is sent.
type Renewal struct {
	Nonce string        // 32 hex digits; "" for a new nonce
	Lease time.Duration // 0 for the length of the running lease
	Data  string
	// Said are nonces of earlier renewals with the same data. If one of them landed, this
	// one renews the lease and says nothing.
	Said []string
}

// Renew takes a renewal, unless the lane has it already.
func (e *Engine) Renew(ctx context.Context, home Home, h ClaimProof, n Renewal) (*State, error) {
	return e.act(ctx, home, h.Place, fromCopies, func(s *State, b *batch) error {
		if err := e.Author.checkHeld(s, h); err != nil {
			return err
		}
		if s.Progressed(h.Nonce, n.Nonce) {
			return nil // an earlier try succeeded, and its answer was lost
		}
		lease, data := n.Lease, n.Data
		if lease <= 0 {
			lease = s.term()
		}
		if s.Progressed(h.Nonce, n.Said...) {
			data = ""
		}
		return b.take(ctx, s, record.Progressed, func(r *record.Record) {
			r.Nonce = cmp.Or(n.Nonce, r.Nonce)
			r.Lease, r.Data = leaseEnd(r.At, lease, r.Expires), data
		})
	})
}

// term returns the length of the running lease, as given by the claim or its last renewal; 0 if
// unknown.
func (s *State) term() time.Duration {
	for _, e := range slices.Backward(s.Entries) {
		if r := e.Record(); e.Dispute == nil && (r.Event == record.Claimed || r.Event == record.Progressed) {
			return r.Lease.Sub(r.At)
		}
	}
	return 0
}

// Release gives a claim back. With force it breaks the claim of another holder: sources
// and root keys may, also if the handoff is disputed.
func (e *Engine) Release(ctx context.Context, home Home, h ClaimProof, force bool) (*State, error) {
	return e.act(ctx, home, h.Place, fromCopies, func(s *State, b *batch) error {
		if !force {
			if err := e.Author.checkHeld(s, h); err != nil {
				return err
			}
		} else if err := s.Err(); err != nil && (s.Receipt != nil || s.Claim == nil || len(s.Chain) == 0) {
			return err
		} else if s.Claim == nil || s.releasedElsewhere() {
			return fault.New(fault.Conflict, fault.NotHeld, "nobody holds handoff %s", s.ID)
		}
		return b.take(ctx, s, record.Released, func(r *record.Record) {
			if s.elsewhere != nil { // others know another claim as the one in force
				r.Claim = claimOf(s.elsewhere.Record())
			}
		})
	})
}

// Delegate records in the lane that the holder of a handoff passes authority on to a child: a
// "progressed" entry naming the child, without changing the lease. The entry comes before the
// offer of the child, because the child's token counts by it alone. If the child is never
// offered, the entry does no harm.
func (e *Engine) Delegate(ctx context.Context, home Home, h ClaimProof, child handoff.ID) (*State, error) {
	return e.act(ctx, home, h.Place, fromCopies, func(s *State, b *batch) error {
		if err := e.Author.checkHeld(s, h); err != nil {
			return err
		}
		if s.names(child, e.Author.Signer.KID()) {
			return nil
		}
		return b.take(ctx, s, record.Progressed, func(r *record.Record) { r.Lease, r.Next = s.Lease, child })
	})
}
