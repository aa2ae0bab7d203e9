package cli

import (
	"cmp"
	"context"

	"githandoff/internal/cli/output"
	"githandoff/internal/handoff"
	"githandoff/internal/refs"
	"githandoff/internal/workspace"
)

// list is a table of handoffs, keys or repositories.
type list struct {
	*output.Table
	ends handoff.Ends // how ids are shown to people
}

// id returns an id as this list shows it.
func (l *list) id(id handoff.ID) output.Cell {
	if !l.ForPeople() {
		return output.Text(string(id))
	}
	return output.Text(l.ends.Of(id))
}

// printList prints a list, through a pager where it is longer than the screen.
func printList(ctx context.Context, a *app, repo *refs.Repo, header []string, print func(l *list) error) error {
	return paged(ctx, a, repo, func() error {
		l := &list{Table: a.Table(columnsOf(a.Stdout), header...)}
		return cmp.Or(print(l), l.Flush())
	})
}

// texts returns cells other than states.
func texts(cells ...string) []output.Cell {
	out := make([]output.Cell, len(cells))
	for i, c := range cells {
		out[i] = output.Text(c)
	}
	return out
}

// endsFor returns the ends of the ids in a list for people. For programs, which read whole ids, it
// does nothing.
func endsFor(ctx context.Context, a *app, ws *workspace.Workspace) (handoff.Ends, error) {
	if !a.Terminal() {
		return nil, nil
	}
	return ws.Ends(ctx)
}

// endsAmong is like endsFor of the handoffs of a list, each of which has an id.
func endsAmong[T any](ctx context.Context, a *app, ws *workspace.Workspace, all []T, id func(T) handoff.ID) (handoff.Ends, error) {
	if !a.Terminal() {
		return nil, nil
	}
	ids := make([]handoff.ID, len(all))
	for i, one := range all {
		ids[i] = id(one)
	}
	return ws.Ends(ctx, ids...)
}
