package crossrepo

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/refs"
)

// sources are the homes to take work from: this repository, the aliases of
// handoff.pull, and the hubs that hold something this repository sent or that
// waits for this agent.
func (d *Desk) sources(ctx context.Context, down *error) []lifecycle.Home {
	homes := []lifecycle.Home{d.Local}
	add := func(h lifecycle.Home) {
		if !slices.Contains(homes, h) {
			homes = append(homes, h)
		}
	}
	pull := d.Repo.Config.All("handoff.pull")
	if _, set := d.Repo.Config["handoff.pull"]; !set && slices.Contains(d.Aliases.Names(), "origin") {
		pull = []string{"origin"}
	}
	for _, alias := range pull {
		hub, err := d.Hub(ctx, alias)
		if err != nil {
			*down = err
			continue
		}
		add(hub)
	}
	out, err := d.outgoing(ctx)
	if err != nil {
		d.Warn(err)
	}
	for _, it := range out {
		if it.Kind == "sent" && it.Home != nil {
			add(it.Home)
		}
	}
	for _, h := range d.waiting(ctx) {
		add(h)
	}
	return homes
}

// waiting are the hubs that held something for this agent when they were last
// read: what came back after a failure or a question waits there, and the sent
// ref that led to it is gone.
func (d *Desk) waiting(ctx context.Context) []lifecycle.Home {
	var patterns []string
	for _, agent := range d.Inboxes() {
		patterns = append(patterns, refs.Root+"remotes/*/inbox/"+agent+"/*")
	}
	if len(patterns) == 0 {
		return nil
	}
	list, err := d.Repo.List(ctx, patterns...)
	if err != nil {
		d.Warn(err)
	}
	var homes []lifecycle.Home
	seen := map[string]bool{}
	for _, ref := range list {
		space, _, _ := strings.Cut(ref.Name, "/inbox/")
		if seen[space] {
			continue
		}
		seen[space] = true
		if it, err := d.itemOf(ctx, ref); err == nil && it != nil {
			homes = append(homes, it.Home)
		}
	}
	return homes
}

// offers are the oldest handoffs that look as if they could be taken.
func (d *Desk) offers(ctx context.Context, homes []lifecycle.Home, skip map[handoff.ID]bool, q Query) ([]*Item, error) {
	var all []*Item
	for _, home := range homes {
		items, err := d.inbox(ctx, home, d.Inboxes())
		if err != nil {
			return nil, err
		}
		all = append(all, items...)
	}
	slices.SortStableFunc(all, func(a, b *Item) int { return cmp.Compare(a.Place.ID, b.Place.ID) })
	now := d.Engine.Now()
	var open []*Item
	for _, it := range all {
		if skip[it.Place.ID] {
			continue
		}
		if err := d.load(ctx, it); err != nil {
			return nil, err
		}
		if it.Fault != nil {
			d.Warn(it.Fault)
			skip[it.Place.ID] = true
			continue
		}
		if free(it.Record, now) {
			open = append(open, it)
		}
		if len(open) == window {
			break
		}
	}
	return open, nil
}

// free reports whether the tip of an inbox ref says that nobody holds it: open,
// or held by a claim that ran out twice its lease ago.
func free(tip *record.Record, now time.Time) bool {
	switch tip.Event {
	case record.Claimed, record.Progressed:
		return now.After(tip.Lease.Add(tip.Lease.Sub(tip.At)))
	}
	return true
}
