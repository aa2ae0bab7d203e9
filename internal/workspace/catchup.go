package workspace

import (
	"context"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/refs"
)

// CatchUp is [crossrepo.Hub.CatchUp], with forks joined by whoever has a root key.
func (hs *Homes) CatchUp(ctx context.Context, hub *crossrepo.Hub) error {
	if !hs.Engine.Author.MayJoin() {
		return hub.CatchUp(ctx, nil)
	}
	return hub.CatchUp(ctx, func(lane refs.Ref, hubTip string) error {
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
		return hub.FetchLanes(ctx, []string{hub.RemoteName(lane.Name) + ":" + lane.Name})
	})
}

// FetchKnown brings in what is published at a hub, and every lane of it that this clone
// has a copy of, in one round trip. It names each lane in full, so that git fails
// where the hub has lost one: a hub that was restored from a backup is noticed, and
// is given back what it lost.
func (hs *Homes) FetchKnown(ctx context.Context, hub *crossrepo.Hub, published ...string) error {
	known, err := hs.Repo.List(ctx, hub.Space().Lanes())
	if err != nil {
		return err
	}
	var specs []string
	for _, ref := range published {
		specs = append(specs, "+"+hub.RemoteName(ref)+"*:"+ref+"*")
	}
	for _, lane := range known {
		specs = append(specs, hub.RemoteName(lane.Name)+":"+lane.Name)
	}
	err = hub.FetchLanes(ctx, specs)
	if err != nil && len(known) > 0 && fault.CodeOf(err) != fault.Interrupted {
		if err := hs.CatchUp(ctx, hub); err != nil {
			return err
		}
		err = hub.FetchLanes(ctx, specs)
	}
	if err != nil {
		return err
	}
	for _, lane := range known {
		hub.FetchedLane(lane.Name)
	}
	return nil
}
