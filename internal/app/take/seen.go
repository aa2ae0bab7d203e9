package take

import (
	"context"
	"maps"
	"slices"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/lifecycle"
	"githandoff/internal/workspace"
)

// claimSeen claims an offer brought by an earlier look at its hub, without another look: one
// connection in place of two. The hub refuses the claim if anything has moved. read is a hub that
// was read along with a claim that failed: it needs no look any more.
func (t *choice) claimSeen(ctx context.Context, homes []lifecycle.Home) (g *Result, read lifecycle.Home, err error) {
	offline := t.offline()
	for {
		it, err := offline.firstSeen(ctx, homes)
		if it == nil || err != nil {
			return nil, nil, err
		}
		hub := it.Home.(*crossrepo.Hub)
		g, looked, err := t.attempt(ctx, it)
		if looked {
			hub.NoteContested(true) // the lane had moved since the earlier look
		}
		switch code := fault.CodeOf(err); {
		case err == nil:
			t.problems = append(t.problems, offline.problems...) // without a claim, the choice after the look meets them again
			t.refused = offline.refused
			return g, nil, nil
		case t.crowded && code == fault.Conflict && t.lost < lostInARow:
			t.lost++
			offline.skipped[it.Place.ID] = true // not in t.skipped: a look may show the offer free again
		case code == fault.Unavailable:
			t.homeFailed(hub, err)
			return nil, nil, nil
		case looked:
			return nil, hub, nil
		default:
			return nil, nil, nil // the look that follows meets the error again, and reports it
		}
	}
}

// offline returns a choice for the same that skips the same offers. Its refusals and problems are its own.
func (t *choice) offline() *choice {
	return &choice{search: &search{Handler: t.Handler, Request: t.Request}, crowded: t.crowded, skipped: maps.Clone(t.skipped)}
}

// firstSeen returns the offer of a hub that this agent would try first, if it can be claimed as an earlier
// look showed it and its lane. It returns nil if the offer to try first is in this repository: the search
// after claimSeen takes it.
func (t *choice) firstSeen(ctx context.Context, homes []lifecycle.Home) (*workspace.Item, error) {
	known := slices.DeleteFunc(slices.Clone(homes), func(home lifecycle.Home) bool {
		hub, ok := home.(*crossrepo.Hub)
		switch {
		case t.Peek:
			return true
		case !ok:
			return t.crowded
		// Since a turn ended, other agents may have taken offers of this agent's present share.
		case t.crowded:
			return turnOf(hub.LastRead()) != turnOf(t.Engine.Now())
		}
		return !hub.MayClaimSeen()
	})
	offers, err := t.offersAt(ctx, known...)
	if err != nil || len(offers) == 0 {
		return nil, err
	}
	first := offers[0]
	hub, ok := first.Home.(*crossrepo.Hub)
	if !ok {
		return nil, nil
	}
	own, err := t.inOwnShare(first)
	if err != nil || !own || !hub.AdvanceSeen(ctx, first.Place.ID) {
		return nil, err
	}
	return first, nil
}

// inOwnShare reports whether an offer is of this agent's share. Another agent takes an offer of
// its own share soon, if it has not since the look.
func (t *choice) inOwnShare(it *workspace.Item) (bool, error) {
	sp, err := t.newSpread([]string{it.Place.Agent})
	return err == nil && sp.rank(it.Place.Agent, it.Place.ID) == 0, err
}
