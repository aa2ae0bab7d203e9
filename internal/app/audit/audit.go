package audit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"githandoff/internal/audited"
	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
	"githandoff/internal/workspace"
)

// Finding is one thing that an audit found wrong.
type Finding struct {
	Reason fault.Reason // lost, rollback, disputed, untrusted_key, …
	ID     handoff.ID
	Lane   string
	Text   string
	Hints  []fault.Hint
}

// words has the text of a finding: two findings with the same words are one.
type words struct {
	reason     fault.Reason
	id         handoff.ID
	lane, text string
}

func (f Finding) words() words { return words{f.Reason, f.ID, f.Lane, f.Text} }

// Visitor receives the output of an audit, one call at a time: entries lane by lane and, in
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
	fetched, err := h.fetchAll(ctx, homes)
	if err != nil {
		return err
	}
	for _, home := range homes {
		unread := false
		if hub, ok := home.(*crossrepo.Hub); ok {
			if err := h.tellFetched(ctx, hub, fetched[hub], a); err != nil {
				return err
			}
			unread = fault.CodeOf(fetched[hub].err) == fault.Unavailable
		}
		if err := h.auditHome(ctx, home, unread, a); err != nil {
			return err
		}
	}
	return nil
}

// audited returns the homes to audit: the hubs of the named aliases or, if none is named, all homes.
func (h *Handler) audited(ctx context.Context, aliases []string) ([]lifecycle.Home, error) {
	if len(aliases) > 0 {
		only, err := h.Workspace.Hubs(ctx, aliases)
		var homes []lifecycle.Home
		for _, hub := range only {
			homes = append(homes, hub)
		}
		return homes, err
	}
	used, err := workspace.UsedHomes(ctx, h.Engine.Repo)
	for _, id := range used {
		if _, err := h.Workspace.Home(ctx, id); fault.Is(err, fault.UnknownHome) {
			h.Workspace.Unread(fmt.Errorf("%w, where handoffs of this clone may be open: githandoff sync says how to name it", err))
		}
	}
	return h.Workspace.All(ctx), err
}

// auditHome compares the lanes of a home with its inbox refs. Agents may work meanwhile, and refs
// are read one after the other. If a ref of a finding has moved by the end, its lane is compared
// once more, and that result counts. The copies of an unread hub's inboxes and lanes may be of
// different times, so a difference between them proves nothing.
func (h *Handler) auditHome(ctx context.Context, home lifecycle.Home, unread bool, a Visitor) error {
	said := map[words]bool{}
	first := a
	first.Finding = func(home lifecycle.Home, f Finding) error {
		said[f.words()] = true
		return a.Finding(home, f)
	}
	c := compare(h.Engine.Repo, home, first)
	if err := h.run(ctx, c, audited.Program()); err != nil || unread {
		return err
	}
	moved, err := c.settle(ctx)
	if err != nil || len(moved) == 0 {
		return err
	}
	again := compare(h.Engine.Repo, home, Visitor{
		Entry: func(lifecycle.Home, *lifecycle.Entry) error { return nil },
		Finding: func(home lifecycle.Home, f Finding) error {
			if said[f.words()] {
				return nil // the first comparison reported the same
			}
			return a.Finding(home, f)
		},
	})
	again.only = moved
	if err := h.run(ctx, again, ""); err != nil {
		return err
	}
	return again.tell()
}

func (h *Handler) run(ctx context.Context, c *comparison, program string) error {
	var listed error
	var beside sync.WaitGroup
	beside.Go(func() { listed = c.list(ctx) })
	remembered, err := audited.Open(h.Engine, c.home, program)
	if err == nil {
		remembered.ReadAhead(ctx)
		defer remembered.Close()
	}
	beside.Wait()
	if err := errors.Join(err, listed); err != nil {
		return err
	}
	if c.lost { // refs do not show a lost object, so the memory, which compares refs, does not help
		if remembered, err = audited.Open(h.Engine, c.home, ""); err != nil {
			return err
		}
	}
	if c.unchanged = remembered.Unchanged(c.digest, c.lanes); !c.unchanged {
		if err := c.read(ctx, remembered); err != nil {
			return err
		}
	}
	if err := remembered.Lanes(ctx, c.lanes, c.visitor(ctx)); err != nil {
		return err
	}
	c.rest()
	return nil
}

// fetched is the result of fetching everything from one hub: the lanes that this clone knew
// before, and the error if the hub could not be read.
type fetched struct {
	memory []refs.Ref
	err    error
}

// fetchAll brings in everything that the hubs among homes have, side by side.
func (h *Handler) fetchAll(ctx context.Context, homes []lifecycle.Home) (map[*crossrepo.Hub]*fetched, error) {
	all := map[*crossrepo.Hub]*fetched{}
	var hubs []*crossrepo.Hub
	for _, home := range homes {
		hub, ok := home.(*crossrepo.Hub)
		if !ok {
			continue
		}
		memory, err := hub.Memory(ctx)
		if err != nil {
			return nil, err
		}
		hubs, all[hub] = append(hubs, hub), &fetched{memory: memory}
	}
	errs := crossrepo.AskAll(hubs, func(hub *crossrepo.Hub) error { return hub.FetchLog(ctx, crossrepo.AllInboxes) })
	for i, hub := range hubs {
		all[hub].err = errs[i]
	}
	return all, nil
}

// tellFetched judges the lanes that a hub showed. A rewritten lane is a finding. If the hub is
// down, it is reported as unread, and the copies of its lanes are audited.
func (h *Handler) tellFetched(ctx context.Context, hub *crossrepo.Hub, f *fetched, a Visitor) error {
	err := f.err
	var lost []string
	if err == nil {
		lost, err = hub.AdvanceAll(ctx, f.memory)
	}
	for _, why := range hub.StuckLanes() {
		f := fault.As(why)
		hints := slices.DeleteFunc(slices.Clone(f.Hints), func(h fault.Hint) bool { return slices.Contains(h.Run, "audit") })
		if err := a.Finding(hub, Finding{Reason: f.Reason, Text: why.Error(), Hints: hints}); err != nil {
			return err
		}
	}
	if len(lost) > 0 {
		if moved := fault.As(hub.Moved(ctx)); moved != nil {
			return a.Finding(hub, Finding{Reason: moved.Reason, Text: moved.Message, Hints: moved.Hints})
		}
		first := slices.IndexFunc(f.memory, func(lane refs.Ref) bool { return hub.RemoteName(lane.Name) == lost[0] })
		if hidden := fault.As(hub.WhyLost(ctx, f.memory[first])); hidden != nil {
			return a.Finding(hub, Finding{Reason: fault.Rollback, Lane: lost[0], Text: hidden.Message, Hints: hidden.Hints})
		}
	}
	for _, lane := range lost {
		if err := a.Finding(hub, Finding{Reason: fault.Rollback, Lane: lane, Text: lane + " is gone from the hub; this clone has seen it"}); err != nil {
			return err
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
