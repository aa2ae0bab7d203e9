package render

import (
	"context"
	"slices"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/workspace"
)

// quote is the quotable part of a handoff.
type quote struct {
	id       handoff.ID
	open     bool              // it is in an inbox, where "show" finds it
	envelope *handoff.Envelope // content; nil if only ancestor is left
	ancestor *handoff.Ancestor // what a later handoff quotes of this one
	receipt  *record.Record    // nil while the handoff is under way, or if its log is not known
}

// find finds a handoff for a prompt: among those under way, in the archive, and in the lineage of
// those under way. The result is signed by a pinned key. An erased one quoted nowhere is refused
// with [fault.NotFound].
func find(ctx context.Context, ws *workspace.Workspace, arg string) (*quote, error) {
	f, err := ws.Find(ctx, arg, workspace.Never)
	if fault.CodeOf(err) == fault.NotFound {
		dep, qerr := quoted(ctx, ws, arg)
		if dep == nil && qerr == nil {
			return nil, err
		}
		return dep, qerr
	}
	if err != nil {
		return nil, err
	}
	if err := onlyOne(ctx, ws, f.State.ID); err != nil {
		return nil, err
	}
	dep := &quote{id: f.State.ID, receipt: f.State.Receipt, open: workspace.IsOpen(f.State)}
	if dep.envelope, err = ws.Content(ctx, f); dep.envelope != nil || err != nil {
		return dep, err
	}
	later, err := quoted(ctx, ws, string(dep.id))
	if err != nil {
		return nil, err
	}
	if later == nil {
		return nil, errErased(f.State)
	}
	dep.ancestor = later.ancestor
	return dep, nil
}

// onlyOne refuses an id of two handoffs at two homes: one is open, and the other one may be meant. The
// ids of the log are known to everybody, and each home takes an id that it has not seen.
func onlyOne(ctx context.Context, ws *workspace.Workspace, id handoff.ID) error {
	var first *lifecycle.State
	for _, home := range ws.All(ctx) {
		s, err := ws.Engine.Reader.Load(ctx, home, lifecycle.Place{ID: id})
		switch {
		case err != nil || s.Offer == nil: // a home with a refused log, or without the offer, has no say
		case first == nil:
			first = s
		case first.Payload != s.Payload:
			return fault.New(fault.Denied, fault.HandoffMismatch, "two handoffs have the id %s: one of %s, one of %s", id, first.Offer.Actor, s.Offer.Actor).
				WithHints(fault.Run("githandoff", "show", string(id)).Because("shows the one that is open"))
		}
	}
	return nil
}

func errErased(s *lifecycle.State) error {
	how := ""
	if r := s.Receipt; r != nil {
		how = " (" + string(r.Event) + " by " + r.Actor + " at " + handoff.FormatTime(r.At) + ")"
	}
	return fault.New(fault.NotFound, fault.Erased, "the content of handoff %s is gone%s, and no open handoff quotes it", s.ID, how).
		WithHints(fault.See("render").Because("an empty --dep value means that there is none"),
			fault.Run("git", "config", "handoff.archive", "true").Because("keeps the content of handoffs that end here from now on"))
}

// quoted looks for an ancestor in the lineages of open handoffs; nil if none quotes it. Only
// handoffs with the quote are verified; a refused one does not hide another.
func quoted(ctx context.Context, ws *workspace.Workspace, arg string) (*quote, error) {
	found := &quotes{ws: ws, arg: arg}
	err := ws.List(ctx, true, func(it *workspace.Item) error {
		if found.vouched != nil || it.Fault != nil || it.Home == nil {
			return nil //nolint:nilerr // a handoff with a broken tip quotes nothing
		}
		p, err := ws.Engine.Verifier.ReloadOffer(ctx, it.Commit)
		if err != nil || !slices.ContainsFunc(p.Envelope.Lineage, func(a handoff.Ancestor) bool { return a.ID.Matches(arg) }) {
			return nil //nolint:nilerr // an unreadable offer quotes nothing
		}
		s, err := ws.Engine.Verifier.Reader.Load(ctx, it.Home, it.Place)
		if err != nil {
			return err
		}
		env, err := ws.Content(ctx, &workspace.View{Home: it.Home, Item: it, State: s})
		if fault.As(err) != nil {
			found.refuse(err)
			return nil //nolint:nilerr // another handoff may have the quote
		}
		if err != nil || env == nil {
			return err
		}
		offer := s.Offer
		if offer == nil { // the handoff waits for delivery
			offer = it.Record
		}
		return found.add(ctx, env, offer)
	})
	if err != nil {
		return nil, err
	}
	return found.result()
}
