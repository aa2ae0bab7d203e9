package workspace

import (
	"context"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/record"
	"githandoff/internal/refs"
)

// AdvanceAndGiveBack checks the lanes of a hub against the memory from before the fetch, and gives the
// hub its lost entries back.
func (hs *Homes) AdvanceAndGiveBack(ctx context.Context, hub *crossrepo.Hub, memory []refs.Ref) error {
	err := hub.AdvanceMemory(ctx, memory)
	if err != nil && !fault.Is(err, fault.Rollback) {
		return err
	}
	if err == nil {
		lost, err := hub.Lost(ctx, memory)
		if err != nil || len(lost) == 0 {
			return err
		}
	}
	by := crossrepo.Means{
		Offers: func(lane refs.Edit) ([]refs.Edit, error) { return offersOf(ctx, hs, hub, lane) },
		Join:   hs.join(ctx, hub),
	}
	if err := hub.GiveBackLost(ctx, memory, by); err != nil {
		return err
	}
	return hub.AdvanceMemory(ctx, memory)
}

// join returns a function that joins two histories of a lane; nil if this clone has no root key,
// which it takes.
func (hs *Homes) join(ctx context.Context, hub *crossrepo.Hub) func(lane refs.Edit, onto string) error {
	if !hs.Engine.Author.IsRoot() {
		return nil
	}
	return func(lane refs.Edit, onto string) error {
		o, err := hs.Engine.Join(ctx, onto, lane.New)
		if err != nil {
			return err
		}
		objects := []*refs.Object{o, refs.NewObject(hs.Repo.Format, "tree", nil)}
		if err := hs.Repo.Store.Write(objects...); err != nil {
			return err
		}
		lane.New = o.OID
		if err := hub.GiveBack(ctx, []refs.Edit{lane}, objects...); err != nil {
			return err
		}
		return hub.AdvanceJoined(ctx, lane.Ref)
	}
}

// offersOf returns the refs of the handoffs that were offered by the lost part of a lane, if this clone
// sent all of them, and nothing else is lost there: the push then is that of the offers.
func offersOf(ctx context.Context, hs *Homes, hub *crossrepo.Hub, lane refs.Edit) (edits []refs.Edit, err error) {
	seen := map[handoff.ID]bool{}
	only := true
	err = hs.Engine.Reader.Lanes.Walk(ctx, lane.New, func(oid string, raw []byte) (bool, error) {
		if oid == lane.Old {
			return false, nil
		}
		c, perr := record.ParseCommit(raw)
		if only = perr == nil && c.Record.Event == record.Offered && !seen[c.Record.ID]; !only {
			return false, nil
		}
		r := c.Record
		seen[r.ID] = true
		ref := refs.Sent(r.To, r.ID)
		sent, err := hs.Repo.Resolve(ctx, ref)
		if only = err == nil && sent == r.Payload; !only {
			return false, err
		}
		p, err := hs.Engine.Verifier.Reload(ctx, ref)
		if err != nil {
			return false, err
		}
		if w := p.Envelope.Work; w != nil {
			edits = append(edits, refs.Edit{Ref: hub.Namespace().Work(r.To, r.ID), New: w.Commit})
		}
		edits = append(edits, refs.Edit{Ref: hub.Namespace().Inbox(r.To, r.ID), New: sent})
		return true, nil
	})
	if !only {
		return nil, err
	}
	return edits, err
}
