package take

import (
	"cmp"
	"context"
	"slices"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
	"githandoff/internal/workspace"
)

// resumeByID claims a handoff by its id, or the last characters of it.
func (t *search) resumeByID(ctx context.Context) (*Result, error) {
	if err := workspace.CheckArg(t.Arg); err != nil {
		return nil, t.withTask(ctx, t.Arg, err)
	}
	h, err := t.Work.Find(t.Arg)
	if err != nil {
		return nil, err
	}
	if h != nil && !h.Ended && h.Actor == t.Agent {
		home, err := t.Workspace.Home(ctx, h.Home)
		if err != nil {
			return nil, err
		}
		if err := home.Refresh(ctx, lifecycle.WholeHandoffs(h.Place())); err != nil {
			return nil, err
		}
		return t.claim(ctx, home, lifecycle.ClaimRequest{Place: h.Place(), ByID: true})
	}
	homes, down := t.Workspace.Sources(ctx)
	var refused, copied error // refusal of a home that the handoff may be for, and error at a home with a copy
	for _, home := range homes {
		p, err := t.locate(ctx, home, t.Arg)
		if fault.CodeOf(err) == fault.Unavailable {
			down = err
			continue
		}
		if err != nil {
			return nil, err
		}
		if p == nil {
			continue
		}
		g, err := t.claim(ctx, home, lifecycle.ClaimRequest{Place: *p, ByID: true})
		switch {
		case err != nil && t.isCopy(ctx, home, *p):
			copied = cmp.Or(copied, err)
		case fault.Is(err, fault.AudienceMismatch):
			refused = cmp.Or(refused, err)
		default:
			if down != nil {
				t.problems = append(t.problems, down)
			}
			return g, t.explain(ctx, home, *p, err)
		}
	}
	if refused != nil && down != nil {
		t.problems = append(t.problems, down)
	}
	if err := cmp.Or(refused, down, copied); err != nil {
		return nil, err
	}
	return nil, fault.New(fault.NotFound, fault.UnknownHandoff, "no handoff %s waits for %s", crossrepo.Quote(t.Arg), t.Agent).
		WithHints(append(t.Workspace.HintOtherHubs(), fault.Run("githandoff", "inbox", "--all").Because("lists waiting handoffs with their ids"))...)
}

// isCopy reports whether the inbox of a home has a copy of a handoff of another home.
func (t *search) isCopy(ctx context.Context, home lifecycle.Home, p lifecycle.Place) bool {
	it := &workspace.Item{Home: home, Kind: refs.KindInbox, Place: p, Ref: home.Namespace().Inbox(p.Agent, p.ID)}
	return t.Workspace.Load(ctx, it) == nil && it.IsCopy()
}

// withTask adds to the refusal of an argument that is no id the waiting handoffs of that task, as
// far as they are known here.
func (t *search) withTask(ctx context.Context, task string, refusal error) error {
	f := fault.As(refusal)
	items, err := t.Workspace.InboxItems(ctx, t.Workspace.All(ctx)...)
	if f == nil || err != nil {
		return refusal
	}
	var hints []fault.Hint
	for _, it := range items {
		if t.Workspace.Load(ctx, it) == nil && it.Record != nil && it.Record.Task == task {
			hints = append(hints, fault.Run("githandoff", "resume", string(it.Place.ID)).Because("takes a handoff of that task"))
		}
	}
	return f.WithHints(append(hints, f.Hints...)...)
}

// explain replaces the refusal of a claim if this agent holds the handoff elsewhere, and that of a
// key if the handoff waits for another agent: then the key is not at fault.
func (t *search) explain(ctx context.Context, home lifecycle.Home, p lifecycle.Place, err error) error {
	refused := fault.As(err)
	if !fault.Is(err, fault.UntrustedKey) && !fault.Is(err, fault.Claimed) {
		return err
	}
	s, lerr := t.Engine.Reader.Load(ctx, home, p)
	switch {
	case lerr != nil:
		return err
	case refused.Reason == fault.Claimed && s.Claim != nil && s.Claim.Actor == t.Agent:
		where := fault.As(t.Work.HeldElsewhere(s))
		if where == nil {
			return err
		}
		return fault.New(refused.Code, refused.Reason, "%s", where.Message).WithHints(where.Hints...)
	case refused.Reason == fault.Claimed, s.To == "", slices.Contains(t.Workspace.Inboxes(), s.To):
		return err
	}
	if s.To == handoff.Nobody {
		return fault.New(fault.Denied, fault.UntrustedKey, "handoff %s waits for a decision: nobody may take it yet", s.ID).
			WithHints(fault.Run("githandoff", "route", string(s.ID)).Because("shows the decision that it needs"))
	}
	return fault.New(fault.Denied, fault.UntrustedKey, "handoff %s waits for %s, not for %s: %w", s.ID, s.To, t.Agent, err).
		WithHints(fault.Run("githandoff", "inbox").Because("lists the handoffs that wait for %s", t.Agent))
}

// locate finds a handoff at a home by id or last characters, freshly. An ended one is found by
// its lane, so the refusal can say how it ended.
func (t *search) locate(ctx context.Context, home lifecycle.Home, arg string) (*lifecycle.Place, error) {
	if id, err := handoff.ParseID(arg); err == nil {
		return t.locateID(ctx, home, id)
	}
	if err := home.Refresh(ctx, t.inboxesAndLog()); err != nil {
		return nil, err
	}
	items, err := t.Workspace.InboxItems(ctx, home)
	if err != nil {
		return nil, err
	}
	var found *lifecycle.Place
	for _, it := range items {
		if !it.Place.ID.Matches(arg) {
			continue
		}
		if found != nil {
			return nil, handoff.Ambiguous(arg, found.ID, it.Place.ID)
		}
		found = &it.Place
	}
	if found != nil {
		return found, home.Refresh(ctx, lifecycle.FetchSpec{Lanes: []handoff.ID{found.ID}, Once: true})
	}
	id, err := t.Workspace.FetchLogged(ctx, home, arg)
	if id == "" || err != nil {
		return nil, err
	}
	return t.locateID(ctx, home, id)
}

// locateID finds a handoff at a home by its whole id, in the inbox it waits in.
func (t *search) locateID(ctx context.Context, home lifecycle.Home, id handoff.ID) (*lifecycle.Place, error) {
	spec := lifecycle.FetchSpec{Lanes: []handoff.ID{id}}
	for _, agent := range t.Workspace.Inboxes() {
		spec.Places = append(spec.Places, lifecycle.Place{Agent: agent, ID: id})
	}
	if err := home.Refresh(ctx, spec); err != nil {
		return nil, err
	}
	for _, p := range spec.Places {
		s, err := t.Engine.Reader.Load(ctx, home, p)
		if err != nil {
			return nil, err
		}
		if s.Tip == "" && len(s.Entries) == 0 {
			continue
		}
		if s.Agent != "" {
			p.Agent = s.Agent
		}
		return &p, nil
	}
	return nil, nil
}
