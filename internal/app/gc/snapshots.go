package gc

import (
	"context"

	"githandoff/internal/fault"
	"githandoff/internal/receipt"
	"githandoff/internal/refs"
	"githandoff/internal/workcopy"
	"githandoff/internal/workspace"
)

// snapshots drops the refs of snapshots whose handoff is gone.
func (c *collection) snapshots(ctx context.Context, list []refs.Ref) error {
	strays, err := receipt.Strays(ctx, c.Engine.Repo, list)
	if err != nil {
		return err
	}
	for _, s := range strays {
		err := c.remove(Collected{What: "snapshot", ID: s.ID, Ref: s.Ref}, func() error { return s.Drop(ctx, c.Engine.Repo) })
		if err != nil {
			return err
		}
	}
	return nil
}

// copies removes the unfinished work copies of ended handoffs. The next resume handles the
// others.
func (c *collection) copies(ctx context.Context) error {
	copies := &workcopy.Handler{Repo: c.Engine.Repo}
	ids, err := copies.Left()
	if err != nil {
		return err
	}
	for _, id := range ids {
		f, err := c.Workspace.Find(ctx, string(id), workspace.Never)
		if fault.CodeOf(err) == fault.NotFound {
			continue
		}
		if err != nil {
			return err
		}
		if f.State.Receipt == nil {
			continue
		}
		if err := c.remove(Collected{What: "copy", ID: id}, func() error { return copies.Clear(ctx, id) }); err != nil {
			return err
		}
	}
	return nil
}
