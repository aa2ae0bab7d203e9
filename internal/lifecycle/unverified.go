package lifecycle

import (
	"context"

	"githandoff/internal/handoff"
	"githandoff/internal/record"
	"githandoff/internal/sign"
)

// LoadUnverified reads the envelope of a loaded state without asking who signed
// it: for hints such as notes, never for what an agent is told.
func (e *Engine) LoadUnverified(ctx context.Context, s *State) (*handoff.Envelope, error) {
	if len(s.Chain) == 0 {
		return nil, s.Verdict()
	}
	v, err := e.open(ctx, s)
	if err != nil {
		return nil, err
	}
	return v.envelope, nil
}

// mayOffer: a sender offers under its own names, a root key under any, and who
// failed a handoff sends its return handoff, which the receipt names.
func (e *Engine) mayOffer(ctx context.Context, home Home, key sign.Key, r *record.Record) error {
	err := maySend(key, r)
	if err == nil || r.Parent == "" {
		return err
	}
	// The copies of a hub may lack the parent's lane: it was not asked for.
	for _, look := range []func() error{
		func() error { return nil },
		func() error { return home.Refresh(ctx, Want{Lanes: []handoff.ID{r.Parent}}) },
	} {
		if rerr := look(); rerr != nil {
			return rerr
		}
		if sent, rerr := e.sentBack(ctx, home, key, r); sent || rerr != nil {
			return rerr
		}
	}
	return err
}

// sentBack reports whether the lane of r's parent has a receipt "failed" that
// names r as its return handoff, by the same key.
func (e *Engine) sentBack(ctx context.Context, home Home, key sign.Key, r *record.Record) (bool, error) {
	tip, err := e.Repo.Resolve(ctx, home.Space().Lane(r.Parent))
	if err != nil {
		return false, err
	}
	entries, err := e.laneEntries(ctx, tip, r.Parent)
	if err != nil {
		return false, err
	}
	for _, entry := range entries {
		p := entry.Record()
		if entry.Dispute == nil && p.Event == record.Failed && p.Next == r.ID && p.Key == r.Key &&
			key.MayAct(sign.RoleRecipient, r.From, r.At) == nil &&
			key.Verify(sign.NamespaceGit, entry.Commit.Payload(), entry.Commit.Signature) == nil {
			return true, nil
		}
	}
	return false, nil
}
