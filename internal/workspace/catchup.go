package workspace

import (
	"context"

	"githandoff/internal/crossrepo"
	"githandoff/internal/refs"
)

// catchUp is CatchUp, with forks joined by whoever has a root key.
func (d *Workspace) catchUp(ctx context.Context, hub *crossrepo.Hub) error {
	if !d.Engine.MayJoin() {
		return hub.CatchUp(ctx, nil)
	}
	return hub.CatchUp(ctx, func(lane refs.Ref, hubTip string) error {
		o, err := d.Engine.Join(ctx, hubTip, lane.OID)
		if err != nil {
			return err
		}
		if err := d.Repo.Write(o, refs.NewObject("tree", nil)); err != nil {
			return err
		}
		if err := hub.GiveBack(ctx, refs.Edit{Ref: lane.Name, Old: hubTip, New: o.OID}); err != nil {
			return err
		}
		return hub.FetchLanes(ctx, []string{hub.RemoteName(lane.Name) + ":" + lane.Name})
	})
}
