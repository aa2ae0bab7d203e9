package hubsync

import (
	"cmp"
	"context"
	"slices"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/obo"
	"githandoff/internal/refs"
	"githandoff/internal/team"
	"githandoff/internal/work"
	"githandoff/internal/workspace"
)

// asked is one hub of a sync, with the refs from one connection.
type asked struct {
	hub    *crossrepo.Hub
	whole  bool // ask for published keys and lists, and for every known lane, as well
	spec   lifecycle.FetchSpec
	memory []refs.Ref  // lanes as this clone knew them before the fetch
	lost   []refs.Edit // snapshots sent from here that the hub lost, or has another commit for
	err    error
}

// look asks the hubs of a sync side by side, once each, for everything the sync may need:
// published keys and lists, lanes, the handoffs of this clone, and notes.
func (r *syncing) look(ctx context.Context) error {
	held, err := r.Work.ByHome()
	if err != nil {
		return err
	}
	if r.out, err = r.Workspace.Outgoing(ctx); err != nil {
		return err
	}
	r.askWhole(ctx)
	for repoID, ids := range held {
		home, err := r.Workspace.Home(ctx, repoID)
		r.keep(err)
		r.want(home, lifecycle.FetchSpec{Lanes: ids})
	}
	if err := wantAbove(ctx, r); err != nil {
		return err
	}
	for _, it := range r.out {
		if it.Fault == nil {
			places := r.places(ctx, it)
			r.want(it.Home, lifecycle.FetchSpec{Places: places, Lanes: []handoff.ID{it.Place.ID}})
			r.wantWork(ctx, it, places)
		}
	}
	for _, a := range r.asked {
		if a.memory, err = a.hub.Memory(ctx); err != nil {
			return err
		}
		if a.whole {
			a.spec.Log, a.spec.Memory = true, a.memory
		}
	}
	errs := crossrepo.AskAll(r.hubs(), func(hub *crossrepo.Hub) error { return hub.Fetch(ctx, r.at(hub).spec) })
	for i, a := range r.asked { // take adopts the fetched keys before anything is judged by them
		if a.err = errs[i]; a.err == nil {
			a.err = r.compareWork(ctx, a)
		}
		if a.err == nil {
			a.err = r.take(ctx, a)
		}
		r.keep(a.err)
	}
	if slices.ContainsFunc(r.out, func(it *workspace.Item) bool { return fault.Is(it.Fault, fault.MissingObject) }) {
		r.out, err = r.Workspace.Outgoing(ctx) // the fetch may have restored lost objects
	}
	return err
}

// wantAbove asks the homes of the handoffs above a held one, whose authority it passes on: a revocation is
// logged there alone.
func wantAbove(ctx context.Context, r *syncing) error {
	held, err := r.Work.Recorded()
	if err != nil {
		return err
	}
	for _, h := range held {
		home, err := r.Workspace.Home(ctx, h.Home)
		if h.Token == "" || err != nil {
			continue
		}
		s, err := r.Engine.Reader.Load(ctx, home, h.Place())
		if err != nil {
			continue
		}
		above, err := r.Engine.Verifier.Above(ctx, s)
		if err != nil {
			continue // whoever uses the token meets the same error
		}
		for _, c := range above {
			for _, there := range homesOf(ctx, r, c) {
				r.want(there, lifecycle.FetchSpec{Lanes: []handoff.ID{c.Handoff.ID}})
			}
		}
	}
	return nil
}

// homesOf returns the home of a token's handoff; as long as none is known to have it, all for which the token is.
func homesOf(ctx context.Context, r *syncing, c *obo.Claims) (homes []lifecycle.Home) {
	for _, id := range c.Audience {
		home, err := r.Workspace.Home(ctx, id)
		if err != nil {
			continue
		}
		if r.Engine.Verifier.HasOffer(ctx, home, c) {
			return []lifecycle.Home{home}
		}
		homes = append(homes, home)
	}
	return homes
}

