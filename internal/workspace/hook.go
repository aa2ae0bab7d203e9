package workspace

import (
	"context"

	"githandoff/internal/crossrepo"
	"githandoff/internal/notes"
)

// Deliver delivers what waits in the outbox for one hub, and asks the hub
// nothing if nothing does.
func (d *Workspace) Deliver(ctx context.Context, hub *crossrepo.Hub) ([]Done, error) {
	out, err := d.outgoing(ctx)
	if err != nil {
		return nil, err
	}
	var waiting []*Item
	for _, it := range out {
		if it.Kind == "outbox" && it.Fault == nil && it.Home == hub {
			waiting = append(waiting, it)
		}
	}
	if len(waiting) == 0 {
		return nil, nil
	}
	return d.syncHub(ctx, hub, waiting)
}

// CopyNotes gives commits that took the place of others the lines of those: old
// commits by the new one. What is there already is not written again, so it
// does not matter whether git copied the notes itself (notes.rewriteRef). Lines
// that people wrote are left to git.
func (d *Workspace) CopyNotes(ctx context.Context, rewritten map[string][]string) error {
	return d.updateNotes(ctx, "Notes copied by githandoff", func(tree string, w *collector) (string, error) {
		r := objectReader{d.Repo, w}
		lines := map[string][]string{}
		for to, from := range rewritten {
			for _, old := range from {
				have, err := notes.ReadIn(ctx, r, tree, old)
				if err != nil {
					return "", err
				}
				if len(have) > 0 {
					lines[to] = append(lines[to], have...)
				}
			}
		}
		return notes.AddTo(ctx, r, w, tree, lines)
	})
}
