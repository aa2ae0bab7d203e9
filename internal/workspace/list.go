package workspace

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/refs"
)

// List visits the waiting handoffs: those in this agent's inboxes or, with all, every open
// handoff known here. It reads the copies; RefreshInboxes fetches from the hubs first. Items are
// unverified.
func (w *Workspace) List(ctx context.Context, all bool, visit func(*Item) error) error {
	homes := w.All(ctx)
	patterns := inboxPrefixes(homes, append(w.Inboxes(), handoff.Nobody))
	if all {
		patterns = homes.Prefixes()
	}
	atHub := map[handoff.ID]bool{}
	return refs.Commits(ctx, w.Repo, func(ref refs.Ref, raw []byte) error {
		it := homes.Item(ref)
		if it == nil {
			return nil
		}
		if all && it.Kind == refs.KindInbox && !lifecycle.IsLocal(it.Home) {
			atHub[it.Place.ID] = true
		}
		if it.Kind == refs.KindSent && atHub[it.Place.ID] {
			return nil // the handoff was listed with its state at the hub
		}
		if it.Scan(raw); w.Strayed(ctx, it) {
			return nil
		}
		if it.Kind != refs.KindInbox && it.Fault == nil {
			it.Home, _ = w.Home(ctx, it.Record.Home) // nil if no alias leads to the home
		}
		return visit(it)
	}, patterns...)
}

// RefreshInboxes fetches the inboxes for List from the hubs resume would ask. It returns the
// errors of unread hubs.
func (w *Workspace) RefreshInboxes(ctx context.Context, all bool) (failed []error) {
	spec := lifecycle.FetchSpec{Inboxes: append(w.Inboxes(), handoff.Nobody), Log: true} // a resume needs the log next
	if all {
		spec = lifecycle.FetchSpec{Inboxes: []string{crossrepo.AllInboxes}}
	}
	homes, down := w.Sources(ctx)
	for _, err := range crossrepo.AskAll(homes, func(home lifecycle.Home) error { return home.Refresh(ctx, spec) }) {
		if err != nil {
			failed = append(failed, err)
		}
	}
	if down != nil {
		failed = append(failed, down)
	}
	return failed
}

// HomeList lists homes, those with the longer ref prefixes first.
type HomeList []lifecycle.Home

// Item returns the handoff named by a ref; nil if there is none.
func (l HomeList) Item(ref refs.Ref) *Item {
	i := slices.IndexFunc(l, func(home lifecycle.Home) bool { return strings.HasPrefix(ref.Name, string(home.Namespace())) })
	if i < 0 {
		return nil
	}
	return itemOf(l[i], l[i].Namespace(), ref)
}

// Prefixes returns the prefixes of the refs of all handoffs: in the inboxes of these homes, and in the outbox
// of this repository or sent from it.
func (l HomeList) Prefixes() []string {
	prefixes := []string{refs.Root + "outbox/", refs.Root + "sent/"}
	for _, home := range l {
		prefixes = append(prefixes, string(home.Namespace())+"inbox/")
	}
	return prefixes
}

// inboxPrefixes returns the prefixes of the refs of some inboxes, home by home.
func inboxPrefixes(homes []lifecycle.Home, agents []string) []string {
	var prefixes []string
	for _, home := range homes {
		for _, agent := range agents {
			prefixes = append(prefixes, home.Namespace().Inbox(agent, ""))
		}
	}
	return prefixes
}

// InboxItems lists the copies of this agent's inboxes at some homes, oldest id first, and of
// one id in the order of the homes.
func (w *Workspace) InboxItems(ctx context.Context, homes ...lifecycle.Home) ([]*Item, error) {
	list, err := w.Repo.List(ctx, inboxPrefixes(homes, w.Inboxes())...)
	if err != nil {
		return nil, err
	}
	var all []*Item
	for _, home := range homes {
		all = append(all, ItemsOf(home, home.Namespace(), list)...)
	}
	slices.SortStableFunc(all, func(a, b *Item) int { return cmp.Compare(a.Place.ID, b.Place.ID) })
	return all, nil
}

// Names are the names of the refs in an agent's inboxes, in this repository and in the
// copies of hubs. No object was read: a ref may be of a handoff that is claimed or has ended, or
// of no handoff.
type Names struct {
	homes    HomeList
	prefixes []string // prefixes of the inbox refs
	sorted   []string
}

