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
	Homes
	Claims  lifecycle.Claims
	Journal work.Journal
	Agent   string // whose inbox is read
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

	Tip *record.Commit // whose record that is
}

// ItemsOf are the handoffs that some refs below a space name.
func ItemsOf(home lifecycle.Home, space refs.Space, list []refs.Ref) []*Item {
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
	return items
}

// Load reads the commit that an item's ref points to. An item that cannot be read
// as ours has a Fault afterwards.
func (d *Workspace) Load(ctx context.Context, it *Item) error {
	if it.Record != nil || it.Fault != nil {
		return nil
	}
	o, err := d.Repo.Read(ctx, it.Commit, record.MaxCommit)
	return it.Fill(ctx, o, err)
}

// Fill takes what was read, or why it was not, for the commit that an item's ref
// points to.
func (it *Item) Fill(ctx context.Context, o *refs.Object, err error) error {
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
		it.Record, it.Tip = c.Record, c
	}
	return nil
}

// Outgoing lists outbox and sent refs, with their records and homes.
func (d *Workspace) Outgoing(ctx context.Context) ([]*Item, error) {
	list, err := d.Repo.List(ctx, refs.Root+"outbox/", refs.Root+"sent/")
	if err != nil {
		return nil, err
	}
	items := ItemsOf(nil, refs.LocalSpace, list)
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
	if err := CheckArg(arg); err != nil {
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
				home = d.HubOf(a)
			}
		}
		if home == nil {
			return nil, nil
		}
	}
	items := ItemsOf(home, space, []refs.Ref{r})
	if len(items) == 0 {
		return nil, nil
	}
	it := items[0]
	if it.Kind == "inbox" {
		return it, nil
	}
	if err := d.Load(ctx, it); err != nil || it.Record == nil {
		return nil, err
	}
	home, err := d.Home(ctx, it.Record.Home)
	if err != nil {
		return nil, err
	}
	it.Home = home
	return it, nil
}

// maxPrincipal bounds a mail address that is declared, in bytes.
const maxPrincipal = 64

// Principal is on whose behalf an agent works unless a token says so: declared,
// not proven.
func (d *Workspace) Principal() string {
	if mail := d.Repo.Config.Get("user.email"); mail != "" && len(mail) <= maxPrincipal {
		return "user:" + mail + " (declared)"
	}
	return ""
}

// Work is the work that the agent holds in this worktree.
func (d *Workspace) Work() *work.Held {
	return &work.Held{
		Agent: d.Agent, Claims: d.Claims, Engine: d.Engine, Journal: d.Journal, Repo: d.Repo, Workspace: d,
	}
}