// places returns the inbox into which a waiting or sent handoff was delivered, and the one into
// which it was routed since, as far as this clone knows: there it is claimed.
func (r *syncing) places(ctx context.Context, it *workspace.Item) []lifecycle.Place {
	places := []lifecycle.Place{it.Place}
	if it.Place.Agent != handoff.Nobody {
		return places
	}
	s, err := r.Engine.Reader.Load(ctx, it.Home, it.Place)
	// syncSent meets the same error, and reports it.
	if err != nil || s.To == "" || s.To == it.Place.Agent {
		return places
	}
	return append(places, lifecycle.Place{Agent: s.To, ID: it.Place.ID})
}

// askWhole names the hubs to be asked for everything: the named ones, or those this clone pulls
// from.
func (r *syncing) askWhole(ctx context.Context) {
	hubs := r.only
	if hubs == nil {
		hubs = r.pulledHubs(ctx)
	}
	main := r.Workspace.MainRemote()
	for _, hub := range hubs {
		if r.at(hub) != nil {
			continue
		}
		r.asked = append(r.asked, &asked{hub: hub, whole: true, spec: lifecycle.FetchSpec{
			Inboxes:   append(r.Workspace.Inboxes(), handoff.Nobody), // of decisions as well
			Published: team.Published(hub), Few: r.Team.Pinned(hub),
			Notes: hub.Alias.Name == main,
		}})
	}
}

// want adds to the fetch spec of a home, if it is a hub of this sync.
func (r *syncing) want(home lifecycle.Home, spec lifecycle.FetchSpec) {
	hub, ok := home.(*crossrepo.Hub)
	if !ok || !r.wants(hub) {
		return
	}
	a := r.at(hub)
	if a == nil {
		a = &asked{hub: hub}
		r.asked = append(r.asked, a)
	}
	a.spec.Places, a.spec.Lanes = append(a.spec.Places, spec.Places...), append(a.spec.Lanes, spec.Lanes...)
}

// at returns a hub of this sync; nil where it is none.
func (r *syncing) at(hub *crossrepo.Hub) *asked {
	i := slices.IndexFunc(r.asked, func(a *asked) bool { return a.hub == hub })
	if i < 0 {
		return nil
	}
	return r.asked[i]
}

func (r *syncing) hubs() []*crossrepo.Hub {
	hubs := make([]*crossrepo.Hub, 0, len(r.asked))
	for _, a := range r.asked {
		hubs = append(hubs, a.hub)
	}
	return hubs
}

// take judges the fetched refs of a hub, and adopts the keys valid here.
func (r *syncing) take(ctx context.Context, a *asked) error {
	if a.whole {
		serial, err := r.Team.Sync(ctx, a.hub, func() error { return r.Workspace.AdvanceAndGiveBack(ctx, a.hub, a.memory) })
		if serial > 0 {
			r.done = append(r.done, Done{What: "adopted", Alias: a.hub.Alias.Name, Serial: serial})
		}
		if err != nil {
			return err
		}
		for _, why := range a.hub.StuckLanes() {
			r.Workspace.Warn(why)
		}
		if a.hub.GaveBack() != nil {
			r.sweep(ctx, a.hub)
		}
	}
	left := slices.DeleteFunc(slices.Clone(a.spec.Lanes), a.hub.LaneIsFresh)
	return a.hub.Refresh(ctx, lifecycle.FetchSpec{Lanes: left, Once: true})
}

// sweep deletes the inbox refs of ended handoffs at a hub that got its log back from this clone: they came
// back with a backup, older than their receipts.
func (r *syncing) sweep(ctx context.Context, hub *crossrepo.Hub) {
	err := hub.Refresh(ctx, lifecycle.FetchSpec{Inboxes: []string{crossrepo.AllInboxes}})
	var list []refs.Ref
	if err == nil {
		list, err = r.Engine.Repo.List(ctx, string(hub.Namespace())+"inbox/")
	}
	items := workspace.ItemsOf(hub, hub.Namespace(), list)
	slices.SortFunc(items, func(a, b *workspace.Item) int { return cmp.Compare(a.Place.ID.Lane(), b.Place.ID.Lane()) })
	for some := range slices.Chunk(items, workspace.MostSwept) {
		if err = r.Engine.Sweep(ctx, hub, workspace.Places(some)...); err != nil {
			break
		}
	}
	if err != nil {
		r.Workspace.Warn(err)
	}
}

