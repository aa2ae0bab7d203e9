package workspace

import (
	"context"

	"githandoff/internal/lifecycle"
)

// Names lists what lies in this agent's inboxes by the names of the refs alone, in
// this repository and in the copies of hubs: nothing is read of any of them, and some
// may be claimed. Load reads one.
func (d *Workspace) Names(ctx context.Context) ([]*Item, error) {
	spaces, err := d.Spaces(ctx)
	if err != nil {
		return nil, err
	}
	var patterns []string
	for _, s := range spaces {
		for _, agent := range d.Inboxes() {
			patterns = append(patterns, s.Space.Inbox(agent, ""))
		}
	}
	list, err := d.Repo.List(ctx, patterns...)
	if err != nil {
		return nil, err
	}
	items := make([]*Item, 0, len(list))
	for _, ref := range list {
		if it := spaces.Item(ref); it != nil {
			items = append(items, it)
		}
	}
	return items, nil
}

// Shown verifies a handoff as this clone knows it, without asking a hub: for what is
// shown again to the agent that holds it, or before it is taken.
func (d *Workspace) Shown(ctx context.Context, home lifecycle.Home, p lifecycle.Place) (*lifecycle.Verified, error) {
	s, err := d.Engine.Load(ctx, home, p)
	if err != nil {
		return nil, err
	}
	return d.Engine.Verify(ctx, home, s, lifecycle.Options{AsKnown: true, UnknownStands: true, AllowExpired: true})
}
