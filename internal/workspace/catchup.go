package workspace

import (
	"context"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/refs"
)

// CatchUp is [crossrepo.Hub.CatchUp], with forks joined by whoever has a root key.
func (hs *Homes) CatchUp(ctx context.Context, hub *crossrepo.Hub) error {
	return hub.CatchUp(ctx, hs.join(ctx, hub))
}

// join joins two histories of a lane; nil where this clone has no key that may.
func (hs *Homes) join(ctx context.Context, hub *crossrepo.Hub) func(lane refs.Ref, hubTip string) error {
	if !hs.Engine.Author.MayJoin() {
		return nil
	}
	return func(lane refs.Ref, hubTip string) error {
		o, err := hs.Engine.Join(ctx, hubTip, lane.OID)
		if err != nil {
			return err
		}
		if err := hs.Repo.Store.Write(o, refs.NewObject("tree", nil)); err != nil {
			return err
		}
		if err := hub.GiveBack(ctx, refs.Edit{Ref: lane.Name, Old: hubTip, New: o.OID}); err != nil {
			return err
		}
		return hub.TakeJoined(ctx, lane)
	}
}

// LearnKnown judges the lanes that a hub showed, against a memory from before it was
// asked, and gives it back what it lost.
func (hs *Homes) LearnKnown(ctx context.Context, hub *crossrepo.Hub, memory []refs.Ref) error {
	err := hub.LearnKnown(ctx, memory)
	if err != nil && !fault.Is(err, fault.Rollback) {
		return err
	}
	if err == nil {
		lost, err := hub.Lost(ctx, memory)
		if err != nil || len(lost) == 0 {
			return err
		}
	}
	if err := hub.GiveBackLost(ctx, memory, hs.join(ctx, hub)); err != nil {
		return err
	}
	return hub.LearnKnown(ctx, memory)
}