// brought reports whether this sync has read what it needs to know of some handoffs.
func (a *asked) brought(items []*workspace.Item) bool {
	if a == nil || a.err != nil {
		return false
	}
	read := map[lifecycle.Place]bool{}
	for _, p := range a.spec.Places {
		read[p] = true
	}
	return !slices.ContainsFunc(items, func(it *workspace.Item) bool { return !read[it.Place] })
}

// without leaves out of a fetch spec the inboxes read by this sync, with their lanes.
func (a *asked) without(spec lifecycle.FetchSpec) lifecycle.FetchSpec {
	if a == nil || a.err != nil {
		return spec
	}
	spec.Places = slices.DeleteFunc(spec.Places, func(p lifecycle.Place) bool { return slices.Contains(a.spec.Inboxes, p.Agent) })
	spec.Once = len(spec.Places) == 0
	return spec
}

// isDown reports whether a hub did not answer: it is not asked again.
func (a *asked) isDown() bool { return a != nil && fault.Is(a.err, fault.RemoteUnavailable) }

// pulledHubs returns the hubs this clone takes work from. An alias leading to another repository
// than the pinned one is an error: its handoffs would neither come nor go.
func (r *syncing) pulledHubs(ctx context.Context) []*crossrepo.Hub {
	hubs := r.Workspace.PulledHubs(ctx, r.keep)
	for _, alias := range r.Aliases.Names() {
		if _, _, err := r.Aliases.Resolve(alias); !r.Workspace.Pulls(alias) && fault.Is(err, fault.AudienceMismatch) {
			r.keep(err)
		}
	}
	return hubs
}

// closeEnded closes the records of ended claims, and reports those ended by others. The error is
// for their holder.
func (hd *Handler) closeEnded(ctx context.Context, only []*crossrepo.Hub) (done []Done, stop error) {
	held, err := hd.Work.Recorded()
	if err != nil {
		return nil, err
	}
	for _, h := range held {
		st, err := hd.Work.Standing(ctx, h)
		if err != nil {
			return done, err
		}
		if hub, ok := st.Home.(*crossrepo.Hub); st.Over == nil || ok && only != nil && !slices.Contains(only, hub) {
			continue
		}
		if err := hd.Work.Close(ctx, st); err != nil {
			return done, err
		}
		if st.Own() {
			continue
		}
		done = append(done, Done{What: st.OverWord(), ID: h.ID, Alias: hd.Workspace.AliasOf(st.Home), Record: st.Over, Lost: true})
		stop = work.LostClaim(st)
	}
	return done, stop
}

// EndedAt asks the hub behind an alias about this agent's claims there, closes those ended by
// others, of this repository as well, and returns them. A hub without claims is not asked.
func (hd *Handler) EndedAt(ctx context.Context, alias string) ([]*work.Standing, error) {
	held, err := hd.Work.Recorded()
	if err != nil || len(held) == 0 {
		return nil, err
	}
	var down error
	if a, _, err := hd.Aliases.Resolve(alias); err == nil {
		var ids []handoff.ID
		for _, h := range held {
			if a.Is(h.Home) {
				ids = append(ids, h.ID)
			}
		}
		if len(ids) > 0 {
			down = hd.Workspace.HubAt(a).Refresh(ctx, lifecycle.FetchSpec{Lanes: ids})
		}
	}
	_, ended, err := hd.Work.CloseEnded(ctx, held)
	if err != nil {
		return nil, err
	}
	if len(ended) > 0 {
		return ended, nil
	}
	return nil, down
}
