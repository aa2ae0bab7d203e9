package take

import (
	"context"
	"errors"
	"maps"
	"slices"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
	"githandoff/internal/work"
	"githandoff/internal/workspace"
)

// claimSeen claims an offer brought by an earlier look at its hub, without another look: one
// connection in place of two. The hub refuses the claim if anything has moved. If nothing is
// claimed, claimSeen returns the homes to look at; a hub that gave no answer, or was read along
// with the claim, is not among them.
func (t *Handler) claimSeen(ctx context.Context, homes []lifecycle.Home, all *skips, q Request) (*Result, []lifecycle.Home, error) {
	var refused []error
	quiet := newSkips(func(err error) { refused = append(refused, err) })
	quiet.silent, quiet.ids = true, maps.Clone(all.ids)
	it, err := t.firstSeen(ctx, homes, quiet, q)
	if it == nil || err != nil {
		return nil, homes, err
	}
	g, looked, err := t.attempt(ctx, it, q)
	for many := crowded(t); many && fault.CodeOf(err) == fault.Conflict && all.lost < lostInARow; {
		all.lost++
		quiet.ids[it.Place.ID] = true // not all.ids: it may be free again, which a look shows
		next, kerr := t.firstSeen(ctx, homes, quiet, q)
		if next == nil || kerr != nil {
			return nil, homes, kerr
		}
		it = next
		g, looked, err = t.attempt(ctx, it, q)
	}
	hub := it.Home.(*crossrepo.Hub)
	if err == nil {
		if looked {
			crossrepo.NoteSeenClaim(hub, true) // the lane had moved
		}
		for _, err := range refused { // otherwise the look finds them again
			all.warn(err)
		}
		all.refused = quiet.refused
		return g, nil, nil
	}
	rest := slices.DeleteFunc(slices.Clone(homes), func(h lifecycle.Home) bool { return h == it.Home })
	switch {
	case fault.CodeOf(err) == fault.Unavailable:
		all.failed(it.Home, err)
		if nothingSent(err) {
			return nil, rest, forgetRefused(ctx, t, it.Place.ID)
		}
		return nil, rest, nil
	case looked:
		crossrepo.NoteSeenClaim(hub, true)
		return nil, rest, nil // the hub was read along with the claim
	}
	return nil, homes, nil // any other error comes again after a look, and is reported then
}

// firstSeen returns the seen offer this agent would try first, if it is at a hub and its lane was
// seen as well.
func (t *Handler) firstSeen(ctx context.Context, homes []lifecycle.Home, quiet *skips, q Request) (*workspace.Item, error) {
	hubs := slices.DeleteFunc(slices.Clone(homes), func(home lifecycle.Home) bool {
		hub, ok := home.(*crossrepo.Hub)
		return q.Peek || !ok || !mayClaimSeen(t, hub)
	})
	if names, err := refs.Named(ctx, t.Repo, workspace.InboxPrefixes(hubs, t.Workspace.Inboxes())...); err != nil || len(names) == 0 {
		return nil, err
	}
	offers, err := t.offers(ctx, hubs, quiet)
	if err != nil || len(offers) == 0 {
		return nil, err
	}
	first := offers[0]
	mine, err := isMine(t, first)
	if err != nil || !mine || !crossrepo.LearnSeen(ctx, first.Home.(*crossrepo.Hub), first.Place.ID) {
		return nil, err
	}
	return first, nil
}

// mayClaimSeen reports whether a claim on the state of an earlier look is worth a try. In a crowd
// the shares must be those of the last look: others have taken offers now in this agent's share.
func mayClaimSeen(t *Handler, hub *crossrepo.Hub) bool {
	if crowded(t) {
		return turnOf(hub.LastRead()) == turnOf(t.Engine.Now())
	}
	return crossrepo.MayClaimSeen(hub)
}

// isMine reports whether an offer is of this agent's share. Another agent takes an offer of
// its own share soon, if it has not since the look.
func isMine(t *Handler, it *workspace.Item) (bool, error) {
	sp, err := t.newSpread([]string{it.Place.Agent})
	return err == nil && sp.rank(it.Place.Agent, it.Place.ID) == 0, err
}

// attempt claims an offer. If others were faster, the hub is asked again, and the look brings
// everything for the next choice.
func (t *Handler) attempt(ctx context.Context, it *workspace.Item, q Request) (g *Result, looked bool, err error) {
	hub, ok := it.Home.(*crossrepo.Hub)
	if !ok {
		g, err = t.claim(ctx, it.Home, it.Place, q, false)
		return g, true, err
	}
	if crowded(t) {
		g, err = crowd{t}.claimOf(ctx, hub, it, q)
		return g, false, err
	}
	end := crossrepo.Along(hub, inboxesAndLog(t))
	g, err = t.claim(ctx, hub, it.Place, q, false)
	looked = end()
	if fault.CodeOf(err) == fault.Conflict {
		err = errors.Join(err, forgetLost(ctx, t, it))
	}
	return g, looked, err
}

// inboxesAndLog asks for everything needed for a choice: the inboxes of this agent, and the log.
func inboxesAndLog(t *Handler) lifecycle.FetchSpec {
	return lifecycle.FetchSpec{Inboxes: t.Workspace.Inboxes(), Log: true}
}

// forgetLost drops the record of a claim lost to others, so the next resume need not ask the hub
// about it.
func forgetLost(ctx context.Context, t *Handler, it *workspace.Item) error {
	h, err := t.Claims.Get(it.Place.ID)
	if err != nil || h == nil || !h.Held() || h.Printed {
		return err
	}
	s, err := t.Engine.Reader.Load(ctx, it.Home, it.Place)
	if err != nil || !superseded(s, h) {
		return err
	}
	return release(ctx, t.Claims, h)
}

// isOurs reports whether a recorded claim is the claim in force.
func isOurs(s *lifecycle.State, h *work.Claim) bool {
	return s.Receipt == nil && s.Claim != nil && h.Mine(s.Claim.Nonce)
}

// superseded reports whether a recorded claim can no longer arrive: the lane has moved past its
// lease, and lanes do not go back.
func superseded(s *lifecycle.State, h *work.Claim) bool {
	return s.Phase() != lifecycle.Open && !isOurs(s, h)
}

// release drops a recorded claim, unless another one was recorded since.
func release(ctx context.Context, claims work.Claims, h *work.Claim) error {
	return claims.Update(ctx, h.ID, func(stored *work.Claim) error {
		if stored.Nonce == h.Nonce {
			stored.Release()
		}
		return nil
	})
}

// moved returns the error of a hub which keeps its handoffs below another prefix by now, or hides
// them.
func moved(ctx context.Context, homes []lifecycle.Home) error {
	for _, home := range homes {
		if hub, ok := home.(*crossrepo.Hub); ok && crossrepo.Vanished(ctx, hub) {
			if err := crossrepo.Moved(ctx, hub); err != nil {
				return err
			}
			if err := crossrepo.Hides(ctx, hub); err != nil {
				return err
			}
		}
	}
	return nil
}
