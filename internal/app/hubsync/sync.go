package hubsync

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/outbox"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/workspace"
)

// Done is one thing done or found by a sync.
type Done struct {
	What   string // "delivered", "acknowledged" and the other receipts, "took", "dropped", "adopted"
	ID     handoff.ID
	Alias  string
	Record *record.Record // newest step, or if Lost the one that ended the claim; nil for "adopted"
	Next   handoff.ID
	Serial int64 // serial number of an adopted list of keys; 0 for other results
	Lost   bool  // this agent held the handoff, and another one ended the claim
}

// Sync brings this repository and its hubs into agreement: waiting steps are taken, claims ended
// by others are closed, the outbox is delivered, receipts come back, notes are shared, and a hub
// gets back lost entries of its log. With aliases named, only those are synced. A hub that is
// down does not stop the others. Sync returns everything done, with the first error, or with the
// error telling this agent to stop its work.
func (hd *Handler) Sync(ctx context.Context, aliases []string) ([]Done, error) {
	only, err := hd.Workspace.Hubs(ctx, aliases)
	if err != nil {
		return nil, err
	}
	run := &syncing{Handler: hd, only: only, tally: tally{first: fault.First{Warn: hd.Workspace.Warn}}}
	if err := run.look(ctx); err != nil {
		return run.done, err
	}
	run.keep(hd.Workspace.Recover(ctx))
	run.did(run.syncSteps(ctx))
	if err := ctx.Err(); err != nil {
		return run.done, cmp.Or(run.first.Err, err) // the first error says what the interrupt stopped
	}
	lost, stop := hd.closeEnded(ctx, only)
	run.done = append(run.done, lost...)
	run.exchange(ctx)
	for _, hub := range run.hubs() {
		if gave := hub.GaveBack(); gave != nil {
			hd.Workspace.Warn(gave)
		}
	}
	run.keep(hd.Receipts.Notes.Restore(ctx))
	if hub, err := hd.Workspace.Hub(ctx, hd.Workspace.MainRemote()); err == nil && run.wants(hub) && !run.at(hub).isDown() && !errors.Is(run.first.Err, refs.ErrRefused) {
		run.keep(hd.Receipts.Notes.Share(ctx, hub))
	}
	if stop != nil && run.first.Err != nil {
		hd.Workspace.Warn(run.first.Err)
	}
	return run.done, cmp.Or(stop, run.first.Err, run.untried)
}

// syncing is one run of Sync: its results, and its first error.
type syncing struct {
	*Handler
	only  []*crossrepo.Hub // hubs that were named; nil for all
	asked []*asked
	out   []*workspace.Item            // waiting and sent handoffs, as they were at the start
	along map[*workspace.Item]*outcome // outcomes of deliveries sent along with kept steps
	done  []Done

	tally
}

// tally keeps the first error and, apart from it, why nothing more was sent to a hub: the refused
// step has that error too.
type tally struct {
	first   fault.First
	untried error
}

func (t *tally) keep(err error) {
	if isUntried(err) {
		t.untried = err
		return
	}
	t.first.Keep(err) // the same error of a hub that is down is kept once
}

func (r *syncing) did(done []Done, err error) {
	r.done = append(r.done, done...)
	r.keep(err)
}

func (r *syncing) wants(hub *crossrepo.Hub) bool {
	return r.only == nil || slices.Contains(r.only, hub)
}

// unreadable returns why a waiting or sent handoff cannot be read. A sent one that was changed since is
// of no more use here, unless a newer version wrote it.
func unreadable(it *workspace.Item, why error) error {
	if f := fault.As(why); f != nil && it.Kind == refs.KindSent && f.Code == fault.Denied && !errors.Is(f, handoff.ErrUnknown) {
		return f.WithHints(fault.Run("git", "update-ref", "-d", it.Ref).Because("forgets that it was sent: the log of its hub says how it ends"))
	}
	return why
}

// reload reads the payload of a sent handoff again.
func reload(ctx context.Context, r *syncing, it *workspace.Item) (*lifecycle.Payload, error) {
	p, err := r.Engine.Verifier.Reload(ctx, it.Ref)
	if f := fault.As(err); f != nil && f.Code == fault.Denied {
		err = unreadable(it, fault.New(f.Code, f.Reason, "%s: %w", it.Ref, err).WithHints(f.Hints...))
	}
	return p, err
}

