package finish

import (
	"context"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/receipt"
	"githandoff/internal/refs"
	"githandoff/internal/work"
)

// work says which snapshot goes back with a failure, and returns one that was taken for
// it. A failure does not wait for a snapshot that is not to be had: it says so.
func (f *Handler) work(ctx context.Context, home lifecycle.Home, s *lifecycle.State, child *handoff.Envelope, step work.Step, sealed bool) (*receipt.Taken, error) {
	switch {
	case f.Snapshot != nil:
		objects, err := f.Snapshot(ctx, home, child, sealed)
		if err != nil || child.Work == nil {
			return nil, err
		}
		return &receipt.Taken{ID: child.ID, Work: child.Work, Objects: objects}, nil
	case step.WithoutWork:
		child.Work = nil
		return nil, nil
	case step.Work != nil:
		child.Work = step.Work
	}
	if err := lifecycle.BringWork(ctx, f.Engine.Repo, home, s, child.Work); err != nil {
		f.Workspace.Warn(fault.New(fault.CodeOf(err), fault.NoSnapshot, "handoff %s goes back without the snapshot: %w", child.ID, err))
		child.Work = nil
	}
	return nil, nil
}

// goesNowhere refuses a snapshot that nothing would carry.
func goesNowhere(id handoff.ID) error {
	return fault.New(fault.Usage, fault.BadUsage, "nobody gets handoff %s back if it fails, and a snapshot goes back with it", id).
		WithHints(fault.See("emit").Because("sends a snapshot with a handoff of its own"))
}

// keepTaken keeps a snapshot that was taken for a step which waits for its hub.
func (f *Handler) keepTaken(ctx context.Context, done *receipt.Result) error {
	if done == nil || done.Taken == nil {
		return nil
	}
	edits, err := f.unkept(ctx, []refs.Edit{{Ref: refs.WorkOut(done.Taken.ID), New: done.Taken.Work.Commit}})
	if err != nil {
		return err
	}
	return f.Engine.Repo.Apply(ctx, refs.Transaction{Edits: edits, Objects: done.Taken.Objects})
}

// unkept leaves out of edits those that were made while a step waited for its hub.
func (f *Handler) unkept(ctx context.Context, edits []refs.Edit) (left []refs.Edit, err error) {
	for _, e := range edits {
		if e.Old, err = f.Engine.Repo.Resolve(ctx, e.Ref); err != nil {
			return nil, err
		}
		if e.Old != e.New {
			left = append(left, e)
		}
	}
	return left, nil
}
