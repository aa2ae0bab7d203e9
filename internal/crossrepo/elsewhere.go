package crossrepo

import (
	"context"
	"maps"
	"slices"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/handoff"
	"githandoff/internal/refs"
)

// anyLane is the pattern of ls-remote for the lanes below any prefix.
const anyLane = "log/*"

// LanePrefixes lists the prefixes of the lanes among some refs of a hub, sorted. A hub that is itself
// a clone also has copies of lanes: they belong to other hubs.
func LanePrefixes(names []string) []string {
	var homes []string
	for _, name := range names {
		i := strings.LastIndex(name, "/log/")
		if i < 0 || !handoff.IsLane(name[i+len("/log/"):]) {
			continue
		}
		if prefix := name[:i]; prefix == UsualPrefix || CheckPrefix(prefix) == nil {
			homes = append(homes, prefix)
		}
	}
	slices.Sort(homes)
	return slices.Compact(homes)
}

// CopiedPrefixes returns the prefixes below which the hub behind a remote keeps handoffs, as far as
// an ordinary clone or fetch copied them. No hub is asked.
func (as Aliases) CopiedPrefixes(ctx context.Context, name string) ([]string, error) {
	var there []string
	for _, spec := range as.Repo.Config["remote."+name+".fetch"] {
		from, to, _ := strings.Cut(strings.TrimPrefix(spec, "+"), ":")
		from, ok := strings.CutSuffix(from, "*")
		copies, ok2 := strings.CutSuffix(to, "*")
		if !ok || !ok2 || copies == "" || strings.HasPrefix(from, "^") {
			continue
		}
		list, err := as.Repo.List(ctx, strings.TrimSuffix(copies, "/"))
		if err != nil {
			return nil, err
		}
		for _, ref := range list {
			if rest, ok := strings.CutPrefix(ref.Name, copies); ok {
				there = append(there, from+rest)
			}
		}
	}
	return LanePrefixes(there), nil
}

// WhyEmpty returns the refusal of a hub that keeps its handoffs below another prefix by now, or hides
// them. It is nil if the hub shows a lane, if this clone has seen none, or if the hub does not answer.
func (h *Hub) WhyEmpty(ctx context.Context) error {
	if !h.vanished(ctx) {
		return nil
	}
	if err := h.Moved(ctx); err != nil {
		return err
	}
	memory, err := h.Memory(ctx)
	if err != nil || len(memory) == 0 {
		return err
	}
	return h.WhyLost(ctx, memory[0])
}

// WhyLost returns the refusal of a hub that hides a lane which it did not show; nil if it has lost the lane.
func (h *Hub) WhyLost(ctx context.Context, lane refs.Ref) error {
	if !hides(ctx, &h.remote, lane) {
		return nil
	}
	h.book.note(func(k *findings) { k.Unshown, k.Shows = h.relative(lane.Name)+" "+lane.OID, false })
	return h.Alias.errHidden(h.RemoteName(lane.Name))
}

// vanished reports whether the hub showed no lane when asked for all of them, or for their names,
// although this clone has seen some.
func (h *fetcher) vanished(ctx context.Context) bool {
	if !h.laneless.Load() {
		if !h.whole.Load() {
			return false
		}
		shown, err := refs.Named(ctx, h.Repo, h.Mirror.Lanes())
		if err != nil || len(shown) > 0 {
			return false
		}
	}
	seen, err := refs.Named(ctx, h.Repo, h.Namespace().Lanes())
	return err == nil && len(seen) > 0
}

// Moved asks a hub that has no lane below its prefix, and returns its refusal if all lanes
// remembered by this clone are below another prefix. It returns nil otherwise: the hub may be
// restored, or lie.
func (h *Hub) Moved(ctx context.Context) error {
	there, err := h.listed(ctx, gitexec.RemoteTimeout, anyLane)
	if err != nil {
		return nil //nolint:nilerr // the caller reports its own error
	}
	homes := LanePrefixes(slices.Collect(maps.Keys(there)))
	if slices.Contains(homes, h.Alias.Below()) {
		return nil
	}
	known, err := copiesOf(ctx, h.Repo, h.Alias.IDs())
	if err != nil {
		return nil //nolint:nilerr // the caller reports its own error
	}
	for _, home := range homes {
		next := *h.Alias
		next.Prefix = strings.TrimPrefix(home, UsualPrefix)
		if contains(ctx, NewHub(&next, h.Repo, nil), known, there) == nil {
			why := "looks there; all that this clone has seen of the log is there"
			if len(known) == 0 {
				why = "looks there, if that is where your team keeps its handoffs: this clone has seen no log to compare"
			}
			return ErrElsewhere(h.Alias, home, why)
		}
	}
	return nil
}

// ErrElsewhere returns the refusal of a hub whose handoffs are below another prefix. Its hint is
// the command that looks there, because of why.
func ErrElsewhere(a *Alias, home, why string) error {
	f := fault.New(fault.Denied, fault.Rollback, "%s keeps handoffs below %s and none below %s, where this clone looks", a.Name, home, a.Below()).
		WithHints(fault.Run("githandoff", "repo", "add", a.Name, a.URL.Bare(), "--prefix", home).Because("%s", why))
	f.Err = refs.ErrRefused
	return f
}
