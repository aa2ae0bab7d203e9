// Package workspace is where one agent works: this repository, the hubs that it
// knows, the handoffs that it can name, and what it does with them.
package workspace

import (
	"context"
	"slices"
	"strings"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/work"
)

// Workspace is where one agent works: this repository, the hubs that it knows, and
// what the agent holds. It carries one command.
type Workspace struct {
	Repo    *refs.Repo
	Aliases crossrepo.Aliases
	Local   *lifecycle.LocalHome
	Engine  *lifecycle.Engine
	Claims  lifecycle.Claims
	Journal work.Journal
	Agent   string                    // whose inbox is read
	Warn    func(err error)           // one line for people
	Unread  func(err error)           // a hub that a list was to show could not be read; nil is Warn
	hubs    map[string]*crossrepo.Hub // by repo id
	lines   map[string][]string       // of notes that are due, by code commit
}

// Hub returns the hub behind an alias.
func (d *Workspace) Hub(ctx context.Context, alias string) (*crossrepo.Hub, error) {
	a, err := d.Aliases.Get(ctx, alias)
	if err != nil {
		return nil, err
	}
	return d.hub(a), nil
}

// unread tells of a hub that could not be read.
func (d *Workspace) unread(err error) {
	if d.Unread == nil {
		d.Warn(err)
		return
	}
	d.Unread(err)
}

func (d *Workspace) hub(a *crossrepo.Alias) *crossrepo.Hub {
	if d.hubs == nil {
		d.hubs = map[string]*crossrepo.Hub{}
	}
	h := d.hubs[a.RepoID]
	if h == nil {
		h = &crossrepo.Hub{Alias: a, Repo: d.Repo, Lanes: d.Engine}
		d.hubs[a.RepoID] = h
	}
	return h
}

// Home returns the home that a repo id means: this repository or a hub.
func (d *Workspace) Home(ctx context.Context, repoID string) (lifecycle.Home, error) {
	if d.Local.Answers(repoID) {
		return d.Local, nil
	}
	for _, h := range d.hubs {
		if h.Answers(repoID) {
			return h, nil
		}
	}
	a, err := d.Aliases.ByID(ctx, repoID)
	if err != nil {
		return nil, err
	}
	return d.hub(a), nil
}

// AliasOf is the short name of a home, for people; empty for this repository.
func (d *Workspace) AliasOf(home lifecycle.Home) string {
	if h, ok := home.(*crossrepo.Hub); ok {
		return h.Alias.Name
	}
	return ""
}

// Inboxes are the inboxes that this agent works from.
func (d *Workspace) Inboxes() []string {
	list := append([]string{d.Agent}, d.Repo.Config.All("handoff.serves")...)
	return slices.DeleteFunc(slices.Compact(list), func(a string) bool { return handoff.CheckAgent(a) != nil })
}

// Source is the name under which handoffs are sent from here: the agent's or, for
// a person, what stands before the "@", as far as that is a name.
func (d *Workspace) Source() string {
	if handoff.CheckAgent(d.Agent) == nil {
		return d.Agent
	}
	local, _, _ := strings.Cut(strings.ToLower(d.Agent), "@")
	name := strings.TrimLeft(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r) {
			return r
		}
		return '-'
	}, local), "._-")
	if handoff.CheckAgent(name) != nil {
		return "person"
	}
	return name
}

// Item is a handoff as its inbox, outbox or sent ref shows it, unverified: good
// for choosing and for lists, not for belief.
type Item struct {
	Home   lifecycle.Home // nil for outbox and sent of a home that no alias leads to
	Kind   string         // "inbox", "outbox", "sent"
	Place  lifecycle.Place
	Ref    string
	Commit string
	Record *record.Record // of the tip
	Fault  error          // the tip cannot be read as ours

	tip *record.Commit // whose record that is
}

// items reads the tips of refs below a space.
func (d *Workspace) items(ctx context.Context, home lifecycle.Home, space refs.Space, list []refs.Ref) ([]*Item, error) {
	items := make([]*Item, 0, len(list))
	for _, r := range list {
		p, ok := space.ParsePlace(r.Name)
		if !ok {
			continue
		}
		items = append(items, &Item{
			Home: home, Kind: p.Kind, Place: lifecycle.Place{Agent: p.Agent, ID: p.ID}, Ref: r.Name, Commit: r.OID,
		})
	}
	return items, nil
}

