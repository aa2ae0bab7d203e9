package take

import (
	"context"
	"maps"

	"githandoff/internal/crossrepo"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
	"githandoff/internal/workspace"
)

const (
	// crowdKeys is the number of keys from which the agents of one inbox are a crowd. The whole
	// inbox changes faster than one of them can take from it, so each fetches only the handoffs it
	// will try.
	crowdKeys = 4

	// smallCrowd is the largest number of keys in a crowd whose agents may begin with the whole
	// inbox: the time spent on it grows with their number.
	smallCrowd = 8

	// widened is how many more handoffs are fetched if none of the first ones was free.
	widened = 64
)

// crowdLook is the look of an agent of a crowd at one hub. It fetches the inboxes part by part.
type crowdLook struct {
	*choice
	hub   *crossrepo.Hub
	rest  []*workspace.Item // offers not fetched yet, in the order in which this agent would try them
	sizes []int             // sizes of the next parts; after the last part, all inboxes are fetched
}

// begin makes the first look. In a small crowd, the first look in an hour, or after ten minutes of
// other work, fetches the inboxes and the log, in one connection. Any other look is that of an
// agent emptying an inbox, and fetches a part.
func (l *crowdLook) begin(ctx context.Context) error {
	sp, err := l.newSpread(l.Workspace.Inboxes())
	if err != nil {
		return err
	}
	if sp.keys() > smallCrowd || !l.hub.DueForWhole() {
		return l.atShare(ctx, sp)
	}
	err = l.hub.Fetch(ctx, l.inboxesAndLog())
	if err == nil {
		l.hub.NoteWhole()
	}
	return err
}

// atShare makes one or two connections. The first one lists the inboxes: the names tell which
// handoffs are of this agent's share. If this clone knows one of those as it is now, no second
// one is needed. Otherwise the second one fetches a few, with their lanes, for this claim and the
// next ones. An agent emptying the inbox always fetches: its next claims need no look then.
func (l *crowdLook) atShare(ctx context.Context, sp *spread) error {
	empties := sp.now.Sub(l.hub.LastRead()) < 2*turn
	list, err := l.hub.List(ctx, l.Workspace.Inboxes())
	if err != nil {
		return err
	}
	held, same, err := l.dropOutdated(ctx, list.Inboxes)
	if err != nil {
		return err
	}
	var open []*workspace.Item
	for _, it := range workspace.ItemsOf(l.hub, l.hub.Namespace(), list.Inboxes) {
		if !l.skipped[it.Place.ID] && !held[it.Place.ID] && (empties || !same[it.Ref]) {
			open = append(open, it)
		}
	}
	sp.order(open[:min(len(open), sp.window(0))])
	l.rest = open
	if empties {
		return l.next(ctx)
	}
	known, err := l.copied(ctx, held)
	if err != nil {
		return err
	}
	if len(known) > 0 && sp.leads(known[0], open) {
		first := refs.Ref{Name: known[0].Ref, OID: known[0].Commit}
		if list.Shows(ctx, first, known[0].Place.ID) {
			l.unchanged, l.looks = known[0].Place.ID, append(l.looks, l)
			return nil
		}
	}
	l.rest = append(known[:min(len(known), 1)], open...) // the lane of the known offer may have moved
	return l.next(ctx)
}

// copied returns the offers of the hub copied in this clone, best first, without those held here. No hub
// is asked.
func (l *crowdLook) copied(ctx context.Context, held map[handoff.ID]bool) ([]*workspace.Item, error) {
	offline := l.offline() // its problems are dropped: the choice after the look meets them again
	maps.Copy(offline.skipped, held)
	return offline.offersAt(ctx, l.hub)
}

// next fetches the next part, and remembers the rest. After the last part it fetches all inboxes.
func (l *crowdLook) next(ctx context.Context) error {
	switch {
	case len(l.sizes) == 0:
		return l.hub.Fetch(ctx, lifecycle.FetchSpec{Inboxes: l.Workspace.Inboxes()})
	case len(l.rest) == 0:
		return nil
	}
	n := min(l.sizes[0], len(l.rest))
	spec := lifecycle.WholeHandoffs(workspace.Places(l.rest[:n])...)
	l.rest, l.sizes = l.rest[n:], l.sizes[1:]
	if len(l.rest) > 0 {
		l.looks = append(l.looks, l)
	}
	return l.hub.Fetch(ctx, spec)
}

// lookFurther fetches the next part of the partly fetched hubs. It reports whether there was more.
func (t *choice) lookFurther(ctx context.Context) (more bool) {
	looks := t.looks
	t.looks = nil
	for _, l := range looks {
		t.homeFailed(l.hub, l.next(ctx))
	}
	return len(looks) > 0
}

// dropOutdated drops the copies of inbox refs which the hub no longer has, or has moved: others
// claimed those offers. A handoff recorded as held here keeps its copy as long as the hub has it.
// dropOutdated returns the ids of the held handoffs, and which copies equal the hub's refs.
func (l *crowdLook) dropOutdated(ctx context.Context, list []refs.Ref) (held map[handoff.ID]bool, same map[string]bool, err error) {
	claims, err := l.Claims.Held()
	if err != nil {
		return nil, nil, err
	}
	held, same = make(map[handoff.ID]bool, len(claims)), map[string]bool{}
	for _, h := range claims {
		held[h.ID] = true
	}
	there := make(map[string]string, len(list))
	for _, ref := range list {
		there[ref.Name] = ref.OID
	}
	known, err := l.Workspace.InboxItems(ctx, l.hub)
	if err != nil {
		return nil, nil, err
	}
	var drop []refs.Edit
	for _, it := range known {
		now := there[it.Ref]
		same[it.Ref] = now == it.Commit
		if now == "" || now != it.Commit && !held[it.Place.ID] {
			drop = append(drop, refs.Edit{Ref: it.Ref, Old: it.Commit})
		}
	}
	return held, same, refs.ApplyUnlessMoved(ctx, l.Engine.Repo, drop)
}
