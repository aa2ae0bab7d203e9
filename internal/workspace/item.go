package workspace

import (
	"cmp"
	"context"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/refs"
)

// Item is a handoff as its inbox, outbox or sent ref shows it, unverified: good
// for choosing and for lists, not for belief.
type Item struct {
	Home   lifecycle.Home // nil for outbox and sent of a home that no alias leads to
	Kind   string         // "inbox", "outbox", "sent"
	Place  lifecycle.Place
	Ref    string
	Commit string         // empty where the name of the ref alone is known
	Record *record.Record // of the tip
	Fault  error          // the tip cannot be read as ours

	Tip *record.Commit // whose record that is
}

// ItemsOf are the handoffs that some refs below a namespace name.
func ItemsOf(home lifecycle.Home, namespace refs.Namespace, list []refs.Ref) []*Item {
	items := make([]*Item, 0, len(list))
	for _, r := range list {
		p, ok := namespace.ParseHandoffRef(r.Name)
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
func (w *Workspace) Load(ctx context.Context, it *Item) error {
	if it.Record != nil || it.Fault != nil {
		return nil //nolint:nilerr // the item reports the error
	}
	o, err := w.Repo.Read(ctx, cmp.Or(it.Commit, it.Ref), record.MaxCommit)
	switch {
	case o != nil:
		it.Commit = o.OID
	case err == nil && it.Commit == "": // the ref ended since it was listed: no hub needs to be asked
		it.Fault = fault.New(fault.NotFound, fault.UnknownHandoff, "%s is not there any more", it.Ref)
		return nil
	}
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
