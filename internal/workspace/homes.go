package workspace

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
	"githandoff/internal/work"
)

// Homes are the repositories known to this clone: its own, and the hubs of its aliases.
type Homes struct {
	Repo     *refs.Repo
	Aliases  crossrepo.Aliases
	Local    *lifecycle.LocalHome
	Engine   *lifecycle.Engine
	OnWarn   func(err error) // gets each warning: one line for people
	OnUnread func(err error) // gets the error of a hub that a list could not read; nil for OnWarn

	hubs map[string]*crossrepo.Hub // hubs made so far, by repo id
}

// Hub returns the hub behind an alias.
func (hs *Homes) Hub(ctx context.Context, alias string) (*crossrepo.Hub, error) {
	a, err := hs.Aliases.Get(ctx, alias)
	if err != nil {
		return nil, err
	}
	return hs.HubAt(a), nil
}

// HubOfSetting returns the hub that a setting names. A name without a repository is an error of that setting: the
// answer that nothing was found would tell a resume that nothing waits.
func (hs *Homes) HubOfSetting(ctx context.Context, setting, alias string) (*crossrepo.Hub, error) {
	hub, err := hs.Hub(ctx, alias)
	if fault.Is(err, fault.UnknownAlias) {
		err = crossrepo.ErrNamed(hs.Aliases, setting, alias)
	}
	return hub, err
}

// Warn tells people of something in one line.
func (hs *Homes) Warn(err error) { hs.OnWarn(err) }

// Unread reports an unreadable hub.
func (hs *Homes) Unread(err error) {
	if hs.OnUnread == nil {
		hs.Warn(err)
		return
	}
	hs.OnUnread(err)
}

// HoldWarnings holds warnings back until tell is called, which drops those that repeat an error.
func (hs *Homes) HoldWarnings() (tell func(err error)) {
	warn := hs.OnWarn
	var held []error
	hs.OnWarn = func(err error) { held = append(held, err) }
	return func(err error) {
		hs.OnWarn = warn
		for _, w := range held {
			if err == nil || w.Error() != err.Error() {
				warn(w)
			}
		}
	}
}

// AskAgain makes this command ask every hub again, for the next try of one that waits.
func (hs *Homes) AskAgain() {
	for _, hub := range hs.hubs {
		hub.AskAgain()
	}
}

// HubAt returns the hub behind a resolved alias. One command has one of each.
func (hs *Homes) HubAt(a *crossrepo.Alias) *crossrepo.Hub {
	if hs.hubs == nil {
		hs.hubs = map[string]*crossrepo.Hub{}
	}
	h := hs.hubs[a.RepoID]
	if h == nil {
		h = crossrepo.NewHub(a, hs.Repo, hs.Engine.Reader.Lanes)
		hs.hubs[a.RepoID] = h
	}
	return h
}

// Home returns the home with a repo id: this repository or a hub.
func (hs *Homes) Home(ctx context.Context, repoID string) (lifecycle.Home, error) {
	if hs.Local.Is(repoID) {
		return hs.Local, nil
	}
	for _, h := range hs.hubs {
		if h.Is(repoID) {
			return h, nil
		}
	}
	a, err := hs.Aliases.ByID(ctx, repoID)
	if err != nil {
		return nil, err
	}
	return hs.HubAt(a), nil
}

// AliasOf returns the short name of a home, for people; empty for this repository.
func (hs *Homes) AliasOf(home lifecycle.Home) string {
	if h, ok := home.(*crossrepo.Hub); ok {
		return h.Alias.Name
	}
	return ""
}

// Recover settles what killed commands left half done, here and at hubs.
func (hs *Homes) Recover(ctx context.Context) error {
	return hs.Engine.Recovery.Run(ctx, func(repoID string) (lifecycle.Home, error) { return hs.Home(ctx, repoID) })
}

// RecoverLocal is like Recover for this repository alone: most commands have no
// business with a hub.
func (hs *Homes) RecoverLocal(ctx context.Context) error {
	return hs.Engine.Recovery.Run(ctx, func(repoID string) (lifecycle.Home, error) {
		if hs.Local.Is(repoID) {
			return hs.Local, nil
		}
		return nil, nil
	})
}

// Hubs returns the hubs behind some aliases, each once whatever its names; nil for no alias.
func (hs *Homes) Hubs(ctx context.Context, aliases []string) ([]*crossrepo.Hub, error) {
	var hubs []*crossrepo.Hub
	for _, name := range aliases {
		hub, err := hs.Hub(ctx, name)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(hubs, hub) {
			hubs = append(hubs, hub)
		}
	}
	return hubs, nil
}

// othersThan returns the aliases that lead to none of some homes, or cannot be used.
func (hs *Homes) othersThan(homes []lifecycle.Home) []string {
	return slices.DeleteFunc(hs.Aliases.Names(), func(name string) bool {
		a, _, err := hs.Aliases.Resolve(name)
		return err == nil && slices.ContainsFunc(homes, func(h lifecycle.Home) bool { return h.ID() == a.RepoID })
	})
}

