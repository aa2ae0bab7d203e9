package audit

import (
	"context"
	"fmt"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/refs"
)

// Finding is one thing that an audit found wrong.
type Finding struct {
	Reason fault.Reason // lost, rollback, disputed, untrusted_key, …
	ID     handoff.ID
	Lane   string
	Text   string
	Hints  []fault.Hint
}

// Visitor is what an audit tells, one call at a time: entries lane by lane and, in
// a lane, handoff by handoff, oldest first, and findings as they turn up.
type Visitor struct {
	Entry   func(home lifecycle.Home, e *lifecycle.Entry) error
	Finding func(home lifecycle.Home, f Finding) error
}

// Run reads every lane of this repository and of the hubs that it knows,
// checks every signature and judges every entry, and compares what the lanes
// say with the inbox refs that are there. Of the log only the ids of one lane are
// in memory at a time.
func (h *Handler) Run(ctx context.Context, aliases []string, a Visitor) error {
	homes, err := h.audited(ctx, aliases)
	if err != nil {
		return err
	}
	for _, home := range homes {
		if err := h.auditHome(ctx, home, a); err != nil {
			return err
		}
	}
	return nil
}

// audited are the homes to look at; hubs are fetched first, whole.
func (h *Handler) audited(ctx context.Context, aliases []string) ([]lifecycle.Home, error) {
	if len(aliases) > 0 {
		only, err := h.Workspace.Chosen(ctx, aliases)
		var homes []lifecycle.Home
		for _, hub := range only {
			homes = append(homes, hub)
		}
		return homes, err
	}
	spaces, err := h.Workspace.Spaces(ctx)
	var homes []lifecycle.Home
	for _, s := range spaces {
		homes = append(homes, s.Home)
	}
	return homes, err
}

func (h *Handler) auditHome(ctx context.Context, home lifecycle.Home, a Visitor) error {
	if hub, ok := home.(*crossrepo.Hub); ok {
		if err := h.fetchAll(ctx, hub, a); err != nil {
			return err
		}
	}
	open, err := h.openRefs(ctx, home, a)
	if err != nil {
		return err
	}
	lanes, err := h.Repo.List(ctx, home.Space().Lanes())
	if err != nil {
		return err
	}
	for _, lane := range lanes {
		err := h.Engine.Reader.Audit(ctx, home, lane, lifecycle.LaneAudit{
			Entry: func(e *lifecycle.Entry) error {
				id := e.Record().ID
				if at := open[id]; at != nil && at.nonce == e.Record().Nonce && lane.Name == home.Space().Lane(id) {
					at.logged = true
				}
				if err := a.Entry(home, e); err != nil || e.Dispute == nil || e.Overtaken {
					return err
				}
				return a.Finding(home, disputeOf(lane.Name, e))
			},
			Inbox: func(id handoff.ID) string {
				if at := open[id]; at != nil {
					return at.ref
				}
				return ""
			},
			State: func(s *lifecycle.State) error { return compareState(home, lane.Name, s, open, a) },
		})
		if f := fault.As(err); f != nil && f.Code == fault.Denied {
			err = a.Finding(home, Finding{Reason: f.Reason, Lane: lane.Name, Text: f.Message})
		}
		if err != nil {
			return err
		}
	}
	for id, at := range open {
		f := Finding{Reason: fault.Unlogged, ID: id, Text: fmt.Sprintf("%s exists, but no lane mentions it", at.ref)}
		if err := a.Finding(home, f); err != nil {
			return err
		}
	}
	return nil
}

// fetchAll brings in everything a hub has. A lane that it rewrote is a finding,
// and of a hub that is down the copies are audited, and it is told of as unread.
func (h *Handler) fetchAll(ctx context.Context, hub *crossrepo.Hub, a Visitor) error {
	err := hub.Refresh(ctx, lifecycle.Want{Inboxes: []string{crossrepo.AllInboxes}})
	if err == nil {
		err = hub.RefreshAllLanes(ctx)
	}
	for _, why := range hub.Refusals() {
		if err := a.Finding(hub, Finding{Reason: fault.Rollback, Text: why.Error()}); err != nil {
			return err
		}
	}
	if err == nil {
		var lost []string
		if lost, err = hub.MissingLanes(ctx); err == nil {
			for _, lane := range lost {
				if err := a.Finding(hub, Finding{Reason: fault.Rollback, Lane: lane, Text: lane + " is gone from the hub; this clone has seen it"}); err != nil {
					return err
				}
			}
		}
	}
	switch {
	case fault.Is(err, fault.Rollback):
		return a.Finding(hub, Finding{Reason: fault.Rollback, Text: err.Error()})
	case fault.CodeOf(err) == fault.Unavailable:
		h.Workspace.Unread(err)
		return nil
	}
	return err
}

// openRef is an inbox ref, and whether the lanes that were read have an entry
// for its tip.
type openRef struct {
	ref, nonce string
	logged     bool
}

// openRefs are the inbox refs of a home with the nonces of their tips.
func (h *Handler) openRefs(ctx context.Context, home lifecycle.Home, a Visitor) (map[handoff.ID]*openRef, error) {
	open := map[handoff.ID]*openRef{}
	err := refs.Commits(ctx, h.Repo, func(ref refs.Ref, raw []byte) error {
		p, ok := home.Space().ParsePlace(ref.Name)
		if !ok {
			return a.Finding(home, Finding{Reason: fault.InvalidID, Text: ref.Name + " is not the name of a handoff"})
		}
		r, err := record.Scan(raw)
		if err != nil || r.ID != p.ID {
			return a.Finding(home, Finding{Reason: fault.MalformedObject, ID: p.ID, Text: ref.Name + " does not hold this handoff"})
		}
		open[p.ID] = &openRef{ref: ref.Name, nonce: r.Nonce}
		return nil
	}, string(home.Space())+"inbox/")
	return open, err
}

func disputeOf(lane string, e *lifecycle.Entry) Finding {
	found := Finding{Reason: fault.Disputed, ID: e.Record().ID, Lane: lane, Text: e.Dispute.Error()}
	if f := fault.As(e.Dispute); f != nil {
		found.Reason, found.Hints = f.Reason, f.Hints
	}
	return found
}

// compareState holds what a lane says of a handoff against its inbox ref, and
// removes from open what was accounted for.
func compareState(home lifecycle.Home, lane string, s *lifecycle.State, open map[handoff.ID]*openRef, a Visitor) error {
	at := open[s.ID]
	delete(open, s.ID)
	f := Finding{ID: s.ID, Lane: lane}
	switch {
	case s.Offer == nil: // its entries are findings already
	case s.Receipt != nil && at != nil:
		f.Reason, f.Text = fault.Unswept, at.ref+" is still there after its receipt (githandoff gc)"
	case s.Receipt == nil && at == nil && s.UndecidedEnd != nil: // that key is a finding already
	case s.Receipt == nil && at == nil:
		f.Reason, f.Text = fault.Lost, fmt.Sprintf("handoff %s disappeared from %s without a receipt", s.ID, home.ID())
	case s.Receipt == nil && !at.logged:
		f.Reason, f.Text = fault.Unlogged, "the last step on "+at.ref+" is not in the lane"
	}
	if f.Reason == "" {
		return nil
	}
	return a.Finding(home, f)
}
