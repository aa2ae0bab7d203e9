package receipt

import (
	"context"

	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
	"githandoff/internal/workspace"
)

func (w *Writer) deletions(ctx context.Context, names ...string) []refs.Edit {
	edits, _ := refs.Deletions(ctx, w.Engine.Repo, names...) // refs that cannot be read are not deleted
	return edits
}

// FreeCheckpoints drops the checkpoints kept for a handoff at its final end: its own, and the
// one of each handoff whose receipt passed the work on to it. A parent still under way keeps
// its own.
func (w *Writer) FreeCheckpoints(ctx context.Context, id, parent handoff.ID) []refs.Edit {
	edits := w.deletions(ctx, refs.Checkpoint(id))
	if parent == "" {
		return edits
	}
	if kept, err := w.Engine.Repo.List(ctx, refs.Checkpoint("")); err != nil || len(kept) == len(edits) {
		return edits
	}
	for range handoff.MaxChain {
		if parent == "" {
			break
		}
		s, err := w.ancestorState(ctx, parent)
		if err != nil || s.Receipt == nil || s.Receipt.Next != id || s.Offer == nil {
			break // the parent is unknown, or did not end with this handoff: gc looks again
		}
		edits = append(edits, w.deletions(ctx, refs.Checkpoint(parent))...)
		id, parent = parent, s.Offer.Parent
	}
	return edits
}

// ancestorState reads the state of a handoff, from its home if the copies here do not show its
// end.
func (w *Writer) ancestorState(ctx context.Context, id handoff.ID) (*lifecycle.State, error) {
	f, err := w.Workspace.Find(ctx, string(id), workspace.Never)
	if err != nil {
		return nil, err
	}
	if f.State.Receipt != nil {
		return f.State, nil
	}
	if err := f.Home.Refresh(ctx, lifecycle.FetchSpec{Lanes: []handoff.ID{id}}); err != nil {
		return nil, err
	}
	return w.Engine.Reader.Load(ctx, f.Home, lifecycle.Place{ID: id})
}
