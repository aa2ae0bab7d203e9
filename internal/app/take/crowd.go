package take

import (
	"context"
	"errors"
	"maps"

	"githandoff/internal/crossrepo"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
	"githandoff/internal/workspace"
)

const (
	// crowdKeys is the number of keys from which on the agents of one inbox are a crowd. The
	// whole inbox changes faster than one of them can take from it, so each fetches only the
	// handoffs it will try.
	crowdKeys = 4

	// smallCrowd is the largest number of keys in a crowd whose agents may begin with the whole
	// inbox: the time spent on it grows with their number.
	smallCrowd = 8

	// widened is how many more handoffs are fetched if none of the first ones was free.
	widened = 64
)

// part is a hub of whose inboxes only a part was fetched.
type part struct {
	hub   *crossrepo.Hub
	rest  []*workspace.Item // in the order in which this agent would try them
	sizes []int             // of the next fetches; after those all inboxes are fetched
}

// lookAtHub looks at a hub. In a small crowd, the first look in an hour, or after ten minutes of
// other work, fetches the inboxes and the log, in one connection. The others are the looks of an
// agent emptying an inbox, and fetch a part.
func lookAtHub(ctx context.Context, t *search, hub *crossrepo.Hub) error {
	sp, err := t.newSpread(t.Workspace.Inboxes())
	if err != nil {
		return err
	}
	if sp.keys() > smallCrowd || !crossrepo.LooksAtAll(hub) {
		return lookAtShare(ctx, t, hub, sp)
	}
	err = hub.Bring(ctx, crossrepo.Look{FetchSpec: t.inboxesAndLog()})
	if err == nil {
		crossrepo.LookedAtAll(hub)
	}
	return err
}

// lookAtShare makes one or two connections. The first one lists the inboxes: the names tell which
// handoffs are of this agent's share. If this clone knows one of those as it is now, no second
// one is needed. Otherwise the second one fetches a few, with their lanes, for this claim and the
// next ones. An agent emptying the inbox always fetches: its next claims need no look then.
func lookAtShare(ctx context.Context, t *search, hub *crossrepo.Hub, sp *spread) error {
	empties := sp.now.Sub(hub.LastRead()) < 2*turn
	list, err := crossrepo.ListOf(ctx, hub, t.Workspace.Inboxes())
	if err != nil {
		return err
	}
	mine, same, err := t.dropOutdated(ctx, hub, list.Inboxes)
	if err != nil {
		return err
	}
	var open, known []*workspace.Item
	for _, it := range workspace.ItemsOf(hub, hub.Namespace(), list.Inboxes) {
		if !t.skipped[it.Place.ID] && !mine[it.Place.ID] && (empties || !same[it.Ref]) {
			open = append(open, it)
		}
	}
	n := min(len(open), sp.window(0))
	sp.order(open[:n])
	p := &part{hub: hub, rest: open, sizes: []int{tried, widened}}
	if empties {
		return lookAtPart(ctx, t, p)
	}
	if known, err = fetchedOffers(ctx, t, hub, mine); err != nil {
		return err
	}
	if len(known) > 0 && sp.leads(known[0], open) {
		first := refs.Ref{Name: known[0].Ref, OID: known[0].Commit}
		if list.Shows(ctx, hub, first, known[0].Place.ID) {
			t.unchanged, t.parts = known[0].Place.ID, append(t.parts, p)
			return nil
		}
	}
	p.rest = append(known[:min(len(known), 1)], open...) // its lane may have moved
	return lookAtPart(ctx, t, p)
}

// fetchedOffers returns the offers of a hub copied in this clone, best first. No hub is asked.
func fetchedOffers(ctx context.Context, t *search, hub *crossrepo.Hub, mine map[handoff.ID]bool) ([]*workspace.Item, error) {
	offline := t.offline(func(error) {}) // the choice after the look warns
	maps.Copy(offline.skipped, mine)
	return offline.offers(ctx, []lifecycle.Home{hub})
}

// lookAtPart fetches the next handoffs of a hub, and remembers the rest.
func lookAtPart(ctx context.Context, t *search, p *part) error {
	if len(p.rest) == 0 {
		return nil
	}
	n := min(p.sizes[0], len(p.rest))
	var look crossrepo.Look
	for _, it := range p.rest[:n] {
		look.Places, look.Lanes = append(look.Places, it.Place), append(look.Lanes, it.Place.ID)
	}
	p.rest, p.sizes = p.rest[n:], p.sizes[1:]
	if len(p.rest) > 0 {
		t.parts = append(t.parts, p)
	}
	return p.hub.Bring(ctx, look)
}

// lookFurther fetches more of the partly fetched hubs, and at last all their inboxes. It reports
// whether there was more.
func lookFurther(ctx context.Context, t *search) (more bool) {
	parts := t.parts
	t.parts = nil
	for _, p := range parts {
		if len(p.sizes) > 0 {
			t.homeFailed(p.hub, lookAtPart(ctx, t, p))
			continue
		}
		t.homeFailed(p.hub, p.hub.Bring(ctx, crossrepo.Look{FetchSpec: lifecycle.FetchSpec{Inboxes: t.Workspace.Inboxes()}}))
	}
	return len(parts) > 0
}

// dropOutdated drops the copies of inbox refs which the hub has no more, or has moved: others
// claimed those offers. A handoff recorded as held here keeps its copy as long as the hub has it.
// The ids of such handoffs are returned, and the copies equal to the hub's refs.
func (t *Handler) dropOutdated(ctx context.Context, hub *crossrepo.Hub, list []refs.Ref) (mine map[handoff.ID]bool, same map[string]bool, err error) {
	held, err := t.Claims.Held()
	if err != nil {
		return nil, nil, err
	}
	mine, same = make(map[handoff.ID]bool, len(held)), map[string]bool{}
	for _, h := range held {
		mine[h.ID] = true
	}
	there := make(map[string]string, len(list))
	for _, ref := range list {
		there[ref.Name] = ref.OID
	}
	known, err := t.Workspace.InboxItems(ctx, hub)
	if err != nil {
		return nil, nil, err
	}
	var drop []refs.Edit
	for _, it := range known {
		now := there[it.Ref]
		same[it.Ref] = now == it.Commit
		if now == "" || now != it.Commit && !mine[it.Place.ID] {
			drop = append(drop, refs.Edit{Ref: it.Ref, Old: it.Commit})
		}
	}
	err = t.Repo.Apply(ctx, refs.Transaction{Edits: drop})
	if errors.As(err, new(*refs.StaleError)) {
		err = nil // another command of this clone has looked as well
	}
	return mine, same, err
}