// Load reads the commit that an item's ref points to. An item that cannot be read
// as ours has a Fault afterwards.
func (d *Workspace) Load(ctx context.Context, it *Item) error {
	if it.Record != nil || it.Fault != nil {
		return nil
	}
	o, err := d.Repo.Read(ctx, it.Commit, record.MaxCommit)
	return d.loaded(ctx, it, o, err)
}

// loaded takes what was read, or why it was not, for the commit that an item's ref
// points to.
func (d *Workspace) loaded(ctx context.Context, it *Item, o *refs.Object, err error) error {
	if hub, ok := it.Home.(*crossrepo.Hub); o == nil && err == nil && ok {
		if o, err = hub.Refetch(ctx, it.Place, it.Ref); o != nil {
			it.Commit = o.OID
		}
	}
	if err != nil {
		if fault.As(err) == nil {
			return err
		}
		it.Fault = fault.New(fault.CodeOf(err), fault.As(err).Reason, "%s: %w", it.Ref, err)
		return nil
	}
	if o == nil {
		it.Fault = fault.New(fault.Denied, fault.MalformedObject, "%s points to nothing", it.Ref)
		return nil
	}
	c, err := record.ParseCommit(o.Body)
	switch {
	case err != nil:
		it.Fault = fault.New(fault.Denied, fault.MalformedObject, "%s: %w", it.Ref, err)
	case c.Record.ID != it.Place.ID:
		it.Fault = fault.New(fault.Denied, fault.HandoffMismatch, "%s holds %s", it.Ref, c.Record.ID)
	default:
		it.Record, it.tip = c.Record, c
	}
	return nil
}

// outgoing lists outbox and sent refs, with their records and homes.
func (d *Workspace) outgoing(ctx context.Context) ([]*Item, error) {
	list, err := d.Repo.List(ctx, refs.Root+"outbox/", refs.Root+"sent/")
	if err != nil {
		return nil, err
	}
	items, err := d.items(ctx, nil, refs.LocalSpace, list)
	if err != nil {
		return nil, err
	}
	for _, it := range items {
		if err := d.Load(ctx, it); err != nil {
			return nil, err
		}
		if it.Record == nil {
			continue
		}
		if it.Home, err = d.Home(ctx, it.Record.Home); err != nil {
			it.Fault = err
		}
	}
	return items, nil
}

// Resolve turns what a person typed, an id or its last characters, into the
// item it means, among everything this repository knows of.
func (d *Workspace) Resolve(ctx context.Context, arg string) (*Item, error) {
	if err := checkArg(arg); err != nil {
		return nil, err
	}
	suffix := strings.TrimPrefix(strings.TrimPrefix(arg, "…"), "ho_")
	list, err := d.Repo.List(ctx,
		refs.Root+"inbox/*/ho_*"+suffix, refs.Root+"outbox/*/ho_*"+suffix, refs.Root+"sent/*/ho_*"+suffix,
		refs.Root+"remotes/*/inbox/*/ho_*"+suffix)
	if err != nil {
		return nil, err
	}
	var best *Item
	for _, r := range list {
		it, err := d.itemOf(ctx, r)
		if err != nil {
			return nil, err
		}
		if it == nil {
			continue
		}
		if best != nil && best.Place.ID != it.Place.ID {
			return nil, fault.New(fault.Usage, fault.AmbiguousID, "%s means %s and %s", crossrepo.Quote(arg), best.Place.ID, it.Place.ID).
				WithHints(handoff.Which(best.Place.ID, it.Place.ID)...)
		}
		if best == nil || rank(it.Kind) < rank(best.Kind) {
			best = it
		}
	}
	if best == nil {
		return nil, fault.New(fault.NotFound, fault.UnknownHandoff, "no handoff %s is known here", crossrepo.Quote(arg)).
			WithHints(fault.Run("githandoff", "sync").Because("brings back what hubs know of what was sent"),
				fault.Run("githandoff", "inbox", "--all").Because("lists the ids that are known"))
	}
	return best, d.Load(ctx, best)
}

// rank: the inbox decides, then what was sent, then what waits.
func rank(kind string) int { return slices.Index([]string{"inbox", "sent", "outbox"}, kind) }

