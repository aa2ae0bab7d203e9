package workspace

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/refs"
)

// List streams what waits: this agent's inboxes and, with all, everything that
// this repository knows to be under way. It reads what is here; RefreshInboxes
// brings in what is at the hubs first. Items are unverified.
func (d *Workspace) List(ctx context.Context, all bool, visit func(*Item) error) error {
	spaces, err := d.Spaces(ctx)
	if err != nil {
		return err
	}
	var patterns []string
	for _, s := range spaces {
		if all {
			patterns = append(patterns, string(s.Space)+"inbox/")
			continue
		}
		for _, agent := range append(d.Inboxes(), refs.Nobody) {
			patterns = append(patterns, s.Space.Inbox(agent, ""))
		}
	}
	if all {
		patterns = append(patterns, refs.Root+"outbox/", refs.Root+"sent/")
	}
	atHub := map[handoff.ID]bool{}
	return d.Repo.Commits(ctx, func(ref refs.Ref, raw []byte) error {
		it := spaces.Item(ref)
		if it == nil {
			return nil
		}
		if all && it.Home != lifecycle.Home(d.Local) && it.Kind == "inbox" {
			atHub[it.Place.ID] = true
		}
		if it.Kind == "sent" && atHub[it.Place.ID] {
			return nil // its state at the hub was listed
		}
		if it.Record, it.Fault = record.Scan(raw); it.Fault == nil && it.Record.ID != it.Place.ID {
			it.Fault = fault.New(fault.Denied, fault.HandoffMismatch, "%s holds another handoff", ref.Name)
		}
		return visit(it)
	}, patterns...)
}

// RefreshInboxes fetches the inboxes that List shows from the hubs that resume
// would ask. It returns what kept it from looking everywhere.
func (d *Workspace) RefreshInboxes(ctx context.Context, all bool) (failed []error) {
	var down error
	want := lifecycle.Want{Inboxes: append(d.Inboxes(), refs.Nobody)}
	if all {
		want = lifecycle.Want{Inboxes: []string{crossrepo.AllInboxes}}
	}
	for _, home := range d.Sources(ctx, &down) {
		if err := home.Refresh(ctx, want); err != nil {
			failed = append(failed, err)
		}
	}
	if down != nil {
		failed = append(failed, down)
	}
	return failed
}

// HomeSpace is a home and where its refs stand.
type HomeSpace struct {
	Home  lifecycle.Home
	Space refs.Space
}

type SpaceList []HomeSpace

func (l SpaceList) Item(ref refs.Ref) *Item {
	for _, s := range l {
		if !strings.HasPrefix(ref.Name, string(s.Space)) {
			continue
		}
		p, ok := s.Space.ParsePlace(ref.Name)
		if !ok {
			return nil
		}
		return &Item{Home: s.Home, Kind: p.Kind, Place: lifecycle.Place{Agent: p.Agent, ID: p.ID}, Ref: ref.Name, Commit: ref.OID}
	}
	return nil
}

// View is a handoff with its home and state.
type View struct {
	Home  lifecycle.Home
	State *lifecycle.State
	Item  *Item // nil where no ref leads to it any more
}

// Find resolves an id or its last characters among everything this repository
// knows, ended handoffs included: their lane is named by the id's last two
// characters.
func (d *Workspace) Find(ctx context.Context, arg string) (*View, error) {
	it, err := d.Resolve(ctx, arg)
	if err == nil {
		s, err := d.Engine.Load(ctx, it.Home, it.Place)
		if err == nil && it.Kind == "inbox" && it.Home != d.Local && s.Phase() == lifecycle.Unfinished {
			s, err = d.withLane(ctx, it, s)
		}
		return &View{Home: it.Home, State: s, Item: it}, err
	}
	if fault.CodeOf(err) != fault.NotFound {
		return nil, err
	}
	spaces, serr := d.Spaces(ctx)
	if serr != nil {
		return nil, serr
	}
	var found *View
	for _, s := range spaces {
		id, lerr := d.InLane(ctx, s.Space, arg)
		if lerr != nil {
			return nil, lerr
		}
		if id == "" {
			continue
		}
		if found != nil && found.State.ID != id {
			return nil, fault.New(fault.Usage, fault.AmbiguousID, "%s means %s and %s", crossrepo.Quote(arg), found.State.ID, id).
				WithHints(handoff.Which(found.State.ID, id)...)
		}
		state, lerr := d.Engine.Load(ctx, s.Home, lifecycle.Place{ID: id})
		if lerr != nil {
			return nil, lerr
		}
		if found == nil || found.State.Receipt == nil {
			found = &View{Home: s.Home, State: state}
		}
	}
	if found == nil {
		return nil, err
	}
	return found, nil
}

// withLane reads a handoff anew with its lane, which a look into an inbox of a hub
// leaves there. A hub that is down leaves what is known.
func (d *Workspace) withLane(ctx context.Context, it *Item, known *lifecycle.State) (*lifecycle.State, error) {
	if err := it.Home.Refresh(ctx, crossrepo.WantAll(it.Place)); err != nil {
		d.Warn(err)
		return known, nil
	}
	return d.Engine.Load(ctx, it.Home, it.Place)
}

// InLane looks for an id in the lane that its last two characters name.
func (d *Workspace) InLane(ctx context.Context, space refs.Space, arg string) (handoff.ID, error) {
	tip, err := d.Repo.Resolve(ctx, space.Lane(handoff.ID(arg)))
	if err != nil || tip == "" {
		return "", err
	}
	ids, err := d.Engine.LaneIDs(ctx, tip, func(id handoff.ID) bool { return id.Matches(arg) })
	if err != nil || len(ids) == 0 {
		return "", err
	}
	if len(ids) > 1 {
		return "", fault.New(fault.Usage, fault.AmbiguousID, "%s means %s and %s", crossrepo.Quote(arg), ids[0], ids[1]).
			WithHints(handoff.Which(ids...)...)
	}
	return ids[0], nil
}

// Inbox lists the copies of some inboxes at some homes, oldest id first, and of
// one id in the order of the homes.
func (d *Workspace) Inbox(ctx context.Context, agents []string, homes ...lifecycle.Home) ([]*Item, error) {
	var patterns []string
	for _, home := range homes {
		for _, a := range agents {
			patterns = append(patterns, home.Space().Inbox(a, ""))
		}
	}
	list, err := d.Repo.List(ctx, patterns...)
	if err != nil {
		return nil, err
	}
	var all []*Item
	for _, home := range homes {
		all = append(all, ItemsOf(home, home.Space(), list)...)
	}
	slices.SortStableFunc(all, func(a, b *Item) int { return cmp.Compare(a.Place.ID, b.Place.ID) })
	return all, nil
}
