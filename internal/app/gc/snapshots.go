package gc

import (
	"context"

	"githandoff/internal/fault"
	"githandoff/internal/receipt"
	"githandoff/internal/refs"
	"githandoff/internal/workcopy"
	"githandoff/internal/workspace"
)

// gcSnapshots lets go of snapshots whose handoff is gone.
func (h *Handler) gcSnapshots(ctx context.Context, list []refs.Ref, dryRun bool, visit func(Collected)) error {
	strays, err := receipt.Strays(ctx, h.Repo, list)
	if err != nil {
		return err
	}
	for _, s := range strays {
		visit(Collected{What: "snapshot", ID: s.ID, Ref: s.Ref})
		if dryRun {
			continue
		}
		if err := s.Drop(ctx, h.Repo); err != nil {
			return err
		}
	}
	return nil
}

// gcCopies removes the unfinished work copies of ended handoffs. The next resume handles the
// others.
func (h *Handler) gcCopies(ctx context.Context, dryRun bool, visit func(Collected)) error {
	copies := &workcopy.Handler{Repo: h.Repo}
	ids, err := copies.Left()
	if err != nil {
		return err
	}
	for _, id := range ids {
		f, err := h.Workspace.Find(ctx, string(id), workspace.Never)
		if fault.CodeOf(err) == fault.NotFound {
			continue
		}
		if err != nil {
			return err
		}
		if f.State.Receipt == nil {
			continue
		}
		visit(Collected{What: "copy", ID: id})
		if dryRun {
			continue
		}
		if err := copies.Clear(ctx, id); err != nil {
			return err
		}
	}
	return nil
}