// Names lists this agent's inboxes by the names of the refs alone.
func (w *Workspace) Names(ctx context.Context) (_ *Names, err error) {
	n := &Names{homes: w.All(ctx)}
	n.prefixes = inboxPrefixes(n.homes, w.Inboxes())
	n.sorted, err = refs.Named(ctx, w.Repo, n.prefixes...)
	return n, err
}

// IDs lists the ids, the oldest first.
func (n *Names) IDs() []handoff.ID {
	ids := make([]handoff.ID, 0, len(n.sorted))
	for _, name := range n.sorted {
		at := len(name) - handoff.IDLen
		if at > 0 && slices.Contains(n.prefixes, name[:at]) {
			ids = append(ids, handoff.ID(name[at:])) // the caller checks the characters
		}
	}
	if len(n.prefixes) > 1 { // the refs of one inbox are sorted already
		slices.Sort(ids)
		ids = slices.Compact(ids)
	}
	return ids
}

// Items returns the handoffs of an id, in the order of the homes. Load reads one.
func (n *Names) Items(id handoff.ID) []*Item {
	var items []*Item
	for _, prefix := range n.prefixes {
		name := prefix + string(id)
		if _, found := slices.BinarySearch(n.sorted, name); !found {
			continue
		}
		if it := n.homes.Item(refs.Ref{Name: name}); it != nil {
			items = append(items, it)
		}
	}
	return items
}

// Shown verifies a handoff as this clone knows it, without asking a hub: to show it again to its
// holder, or before it is taken.
func (w *Workspace) Shown(ctx context.Context, home lifecycle.Home, p lifecycle.Place) (*lifecycle.Verified, error) {
	s, err := w.Engine.Reader.Load(ctx, home, p)
	if err != nil {
		return nil, err
	}
	return w.Engine.Verifier.Verify(ctx, home, s, lifecycle.Options{AsKnown: true, UnknownStands: true, AllowExpired: true})
}

// Item is a handoff as its inbox, outbox or sent ref shows it, unverified: good
// for choosing and for lists, not for belief.
type Item struct {
	Home   lifecycle.Home // nil if no alias leads to the home of an outbox or sent ref
	Kind   string         // refs.KindInbox, KindOutbox or KindSent
	Place  lifecycle.Place
	Ref    string
	Commit string         // empty if only the name of the ref is known
	Record *record.Record // record of the tip
	Fault  error          // error if the tip is no readable commit of githandoff; else nil

	Tip *record.Commit // commit that has the record
}

// WordAt returns the state shown by the ref and its tip in one word: queued, sent, early, undecided, expired,
// overdue, or the phase of the handoff. Early is an offer dated so far ahead of the clock that no reader
// counts it yet; with a claim dated so, somebody works on it. The item has no Fault.
func (it *Item) WordAt(now time.Time) string {
	switch it.Kind {
	case refs.KindOutbox:
		return "queued"
	case refs.KindSent:
		return "sent"
	}
	r := it.Record
	switch {
	case r.Event == record.Claimed || r.Event == record.Progressed:
		if now.After(r.Lease) {
			return "overdue"
		}
		return string(lifecycle.Held)
	case r.At.After(now.Add(lifecycle.ClockSkew)):
		return "early"
	case it.Place.Agent == handoff.Nobody:
		return "undecided"
	case now.After(r.Expires):
		return "expired"
	}
	return string(lifecycle.Open)
}

// Waits reports whether an item shows an open offer.
func (it *Item) Waits(now time.Time) bool {
	return it.Fault == nil && it.WordAt(now) == string(lifecycle.Open)
}

// Behind reports whether the lane of the item, as it is known here, lacks what the inbox ref of its
// hub shows: a fetch of an inbox need not bring the lane.
func (it *Item) Behind(s *lifecycle.State) bool {
	return it.Kind == refs.KindInbox && !lifecycle.IsLocal(it.Home) && s.Receipt == nil && s.Unlogged()
}

// ItemsOf returns the handoffs named by some refs below a namespace.
func ItemsOf(home lifecycle.Home, namespace refs.Namespace, list []refs.Ref) []*Item {
	items := make([]*Item, 0, len(list))
	for _, r := range list {
		if it := itemOf(home, namespace, r); it != nil {
			items = append(items, it)
		}
	}
	return items
}

// MostSwept is how many handoffs one transaction sweeps.
const MostSwept = 100

