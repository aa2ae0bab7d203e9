package take

import (
	"context"
	"maps"
	"slices"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
	"githandoff/internal/workspace"
)

// resumeKnown claims an offer that an earlier look at its hub has brought, without another
// look: one connection in place of two. The hub refuses the claim if anything has moved.
// It returns the homes that are to be asked then; one that did not answer is not among
// them, and is the error.
func (t *Handler) resumeKnown(ctx context.Context, homes []lifecycle.Home, all *passed, q Request) (*Result, []lifecycle.Home, error) {
	it, err := t.known(ctx, homes, all, q)
	if it == nil || err != nil {
		return nil, homes, err
	}
	hub := it.Home.(*crossrepo.Hub)
	end := crossrepo.Along(hub, lifecycle.FetchSpec{Inboxes: t.Workspace.Inboxes(), Log: true})
	g, err := t.claim(ctx, hub, it.Place, q, false)
	looked := end()
	if err == nil {
		if looked {
			crossrepo.Met(hub, true) // the lane had moved
		}
		return g, nil, nil
	}
	rest := slices.DeleteFunc(slices.Clone(homes), func(h lifecycle.Home) bool { return h == it.Home })
	switch {
	case fault.CodeOf(err) == fault.Unavailable:
		return nil, rest, err
	case looked:
		crossrepo.Met(hub, true)
		return nil, rest, nil // it was asked along with the claim
	}
	return nil, homes, nil // whatever it is, it is found again and said after a look
}

// known is the offer that this agent would try first of those that it knows of, if it is
// at a hub and its lane is known as well.
func (t *Handler) known(ctx context.Context, homes []lifecycle.Home, all *passed, q Request) (*workspace.Item, error) {
	var hubs, prefixes = []lifecycle.Home{}, []string{}
	for _, home := range homes {
		hub, ok := home.(*crossrepo.Hub)
		if q.Peek || !ok || !crossrepo.Recalls(hub) {
			continue
		}
		hubs = append(hubs, hub)
		for _, agent := range t.Workspace.Inboxes() {
			prefixes = append(prefixes, hub.Namespace().Inbox(agent, ""))
		}
	}
	if names, err := refs.Named(ctx, t.Repo, prefixes...); err != nil || len(names) == 0 {
		return nil, err
	}
	offers, err := t.offers(ctx, hubs, &passed{warn: func(error) {}, silent: true, ids: maps.Clone(all.ids)})
	if err != nil || len(offers) == 0 || !crossrepo.Recall(ctx, offers[0].Home.(*crossrepo.Hub), offers[0].Place.ID) {
		return nil, err
	}
	return offers[0], nil
}
