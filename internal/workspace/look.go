package workspace

import (
	"context"
	"slices"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
)

// look asks the hubs of a sync what is new: published keys and lists, and the
// lanes that this clone knows, those of its claims among them.
func (r *syncing) look(ctx context.Context) error {
	held, err := r.heldAt()
	if err != nil {
		return err
	}
	hubs := r.only
	if hubs == nil {
		hubs = r.pulledHubs(ctx)
	}
	for _, hub := range hubs { // before anything is judged by the keys
		if r.only != nil {
			r.keep(r.catchUp(ctx, hub))
		}
		for repoID := range held { // its lanes come along
			if hub.Answers(repoID) {
				delete(held, repoID)
			}
		}
		one, err := r.SyncTeam(ctx, hub)
		if one != nil {
			r.done = append(r.done, *one)
		}
		r.keep(err)
	}
	for repoID, ids := range held {
		home, err := r.Home(ctx, repoID)
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
	pulled := r.pulled()
	for _, alias := range pulled {
		hub, err := r.Hub(ctx, alias)
		r.keep(err)
		if err == nil {
			hubs = append(hubs, hub)
		}
	}
	for _, alias := range r.Aliases.Names() {
		if _, _, err := r.Aliases.Look(alias); !slices.Contains(pulled, alias) && fault.Is(err, fault.AudienceMismatch) {
			r.keep(err)
		}
	}
	return hubs
}

// lookIn brings in what is published at a hub, and every lane of it that this clone
// has a copy of, in one round trip. It names each lane in full, so that git fails
// where the hub has lost one: a hub that was restored from a backup is noticed, and
// is given back what it lost.
func (d *Workspace) lookIn(ctx context.Context, hub *crossrepo.Hub, published ...string) error {
	known, err := d.Repo.List(ctx, hub.Space().Lanes())
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
		if err := d.catchUp(ctx, hub); err != nil {
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

// heldAt are the ids of the claims that this agent works on, by the repo id of
// their home.
func (d *Workspace) heldAt() (map[string][]handoff.ID, error) {
	held, err := d.recorded()
	at := map[string][]handoff.ID{}
	for _, h := range held {
		at[h.Home] = append(at[h.Home], h.ID)
	}
	return at, err
}