// itemOf finds out in which space a ref stands.
func (d *Workspace) itemOf(ctx context.Context, r refs.Ref) (*Item, error) {
	home, space := lifecycle.Home(d.Local), refs.LocalSpace
	if rest, ok := strings.CutPrefix(r.Name, refs.Root+"remotes/"); ok {
		hash, _, _ := strings.Cut(rest, "/")
		space = refs.Space(refs.Root + "remotes/" + hash + "/")
		home = nil
		for _, name := range d.Aliases.Names() {
			if a, err := d.Aliases.Get(ctx, name); err == nil && refs.TrackingSpace(a.RepoID) == space {
				home = d.hub(a)
			}
		}
		if home == nil {
			return nil, nil
		}
	}
	items, err := d.items(ctx, home, space, []refs.Ref{r})
	if err != nil || len(items) == 0 {
		return nil, err
	}
	it := items[0]
	if it.Kind != "inbox" {
		if err := d.Load(ctx, it); err != nil || it.Record == nil {
			return nil, err
		}
		if it.Home, err = d.Home(ctx, it.Record.Home); err != nil {
			return nil, err
		}
	}
	return it, nil
}

// holding lists the claims that this agent works on in this worktree, and those
// whose end is kept until their hub is back.
func (d *Workspace) holding() (held, finished []*lifecycle.Holder, err error) {
	all, err := d.Claims.All()
	if err != nil {
		return nil, nil, err
	}
	for _, h := range all {
		if h.Actor != d.Agent || !h.Printed {
			continue
		}
		over, err := d.finished(h)
		switch {
		case err != nil:
			return nil, nil, err
		case over:
			finished = append(finished, h)
		default:
			held = append(held, h)
		}
	}
	return held, finished, nil
}

// finished reports whether a kept step ends this claim.
func (d *Workspace) finished(h *lifecycle.Holder) (bool, error) {
	step, err := d.Journal.Get(h.ID)
	return step.Ends() && step.Nonce == h.Nonce, err
}

// Current is the one claim that this worktree holds: what commands without an
// id mean.
func (d *Workspace) Current() (*lifecycle.Holder, error) {
	held, finished, err := d.holding()
	if err != nil {
		return nil, err
	}
	switch len(held) {
	case 0:
		if len(finished) > 0 {
			return nil, fault.New(fault.NotFound, fault.NothingHeld, "%s holds nothing in this worktree: what it finished waits for its hub (%s)", d.Agent, shortIDs(finished)).
				WithHints(fault.Run("githandoff", "sync").Because("takes the steps that wait"))
		}
		return nil, fault.New(fault.NotFound, fault.NothingHeld, "%s holds nothing in this worktree", d.Agent).
			WithHints(fault.Run("githandoff", "resume").Because("takes what waits"))
	case 1:
		return held[0], nil
	}
	return nil, fault.New(fault.Usage, fault.AmbiguousID, "%s holds %d handoffs: %s", d.Agent, len(held), shortIDs(held)).
		WithHints(handoff.Which(idsOf(held)...)...)
}

// Again is the one claim on which a kept step of this kind stands: who gives the
// command again without an id means it. Nil where there is none, or more than one.
func (d *Workspace) Again(event record.Event) (*lifecycle.Holder, error) {
	_, finished, err := d.holding()
	if err != nil || len(finished) != 1 {
		return nil, err
	}
	step, err := d.Journal.Get(finished[0].ID)
	if err != nil || step == nil || step.Event != event {
		return nil, err
	}
	return finished[0], nil
}

func shortIDs(held []*lifecycle.Holder) string {
	var ids []string
	for _, h := range held {
		ids = append(ids, h.ID.Short())
	}
	return strings.Join(ids, ", ")
}

func idsOf(held []*lifecycle.Holder) (ids []handoff.ID) {
	for _, h := range held {
		ids = append(ids, h.ID)
	}
	return ids
}

// Held finds the claim that an id, or no id, means.
func (d *Workspace) Held(arg string) (*lifecycle.Holder, error) {
	if arg == "" {
		return d.Current()
	}
	held, err := d.Claims.All()
	if err != nil {
		return nil, err
	}
	for _, h := range held {
		if h.ID.Matches(arg) {
			return h, nil
		}
	}
	if id, err := handoff.ParseID(arg); err == nil {
		if h, err := d.Claims.Get(id); err == nil && h != nil {
			return h, nil
		}
	}
	return d.Claims.EndedBySuffix(arg)
}
