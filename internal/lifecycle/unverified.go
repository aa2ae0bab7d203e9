package lifecycle

import (
	"cmp"
	"context"

	"githandoff/internal/handoff"
	"githandoff/internal/record"
	"githandoff/internal/sign"
)

// LoadUnverified reads the envelope of a loaded state without verifying who signed it. Use
// it for hints such as notes, never to print to an agent.
func (vr *Verifier) LoadUnverified(ctx context.Context, s *State) (*handoff.Envelope, error) {
	if len(s.Chain) == 0 {
		return nil, s.Err()
	}
	v, err := vr.open(ctx, s)
	if err != nil {
		return nil, err
	}
	return v.envelope, nil
}

// mayOffer lets a sender offer under its own names, a root key under any name, and the
// agent that failed a handoff send its return handoff, which the receipt names.
func (rd *Reader) mayOffer(ctx context.Context, home Home, key sign.Key, r *record.Record, d depth) error {
	err := maySend(key, r)
	if err == nil || r.Parent == "" || d != asked {
		return err
	}
	// The copies of a hub may lack the parent's lane: it was not asked for.
	for _, look := range []func() error{
		func() error { return nil },
		func() error { return home.Refresh(ctx, FetchSpec{Lanes: []handoff.ID{r.Parent}}) },
	} {
		if rerr := look(); rerr != nil {
			return rerr
		}
		if sent, rerr := rd.sentBack(ctx, home, key, r); sent || rerr != nil {
			return rerr
		}
	}
	return err
}

// sentBack reports whether r is the return handoff of its parent: the parent
// ended here with a "failed" that counts and names r, by the same key, and r is
// for the agent that the parent's offer names for that, or else for its source.
// That key needs no role of a sender for it; nor does it get one, for a parent that
// is a return handoff itself has none.
func (rd *Reader) sentBack(ctx context.Context, home Home, key sign.Key, r *record.Record) (bool, error) {
	tip, err := rd.Repo.Resolve(ctx, home.Namespace().Lane(r.Parent))
	if err != nil {
		return false, err
	}
	s := &State{ID: r.Parent, LaneTip: tip}
	if s.Entries, err = rd.Lanes.about(ctx, tip, r.Parent); err != nil {
		return false, err
	}
	rd.replayAs(ctx, home, s, above)
	over := s.Receipt
	return over != nil && over.Event == record.Failed && over.Next == r.ID && over.Key == key.KID() &&
		r.To == cmp.Or(s.Offer.OnFailure, s.Offer.From) && key.MayAct(sign.RoleRecipient, r.From, r.At) == nil, nil
}
