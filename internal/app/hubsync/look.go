package hubsync

import (
	"context"
	"slices"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/lifecycle"
)

// look asks the hubs of a sync what is new: published keys and lists, and the
// lanes that this clone knows, those of its claims among them.
func (r *syncing) look(ctx context.Context) error {
	held, err := r.h.Work.ByHome()
	if err != nil {
		return err
	}
	hubs := r.only
	if hubs == nil {
		hubs = r.pulledHubs(ctx)
	}
	for _, hub := range hubs { // before anything is judged by the keys
		if r.only != nil {
			r.keep(r.h.Workspace.CatchUp(ctx, hub))
		}
		for repoID := range held { // its lanes come along
			if hub.Answers(repoID) {
				delete(held, repoID)
			}
		}
		serial, err := r.h.Team.Sync(ctx, hub)
		if serial > 0 {
			r.done = append(r.done, Done{What: "adopted", Alias: hub.Alias.Name, Serial: serial})
		}
		r.keep(err)
	}
	for repoID, ids := range held {
		home, err := r.h.Workspace.Home(ctx, repoID)
		if hub, ok := home.(*crossrepo.Hub); err == nil && ok && r.wants(hub) {
			err = hub.Refresh(ctx, lifecycle.Want{Lanes: ids})
		}
		r.keep(err)
	}
	return nil
}

// pulledHubs are the hubs that this clone takes work from. An alias of any kind
// that leads to another repository than the one that was pinned is an error: its
// handoffs would neither come nor go.
func (r *syncing) pulledHubs(ctx context.Context) []*crossrepo.Hub {
	var hubs []*crossrepo.Hub
	pulled := r.h.Workspace.Pulled()
	for _, alias := range pulled {
		hub, err := r.h.Workspace.Hub(ctx, alias)
		r.keep(err)
		if err == nil {
			hubs = append(hubs, hub)
		}
	}
	for _, alias := range r.h.Aliases.Names() {
		if _, _, err := r.h.Aliases.Look(alias); !slices.Contains(pulled, alias) && fault.Is(err, fault.AudienceMismatch) {
			r.keep(err)
		}
	}
	return hubs
}
