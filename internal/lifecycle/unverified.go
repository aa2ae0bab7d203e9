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
	tip, rerr := e.Repo.Resolve(ctx, home.Space().Lane(r.Parent))
	if rerr != nil {
		return rerr
	}
	entries, rerr := laneEntries(ctx, e.Repo, tip, r.Parent)
	if rerr != nil {
		return rerr
	}
	for _, entry := range entries {
		p := entry.Record()
		if entry.Dispute == nil && p.Event == record.Failed && p.Next == r.ID && p.Key == r.Key &&
			key.MayAct(sign.RoleRecipient, r.From, r.At) == nil &&
			key.Verify(sign.NamespaceGit, entry.Commit.Payload(), entry.Commit.Signature) == nil {
			return nil
		}
	}
	return err
}
