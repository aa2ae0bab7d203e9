package workspace

import (
	"context"
	"slices"
	"strings"
	"sync"

	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
)

// Sources are the homes to take work from: this repository, the aliases of
// handoff.pull, and the hubs that hold something this repository sent or that
// waits for this agent.
func (w *Workspace) Sources(ctx context.Context, down *error) []lifecycle.Home {
	homes := []lifecycle.Home{w.Local}
	add := func(h lifecycle.Home) {
		if !slices.Contains(homes, h) {
			homes = append(homes, h)
		}
	}
	for _, alias := range w.Pulled() {
		hub, err := w.Hub(ctx, alias)
		if err != nil {
			*down = err
			continue
		}
		add(hub)
	}
	if !w.knowsMore(homes) {
		return homes
	}
	out, err := w.Outgoing(ctx)
	if err != nil {
		w.Warn(err)
	}
	for _, it := range out {
		if it.Kind == "sent" && it.Home != nil {
			add(it.Home)
		}
	}
	for _, h := range w.waiting(ctx) {
		add(h)
	}
	return homes
}

// waiting are the hubs that held something for this agent when they were last
// read: what came back after a failure or a question waits there, and the sent
// ref that led to it is gone.
func (w *Workspace) waiting(ctx context.Context) []lifecycle.Home {
	var patterns []string
	for _, agent := range w.Inboxes() {
		patterns = append(patterns, refs.Root+"remotes/*/inbox/"+agent+"/*")
	}
	if len(patterns) == 0 {
		return nil
	}
	list, err := w.Repo.List(ctx, patterns...)
	if err != nil {
		w.Warn(err)
	}
	var homes []lifecycle.Home
	seen := map[string]bool{}
	for _, ref := range list {
		namespace, _, _ := strings.Cut(ref.Name, "/inbox/")
		if seen[namespace] {
			continue
		}
		seen[namespace] = true
		if it, err := w.itemOf(ctx, ref); err == nil && it != nil {
			homes = append(homes, it.Home)
		}
	}
	return homes
}

// RefreshEach refreshes several homes side by side, each hub with its own time limit:
// one that is down holds up no other. The errors are in the order of the homes. The spec
// names no lanes: those are judged one home at a time.
func RefreshEach(ctx context.Context, homes []lifecycle.Home, spec lifecycle.FetchSpec) []error {
	errs := make([]error, len(homes))
	var all sync.WaitGroup
	for i, home := range homes {
		all.Go(func() { errs[i] = home.Refresh(ctx, spec) })
	}
	all.Wait()
	return errs
}
