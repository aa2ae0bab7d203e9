package workspace

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/refs"
)

// Sources are the homes to take work from: this repository, the aliases of
// handoff.pull, and the hubs that hold something this repository sent or that
// waits for this agent.
func (d *Workspace) Sources(ctx context.Context, down *error) []lifecycle.Home {
	homes := []lifecycle.Home{d.Local}
	add := func(h lifecycle.Home) {
		if !slices.Contains(homes, h) {
			homes = append(homes, h)
		}
	}
	for _, alias := range d.pulled() {
		hub, err := d.Hub(ctx, alias)
		if err != nil {
			*down = err
			continue
		}
		add(hub)
	}
	if !d.knowsMore(homes) {
		return homes
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

// knowsMore reports whether an alias leads to a hub that is not among homes. If
// not, nothing that was sent or waits elsewhere needs to be looked for.
func (d *Workspace) knowsMore(homes []lifecycle.Home) bool {
	return slices.ContainsFunc(d.Aliases.Names(), func(name string) bool {
		a, _, err := d.Aliases.Look(name)
		return err != nil || !slices.ContainsFunc(homes, func(h lifecycle.Home) bool { return h.ID() == a.RepoID })
	})
}

// pulled are the aliases of the hubs that this repository works from.
func (d *Workspace) pulled() []string {
	if _, set := d.Repo.Config["handoff.pull"]; set {
		return d.Repo.Config.All("handoff.pull")
	}
	if main := d.MainRemote(); main != "" {
		return []string{main}
	}
	if remotes := d.Repo.Config.Subsections("remote", "url"); len(remotes) > 1 {
		slices.Sort(remotes)
		d.Warn(fmt.Errorf("this clone has %d remotes and none is called origin: no handoff is taken from them until one is named (git config handoff.pull %s)",
			len(remotes), fault.Arg(remotes[0])))
	}
	return nil
}

// MainRemote is the hub that this clone belongs to: origin, or the only remote
// whatever its name.
func (d *Workspace) MainRemote() string {
	if slices.Contains(d.Aliases.Names(), "origin") {
		return "origin"
	}
	if remotes := d.Repo.Config.Subsections("remote", "url"); len(remotes) == 1 {
		return remotes[0]
	}
	return ""
}

// waiting are the hubs that held something for this agent when they were last
// read: what came back after a failure or a question waits there, and the sent
// ref that led to it is gone.
func (d *Workspace) waiting(ctx context.Context) []lifecycle.Home {
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

// offers are the oldest handoffs that look as if they could be taken: their tip
// can be read, nobody holds them, and a key that is trusted here signed it. What
// cannot be read or nobody vouches for is passed over before it costs a trip.
func (d *Workspace) offers(ctx context.Context, homes []lifecycle.Home, passed *passed) ([]*Item, error) {
	all, err := d.Inbox(ctx, d.Inboxes(), homes...)
	if err != nil {
		return nil, err
	}
	now := d.Engine.Now()
	all = slices.DeleteFunc(all, func(it *Item) bool { return passed.ids[it.Place.ID] })
	tips := make([]string, len(all))
	for i, it := range all {
		tips[i] = it.Commit
	}
	queue := d.Repo.Queue(tips, record.MaxCommit)
	defer queue.Close()
	var open []*Item
	for _, it := range all {
		o, err := queue.Next(ctx, it.Commit)
		if err := d.loaded(ctx, it, o, err); err != nil {
			return nil, err
		}
		if it.Fault == nil && !free(it.Record, now) {
			continue
		}
		if it.Fault == nil {
			it.Fault = d.Engine.Vouched(it.tip)
		}
		if it.Fault != nil {
			passed.refuse(it.Place.ID, it.Fault)
			it.Record, it.tip = nil, nil // there may be many
			continue
		}
		open = append(open, it)
		if len(open) == window {
			break
		}
	}
	return open, nil
}

// passed is what one resume passed over: lost to others, of no use to the caller,
// or refused.
type passed struct {
	warn    func(error)
	ids     map[handoff.ID]bool
	unfit   error // why the last of no use was
	refused int
	which   []handoff.ID // the first of those that were refused
	hints   []fault.Hint // that mend what was refused, at most three
}

// spoken bounds the refusals that get a line each: whoever may push to a hub
// must not flood those who read from it.
const spoken = 20

func (p *passed) refuse(id handoff.ID, err error) {
	p.ids[id] = true
	if f := fault.As(err); f != nil && (f.Reason == fault.StatusUnknown || f.Reason == fault.AudienceMismatch) {
		p.mends(f.Hints)
	}
	if p.refused++; p.refused <= spoken {
		p.warn(err)
	}
	if len(p.which) < fault.MaxHints {
		p.which = append(p.which, id)
	}
}

// mends keeps the hints of a refusal, each once.
func (p *passed) mends(hints []fault.Hint) {
	for _, h := range hints {
		if !slices.ContainsFunc(p.hints, func(have fault.Hint) bool { return have.String() == h.String() }) {
			p.hints = append(p.hints, h)
		}
	}
}

// whyRefused are the hints that lead to what was refused.
func (p *passed) whyRefused() []fault.Hint {
	hints := p.hints
	for _, id := range p.which {
		hints = append(hints, fault.Run("githandoff", "show", string(id)).Because("says why it is refused"))
	}
	return hints
}

// sum says how many were refused without a line.
func (p *passed) sum() {
	if more := p.refused - spoken; more > 0 {
		p.warn(fmt.Errorf("%d more were refused: githandoff audit lists them", more))
	}
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
