package workspace

import (
	"context"

	"githandoff/internal/handoff"
)

// Ends are the shortest ends of the ids of all handoffs to which a ref of this clone leads,
// and of more that are given. A command takes an end that is unique among them: it looks at
// refs first, and at logs only if no ref fits.
func (w *Workspace) Ends(ctx context.Context, more ...handoff.ID) (handoff.Ends, error) {
	namespaces, err := w.Namespaces(ctx)
	if err != nil {
		return nil, err
	}
	var patterns []string
	for _, s := range namespaces {
		for _, kind := range []string{"inbox/", "outbox/", "sent/"} {
			patterns = append(patterns, string(s.Namespace)+kind)
		}
	}
	list, err := w.Repo.List(ctx, patterns...)
	if err != nil {
		return nil, err
	}
	ids := more
	for _, ref := range list {
		if it := namespaces.Item(ref); it != nil {
			ids = append(ids, it.Place.ID)
		}
	}
	return handoff.EndsOf(ids), nil
}
