package workspace

import (
	"context"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
)

// A checkpoint stands under the id of the handoff that named it, in the
// repository that sent it, and is kept until the work is over: through a
// failure until the receipt of the return handoff, through a reroute or an
// answer until that of the child.

// freeCheckpoint lets go of the commit that a handoff was to be rolled back to.
func (d *Workspace) freeCheckpoint(ctx context.Context, id handoff.ID) []refs.Edit {
	old, err := d.Repo.Resolve(ctx, refs.Checkpoint(id))
	if err != nil || old == "" {
		return nil
	}
	return []refs.Edit{{Ref: refs.Checkpoint(id), Old: old}}
}

// freeCheckpoints lets go of what a handoff that ends for good has kept alive:
// its own checkpoint, and that of each handoff whose receipt passed the work on
// to it. A parent that is still under way keeps its own.
func (d *Workspace) freeCheckpoints(ctx context.Context, id, parent handoff.ID) []refs.Edit {
	edits := d.freeCheckpoint(ctx, id)
	if parent == "" {
		return edits
	}
	if kept, err := d.Repo.List(ctx, refs.Checkpoint("")); err != nil || len(kept) == len(edits) {
		return edits
	}
	for range handoff.MaxChain {
		if parent == "" {
			break
		}
		s, err := d.ancestorState(ctx, parent)
		if err != nil || s.Receipt == nil || s.Receipt.Next != id || s.Offer == nil {
			break // not known: gc looks again
		}
		edits = append(edits, d.freeCheckpoint(ctx, parent)...)
		id, parent = parent, s.Offer.Parent
	}
	return edits
}

// ancestorState reads how a handoff stands, from its home if the copies here
// do not know of its end.
func (d *Workspace) ancestorState(ctx context.Context, id handoff.ID) (*lifecycle.State, error) {
	f, err := d.Find(ctx, string(id))
	if err != nil {
		return nil, err
	}
	if f.State.Receipt != nil {
		return f.State, nil
	}
	if err := f.Home.Refresh(ctx, lifecycle.Want{Lanes: []handoff.ID{id}}); err != nil {
		return nil, err
	}
	return d.Engine.Load(ctx, f.Home, lifecycle.Place{ID: id})
}

// CheckpointOf names the handoff whose checkpoint another one can go back to:
// itself, or the nearest that it follows from; "" where none has one here.
func (d *Workspace) CheckpointOf(ctx context.Context, arg string) (handoff.ID, error) {
	f, err := d.Find(ctx, arg)
	if err != nil {
		return "", err
	}
	id := f.State.ID
	for range handoff.MaxChain {
		if oid, err := d.Repo.Resolve(ctx, refs.Checkpoint(id)); err != nil || oid != "" {
			return id, err
		}
		if f == nil {
			break // nothing more is known here
		}
		if id = f.parent(); id == "" {
			break
		}
		f, err = d.Find(ctx, string(id))
		if err != nil && fault.CodeOf(err) != fault.NotFound {
			return "", err
		}
	}
	return "", nil
}

// parent is the handoff that one follows from, as its offer says.
func (f *Found) parent() handoff.ID {
	switch {
	case f.State.Offer != nil:
		return f.State.Offer.Parent
	case f.Item != nil && f.Item.Record != nil:
		return f.Item.Record.Parent
	}
	return ""
}