// exchange delivers the outbox, and reads the receipts of sent handoffs.
func (r *syncing) exchange(ctx context.Context) {
	byHub := map[*crossrepo.Hub][]*workspace.Item{}
	var hubs []*crossrepo.Hub
	for _, it := range r.out {
		if it.Fault != nil {
			r.keep(unreadable(it, it.Fault))
			continue
		}
		hub, ok := it.Home.(*crossrepo.Hub)
		if !ok && r.only == nil && it.Kind == refs.KindOutbox { // a handoff that was rerouted to this repository
			one, err := r.syncOutbox(ctx, it.Home, it)
			if one != nil {
				r.done = append(r.done, *one)
			}
			r.keep(err)
		}
		if !ok || !r.wants(hub) {
			continue
		}
		if byHub[hub] == nil {
			hubs = append(hubs, hub)
		}
		byHub[hub] = append(byHub[hub], it)
	}
	for _, hub := range hubs {
		if !r.at(hub).isDown() {
			r.did(r.syncHub(ctx, hub, byHub[hub]))
		}
	}
}

// syncHub delivers the outbox for one hub and reads the receipts of the handoffs sent there. It
// asks the hub once, unless the sync has asked it already, and leaves out the handoffs of an
// earlier push.
func (r *syncing) syncHub(ctx context.Context, hub *crossrepo.Hub, items []*workspace.Item) ([]Done, error) {
	spec := lifecycle.WholeHandoffs(workspace.Places(items)...)
	if !r.at(hub).brought(items) {
		if err := hub.CaughtUp(ctx, spec, func() error { return hub.Refresh(ctx, spec) }); err != nil {
			return nil, err
		}
	}
	all := make([]*outcome, len(items))
	var tasks []func(context.Context)
	for i, it := range items {
		if all[i] = r.along[it]; all[i] == nil {
			all[i] = &outcome{}
			tasks = append(tasks, func(ctx context.Context) { r.syncItem(ctx, hub, it, spec, all[i]) })
		}
	}
	crossrepo.Together(ctx, tasks)
	for i, it := range items {
		if all[i].err != nil && r.goneSince(ctx, it) {
			all[i].err = nil
		}
	}
	return r.outcomeOf(all)
}

// syncItem delivers one handoff of the outbox, or looks for the receipt of a sent one.
func (r *syncing) syncItem(ctx context.Context, hub *crossrepo.Hub, it *workspace.Item, spec lifecycle.FetchSpec, o *outcome) {
	o.err = hub.CaughtUp(ctx, spec, func() (err error) {
		if it.Kind == refs.KindOutbox {
			o.done, err = r.syncOutbox(ctx, hub, it)
		} else {
			o.done, err = r.syncSent(ctx, hub, it)
		}
		return err
	})
}

// goneSince reports whether the ref of an item is gone: another sync of this clone dealt with it.
func (hd *Handler) goneSince(ctx context.Context, it *workspace.Item) bool {
	now, err := hd.Engine.Repo.Resolve(ctx, it.Ref)
	return err == nil && now == ""
}

func (r *syncing) syncOutbox(ctx context.Context, home lifecycle.Home, it *workspace.Item) (*Done, error) {
	if ripe, err := r.Outbox.Ready(ctx, it.Place.ID); !ripe || err != nil {
		return nil, err
	}
	p, err := r.Engine.Verifier.Reload(ctx, it.Ref)
	if err != nil {
		return nil, err
	}
	p.Agent = it.Place.Agent
	err = r.Outbox.DeliverChild(ctx, home, p)
	it.Place.ID = p.Record.ID // DeliverChild may have given the handoff a new id
	it.Ref = refs.Outbox(p.Agent, it.Place.ID)
	if err != nil {
		return nil, r.ignoreNotSender(outbox.KeptError(err, it.Place.ID))
	}
	if r.Engine.Now().After(p.Record.Expires) {
		r.Workspace.Warn(fmt.Errorf("handoff %s expired at %s, before it was delivered: only resume --allow-expired takes it", it.Place.ID, handoff.FormatTime(p.Record.Expires)))
	}
	r.Receipts.Notes.Add(p.Envelope, p.Sealed, home, &p.Record)
	done := &Done{What: "delivered", ID: it.Place.ID, Alias: r.Workspace.AliasOf(home), Record: &p.Record}
	hub, ok := home.(*crossrepo.Hub)
	if !ok {
		return done, nil
	}
	it.Kind, it.Ref, it.Commit, it.Record = refs.KindSent, refs.Sent(p.Agent, it.Place.ID), p.Commit.OID, &p.Record
	// It may have been delivered before, and may have ended since.
	if over, err := r.syncSent(ctx, hub, it); over != nil || err != nil {
		return cmp.Or(over, done), err
	}
	return done, nil
}

// syncSent looks at the home of a sent handoff: a receipt ends it here as well, and a hub which
// lost it gets it again.
func (r *syncing) syncSent(ctx context.Context, hub *crossrepo.Hub, it *workspace.Item) (*Done, error) {
	s, err := r.Engine.Reader.LoadOrFetch(ctx, hub, it.Place)
	if err != nil {
		return nil, err
	}
	if s.Early != nil && (s.Phase() == lifecycle.Absent || s.Tip == "" && s.Phase() != lifecycle.Ended) {
		// The entry dated ahead may be the delivered handoff: nothing is sent again before its time.
		r.Workspace.Warn(s.Early)
		return nil, nil
	}
	switch s.Phase() {
	case lifecycle.Ended:
		return r.settle(ctx, hub, it, s)
	case lifecycle.Disputed:
		return nil, s.Err()
	case lifecycle.Absent:
		return r.redeliver(ctx, hub, it)
	case lifecycle.Open, lifecycle.Held:
		if !s.Delivered() {
			return r.redeliver(ctx, hub, it)
		}
		return nil, r.giveWork(ctx, hub, it, lifecycle.Place{Agent: s.To, ID: s.ID})
	}
	return nil, nil
}

