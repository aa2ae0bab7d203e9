package hubsync

import (
	"context"
	"fmt"
	"slices"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
	"githandoff/internal/workspace"
)

// wantWork asks a hub for the snapshot of a handoff sent there. Its commit is here, so only the name
// comes.
func (r *syncing) wantWork(ctx context.Context, it *workspace.Item, places []lifecycle.Place) {
	hub, ok := it.Home.(*crossrepo.Hub)
	if !ok || it.Kind != refs.KindSent {
		return
	}
	a := r.at(hub)
	if a == nil || len(a.spec.Work)+len(places) > crossrepo.MostWork {
		return // a snapshot that was not asked for would seem to be gone
	}
	if kept, err := r.Engine.Repo.Resolve(ctx, refs.WorkOut(it.Place.ID)); err == nil && kept != "" {
		a.spec.Work = append(a.spec.Work, places...)
	}
}

// compareWork notes what the fetched copies of snapshots say, and drops them: a snapshot from here has a
// ref of its own. The hub may have other refs whose names begin like that of a snapshot.
func (r *syncing) compareWork(ctx context.Context, a *asked) error {
	var drop []refs.Edit
	for _, p := range a.spec.Work {
		kept, err := r.Engine.Repo.Resolve(ctx, refs.WorkOut(p.ID))
		if err != nil {
			return err
		}
		copied, there := a.hub.Namespace().Work(p.Agent, p.ID), ""
		copies, err := r.Engine.Repo.List(ctx, copied+"*")
		if err != nil {
			return err
		}
		for _, ref := range copies {
			if ref.Name == copied {
				there = ref.OID
			}
			drop = append(drop, refs.Edit{Ref: ref.Name, Old: ref.OID})
		}
		if kept != "" && there != kept {
			a.lost = append(a.lost, refs.Edit{Ref: copied, Old: there, New: kept})
		}
	}
	return refs.ApplyUnlessMoved(ctx, r.Engine.Repo, drop)
}

// giveWork gives a hub the snapshot of an open handoff again, if it lost it, or has another commit in its
// place. Nobody but the sender needs to have it. If the history of all refs was rewritten here, that of the
// hub is the right one. A refusal is only a warning: the hub still takes the steps of the handoff.
func (r *syncing) giveWork(ctx context.Context, hub *crossrepo.Hub, it *workspace.Item, p lifecycle.Place) error {
	a := r.at(hub)
	if a == nil || a.err != nil {
		return nil //nolint:nilerr // the sync has reported the error
	}
	ref := hub.Namespace().Work(p.Agent, p.ID)
	i := slices.IndexFunc(a.lost, func(e refs.Edit) bool { return e.Ref == ref })
	if i < 0 {
		return nil
	}
	sent, err := reload(ctx, r, it)
	if err != nil {
		return err
	}
	if w := sent.Envelope.Work; w == nil || w.Commit != a.lost[i].New { // a sealed handoff has none
		return nil
	}
	switch err := hub.Apply(ctx, refs.Transaction{Edits: a.lost[i : i+1]}); {
	case fault.Is(err, fault.HubRefused):
		r.Workspace.Warn(err)
		return nil
	case err != nil:
		return err
	}
	r.Workspace.Warn(fmt.Errorf("%s did not have the snapshot of handoff %s any more, and got it back", hub.Alias.Name, p.ID))
	return nil
}
