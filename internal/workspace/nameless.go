package workspace

import (
	"context"
	"fmt"
	"slices"

	"githandoff/internal/fault"
	"githandoff/internal/work"
)

// Nameless returns an error for each repository to which no alias leads, though this clone sent
// handoffs there, or holds some: "git remote remove" forgets the alias and nothing else.
func Nameless(ctx context.Context, w *Workspace) (errs []error, err error) {
	out, err := w.Outgoing(ctx)
	if err != nil {
		return nil, err
	}
	held, err := work.OfClone(w.Repo)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, it := range out {
		if it.Record != nil && it.Home == nil {
			ids = append(ids, it.Record.Home)
		}
	}
	for _, h := range held {
		ids = append(ids, h.Home)
	}
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		if _, err := w.Home(ctx, id); fault.Is(err, fault.UnknownHome) {
			errs = append(errs, fmt.Errorf("%w, where handoffs of this clone may be open: githandoff sync says how to name it", err))
		}
	}
	return errs, nil
}
