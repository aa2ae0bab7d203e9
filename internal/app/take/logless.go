package take

import (
	"context"
	"slices"

	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/workspace"
)

// logless are those of some handoffs that only look held: the step on their inbox ref
// is not in the lane, so nobody holds them. Lanes that know the step already, or were
// read in this command, are not fetched.
func (t *Handler) logless(ctx context.Context, held []*workspace.Item) ([]*workspace.Item, error) {
	doubtful, err := t.doubtful(ctx, held)
	if err != nil {
		return nil, err
	}
	wants := map[lifecycle.Home][]handoff.ID{}
	for _, it := range doubtful {
		if !it.Home.LaneIsFresh(it.Place.ID) {
			wants[it.Home] = append(wants[it.Home], it.Place.ID)
		}
	}
	for home, ids := range wants {
		if err := home.Refresh(ctx, lifecycle.FetchSpec{Lanes: ids, Once: true}); err != nil {
			t.Workspace.Warn(err)
		}
	}
	open, err := t.doubtful(ctx, doubtful)
	return slices.DeleteFunc(open, func(it *workspace.Item) bool { return !it.Home.LaneIsFresh(it.Place.ID) }), err
}

// doubtful are those of some handoffs whose lane, as it is known here, leaves them open
// although their inbox ref says that they are held.
func (t *Handler) doubtful(ctx context.Context, held []*workspace.Item) ([]*workspace.Item, error) {
	var open []*workspace.Item
	for _, it := range held {
		s, err := t.Engine.Reader.Load(ctx, it.Home, it.Place)
		if err != nil {
			return nil, err
		}
		if s.Unlogged() && (s.Phase() == lifecycle.Open || s.Phase() == lifecycle.Absent) {
			open = append(open, it)
		}
	}
	return open, nil
}