// ignoreNotSender leaves the handoffs of another agent of this clone to that agent.
func (hd *Handler) ignoreNotSender(err error) error {
	if fault.Is(err, fault.NotSender) {
		hd.Workspace.Warn(err)
		return nil
	}
	return err
}

// redeliver offers a sent handoff again which its hub seems to have lost. If the fetch before the
// push shows that it has ended, its receipt counts.
func (r *syncing) redeliver(ctx context.Context, hub *crossrepo.Hub, it *workspace.Item) (*Done, error) {
	p, err := reload(ctx, r, it)
	if err != nil {
		return nil, err
	}
	p.Agent = it.Place.Agent
	s, err := r.Engine.Offer(ctx, hub, p)
	if err != nil {
		return nil, r.ignoreNotSender(err)
	}
	if s.Phase() == lifecycle.Ended {
		return r.settle(ctx, hub, it, s)
	}
	return &Done{What: "delivered", ID: it.Place.ID, Alias: hub.Alias.Name, Record: s.Last()}, nil
}

// settle writes the receipt into the note of the source's commit, and drops the sent ref and an
// unneeded checkpoint. If the payload is lost here, only the note is not written.
func (r *syncing) settle(ctx context.Context, hub *crossrepo.Hub, it *workspace.Item, s *lifecycle.State) (*Done, error) {
	tip, err := r.Engine.Repo.Resolve(ctx, it.Ref)
	if err != nil {
		return nil, err
	}
	edits, _ := refs.Deletions(ctx, r.Engine.Repo, refs.WorkOut(it.Place.ID)) // refs that cannot be read stay
	snapshot := len(edits) > 0
	p, err := reload(ctx, r, it)
	switch {
	case fault.Is(err, fault.MissingObject):
		r.Workspace.Warn(fmt.Errorf("no note says how handoff %s ended: %w", it.Place.ID, err))
	case err != nil:
		return nil, err
	default:
		snapshot = p.Envelope.Work != nil
		r.Receipts.Notes.Add(p.Envelope, p.Sealed, hub, s.Receipt)
		if err := r.Receipts.Notes.Write(ctx); err != nil {
			return nil, err
		}
	}
	if snapshot {
		if err := hub.DropWork(ctx, lifecycle.Place{Agent: s.To, ID: s.ID}); err != nil {
			return nil, err
		}
	}
	edits = append(edits, refs.Edit{Ref: it.Ref, Old: tip})
	if s.Receipt.Next == "" {
		edits = append(edits, r.Receipts.FreeCheckpoints(ctx, it.Place.ID, it.Record.Parent)...)
	} else if err := hub.Refresh(ctx, r.at(hub).without(specOfNext(it.Record, s.Receipt.Next))); err != nil {
		return nil, err
	}
	if err := r.Engine.Repo.Apply(ctx, refs.Transaction{Edits: edits}); err != nil {
		return nil, fmt.Errorf("settle %s: %w", it.Place.ID, err)
	}
	return &Done{What: string(s.Receipt.Event), ID: it.Place.ID, Alias: hub.Alias.Name, Record: s.Receipt, Next: s.Receipt.Next}, nil
}

// specOfNext asks for a handoff which may have come back to this clone, so that the next resume
// looks at its hub.
func specOfNext(offer *record.Record, next handoff.ID) lifecycle.FetchSpec {
	spec := lifecycle.WholeHandoffs(lifecycle.Place{Agent: offer.From, ID: next})
	if offer.OnFailure != "" {
		spec.Places = append(spec.Places, lifecycle.Place{Agent: offer.OnFailure, ID: next})
	}
	return spec
}

// DeliverWaiting delivers what waits in the outbox for one hub, and asks the hub
// nothing if nothing does.
func (hd *Handler) DeliverWaiting(ctx context.Context, hub *crossrepo.Hub) ([]Done, error) {
	out, err := hd.Workspace.Outgoing(ctx)
	waiting := slices.DeleteFunc(out, func(it *workspace.Item) bool { return it.Kind != refs.KindOutbox || it.Fault != nil || it.Home != hub })
	if err != nil || len(waiting) == 0 {
		return nil, err
	}
	done, err := (&syncing{Handler: hd}).syncHub(ctx, hub, waiting)
	hd.Receipts.Notes.Try(ctx)
	return done, err
}