// PulledHubs returns the hubs this repository takes work from. failed gets the error of each alias that leads
// nowhere.
func (hs *Homes) PulledHubs(ctx context.Context, failed func(error)) (hubs []*crossrepo.Hub) {
	pulled, chosen := hs.pulled()
	if remotes := hs.Repo.Config.Subsections("remote", "url"); !chosen && len(remotes) > 1 {
		slices.Sort(remotes)
		hs.Warn(fmt.Errorf("this clone has %d remotes and none is called origin: no handoff is taken from them until one is named (git config handoff.pull %s)",
			len(remotes), fault.Arg(remotes[0])))
	}
	for _, alias := range pulled {
		hub, err := hs.HubOfSetting(ctx, "handoff.pull", alias)
		if err != nil {
			failed(err)
			continue
		}
		hubs = append(hubs, hub)
	}
	return hubs
}

// pulled returns the aliases of those hubs, and reports whether the settings or the remotes choose them.
func (hs *Homes) pulled() (aliases []string, chosen bool) {
	if _, set := hs.Repo.Config["handoff.pull"]; set {
		return hs.Repo.Config.All("handoff.pull"), true
	}
	if main := hs.MainRemote(); main != "" {
		return []string{main}, true
	}
	return nil, false
}

// Pulls reports whether this repository takes work from the hub of an alias.
func (hs *Homes) Pulls(alias string) bool {
	pulled, _ := hs.pulled()
	return slices.Contains(pulled, alias)
}

// HintOtherHubs returns a hint to read the hubs that are left out of [Homes.PulledHubs] and are not among
// the given homes, which were read: resume looks there as well once something is known to wait. Without
// such hubs it returns none.
func (hs *Homes) HintOtherHubs(read ...lifecycle.Home) []fault.Hint {
	pulled, _ := hs.pulled()
	others := slices.DeleteFunc(hs.othersThan(read), func(name string) bool { return slices.Contains(pulled, name) })
	if len(others) == 0 {
		return nil
	}
	sync := append([]string{"githandoff", "sync"}, others...)
	return []fault.Hint{fault.Run(sync...).Because("asks the hubs from which this clone takes no work (see handoff.pull)")}
}

// MainRemote returns the hub of this clone: origin, or the only remote, whatever its name.
func (hs *Homes) MainRemote() string {
	if slices.Contains(hs.Aliases.Names(), "origin") {
		return "origin"
	}
	if remotes := hs.Repo.Config.Subsections("remote", "url"); len(remotes) == 1 {
		return remotes[0]
	}
	return ""
}

// All lists the hubs known to this repository, each once whatever its names, and then the repository
// itself.
func (hs *Homes) All(ctx context.Context) HomeList {
	var list HomeList
	for _, name := range hs.Aliases.Names() {
		a, err := hs.Aliases.Get(ctx, name)
		if err != nil {
			hs.Unread(err)
			continue
		}
		if hub := hs.HubAt(a); !slices.Contains(list, lifecycle.Home(hub)) {
			list = append(list, hub)
		}
	}
	return append(list, hs.Local)
}

// Sources returns the homes to take work from: this repository, the aliases of handoff.pull, and
// the hubs with handoffs sent by this repository or waiting for this agent. down is the error of an
// alias that leads nowhere.
func (w *Workspace) Sources(ctx context.Context) (homes []lifecycle.Home, down error) {
	homes = []lifecycle.Home{w.Local}
	add := func(h lifecycle.Home) {
		if !slices.Contains(homes, h) {
			homes = append(homes, h)
		}
	}
	for _, hub := range w.PulledHubs(ctx, func(err error) { down = err }) {
		add(hub)
	}
	if len(w.othersThan(homes)) == 0 { // there are no handoffs elsewhere to look for
		return homes, down
	}
	out, err := w.Outgoing(ctx)
	if err != nil {
		w.Warn(err)
	}
	for _, it := range out {
		if it.Kind == refs.KindSent && it.Home != nil {
			add(it.Home)
		}
	}
	for _, h := range w.waiting(ctx) {
		add(h)
	}
	return homes, down
}

// waiting returns the hubs that had handoffs for this agent when they were last read. A handoff
// returned after a failure or a question waits there, and no sent ref leads to it any more.
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
		if it, err := w.withHome(ctx, ref); err == nil && it != nil {
			homes = append(homes, it.Home)
		}
	}
	return homes
}

// UsedHomes returns the repo ids of the repositories where handoffs of this clone may be open, sorted: it sent
// them and knows no receipt, or holds them.
func UsedHomes(ctx context.Context, repo *refs.Repo) ([]string, error) {
	var ids []string
	held, err := work.OfClone(repo)
	if err != nil {
		return nil, err
	}
	for _, h := range held {
		ids = append(ids, h.Home)
	}
	err = refs.Commits(ctx, repo, func(ref refs.Ref, raw []byte) error {
		if it := itemOf(nil, refs.LocalNamespace, ref); it != nil {
			if it.Scan(raw); it.Fault == nil {
				ids = append(ids, it.Record.Home)
			}
		}
		return nil
	}, refs.Root+"outbox/", refs.Root+"sent/")
	slices.Sort(ids)
	return slices.Compact(ids), err
}
