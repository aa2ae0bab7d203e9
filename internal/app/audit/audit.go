package audit

import (
	"context"

	"githandoff/internal/audited"
	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
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
	lanes, err := h.Repo.List(ctx, home.Space().Lanes())
	if err != nil {
		return err
	}
	remembered, err := audited.Open(h.Engine, home, audited.Program())
	if err != nil {
		return err
	}
	c := compare(home, a)
	if err := c.read(ctx, h.Repo, lanes, remembered); err != nil {
		return err
	}
	if err := remembered.Lanes(ctx, h.Engine, lanes, c.visitor()); err != nil {
		return err
	}
	return c.rest()
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