// Places returns the places of some handoffs.
func Places(items []*Item) []lifecycle.Place {
	places := make([]lifecycle.Place, len(items))
	for i, it := range items {
		places[i] = it.Place
	}
	return places
}

// itemOf returns the handoff named by a ref; nil if there is none below the namespace.
func itemOf(home lifecycle.Home, namespace refs.Namespace, r refs.Ref) *Item {
	p, ok := namespace.ParseHandoffRef(r.Name)
	if !ok {
		return nil
	}
	return &Item{Home: home, Kind: p.Kind, Place: lifecycle.Place{Agent: p.Agent, ID: p.ID}, Ref: r.Name, Commit: r.OID}
}

// IsCopy reports whether a loaded item is in the inbox of a repository that its record does not name
// as its home.
func (it *Item) IsCopy() bool {
	return it.Kind == refs.KindInbox && it.Record != nil && !it.Home.Is(it.Record.Home)
}

// Strayed reports whether a loaded item is a copy in an inbox of this repository, and a known hub is its
// home: a tool that fetches every ref made it. Nothing waits there.
func (hs *Homes) Strayed(ctx context.Context, it *Item) bool {
	if !lifecycle.IsLocal(it.Home) || !it.IsCopy() {
		return false
	}
	home, _ := hs.Home(ctx, it.Record.Home) // an error: it may wait here under a name that nobody configured
	return home != nil
}

// isCopy reports whether nothing but a copy of a handoff was found.
func (v *View) isCopy() bool { return v != nil && v.Item != nil && v.Item.IsCopy() }

// Scan takes the record of the item's commit for a list, without parsing the whole commit.
func (it *Item) Scan(raw []byte) {
	if it.Record, it.Fault = record.Scan(raw); it.Fault == nil && it.Record.ID != it.Place.ID {
		it.Fault = fault.New(fault.Denied, fault.HandoffMismatch, "%s holds another handoff", it.Ref)
	}
}

// Load reads the commit of an item's ref. If it is not a readable commit of ours, the item has a
// Fault afterwards.
func (w *Workspace) Load(ctx context.Context, it *Item) error {
	if it.Record != nil || it.Fault != nil {
		return nil //nolint:nilerr // the item reports the error
	}
	if it.Commit == "" {
		tip, err := w.Repo.Resolve(ctx, it.Ref)
		if err != nil {
			return it.Fill(ctx, nil, err)
		}
		if tip == "" { // the handoff ended since it was listed: no hub needs to be asked
			it.Fault = fault.New(fault.NotFound, fault.UnknownHandoff, "%s is not there any more", it.Ref)
			return nil
		}
		it.Commit = tip
	}
	o, err := w.Repo.Read(ctx, it.Commit, record.MaxCommit)
	return it.Fill(ctx, o, err)
}

// Fill takes the commit of an item's ref, or the error of reading it.
func (it *Item) Fill(ctx context.Context, o *refs.Object, err error) error {
	if hub, ok := it.Home.(*crossrepo.Hub); ok && o == nil && (err == nil || fault.Is(err, fault.MissingObject)) {
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
		it.Fault = refs.Missing("the object of " + it.Ref)
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
func (w *Workspace) Outgoing(ctx context.Context) ([]*Item, error) {
	list, err := w.Repo.List(ctx, refs.Root+"outbox/", refs.Root+"sent/")
	if err != nil {
		return nil, err
	}
	items := ItemsOf(nil, refs.LocalNamespace, list)
	for _, it := range items {
		if err := w.Load(ctx, it); err != nil {
			return nil, err
		}
		if it.Record == nil {
			continue
		}
		if it.Home, err = w.Home(ctx, it.Record.Home); err != nil {
			it.Fault = err
		}
	}
	return items, nil
}

// Ends returns the shortest unique ends of the ids of all handoffs with a ref in this clone, and of
// the given ones. A command accepts such an end: it looks at refs first, and at logs only if no
// ref fits.
func (w *Workspace) Ends(ctx context.Context, more ...handoff.ID) (handoff.Ends, error) {
	homes := w.All(ctx)
	list, err := w.Repo.List(ctx, homes.Prefixes()...)
	if err != nil {
		return nil, err
	}
	ids := more
	for _, ref := range list {
		if it := homes.Item(ref); it != nil {
			ids = append(ids, it.Place.ID)
		}
	}
	return handoff.EndsOf(ids), nil
}
