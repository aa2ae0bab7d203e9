package workspace

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/work"
)

// Done is one thing that a sync did or found.
type Done struct {
	What   string // "delivered", "acknowledged" and the other receipts, "took", "dropped", "adopted"
	ID     handoff.ID
	Alias  string
	Record *record.Record // of the receipt; nil otherwise
	Next   handoff.ID
	Serial int64 // of a list of keys that was adopted
	Lost   bool  // this agent held it, and somebody else ended that
}

// Sync brings this repository and its hubs to agree: journalled steps are
// taken, claims that somebody else ended are closed, the outbox is delivered,
// receipts come back, notes are shared, and a hub is given back what it lost of
// its log. With aliases named, only those are synced. It goes on after a hub that
// is down, and returns everything that was done with the first error, or with the
// one that tells this agent to stop its work.
func (d *Workspace) Sync(ctx context.Context, aliases []string) ([]Done, error) {
	only, err := d.chosen(ctx, aliases)
	if err != nil {
		return nil, err
	}
	run := &syncing{Workspace: d, only: only}
	if err := run.look(ctx); err != nil {
		return run.done, err
	}
	run.keep(d.Recover(ctx))
	took, err := d.syncJournal(ctx, only)
	run.did(took, err)
	lost, stop := d.review(ctx, only)
	run.done = append(run.done, lost...)
	if err := run.exchange(ctx); err != nil {
		return run.done, err
	}
	run.keep(d.restoreNotes(ctx))
	if hub, err := d.Hub(ctx, d.MainRemote()); err == nil && run.wants(hub) && !errors.Is(run.first, refs.ErrRefused) {
		run.keep(d.SyncNotes(ctx, hub))
	}
	if stop != nil && run.first != nil {
		d.Warn(run.first)
	}
	return run.done, cmp.Or(stop, run.first)
}

// syncing is one run of Sync: what it did, and the first error that it met.
type syncing struct {
	*Workspace
	only  []*crossrepo.Hub // that were named; nil means all
	done  []Done
	first error
}

func (r *syncing) keep(err error) {
	switch {
	case err == nil:
	case r.first == nil:
		r.first = err
	case err.Error() != r.first.Error(): // a hub that is down says so once
		r.Warn(err)
	}
}

func (r *syncing) did(done []Done, err error) {
	r.done = append(r.done, done...)
	r.keep(err)
}

func (r *syncing) wants(hub *crossrepo.Hub) bool {
	return r.only == nil || slices.Contains(r.only, hub)
}

// exchange delivers what waits in the outbox, and reads the receipts of what was
// sent.
func (r *syncing) exchange(ctx context.Context) error {
	out, err := r.outgoing(ctx)
	if err != nil {
		return err
	}
	byHub := map[*crossrepo.Hub][]*Item{}
	var hubs []*crossrepo.Hub
	for _, it := range out {
		if it.Fault != nil {
			r.keep(it.Fault)
			continue
		}
		hub, ok := it.Home.(*crossrepo.Hub)
		if !ok && r.only == nil && it.Kind == "outbox" { // rerouted to this repository
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
		r.did(r.syncHub(ctx, hub, byHub[hub]))
	}
	return nil
}

// Recover settles what killed commands left half done, here and at hubs.
func (d *Workspace) Recover(ctx context.Context) error {
	return d.Engine.Recover(ctx, func(repoID string) (lifecycle.Home, error) { return d.Home(ctx, repoID) })
}

// RecoverLocal is Recover for this repository alone: most commands have no
// business with a hub.
func (d *Workspace) RecoverLocal(ctx context.Context) error {
	return d.Engine.Recover(ctx, func(repoID string) (lifecycle.Home, error) {
		if d.Local.Answers(repoID) {
			return d.Local, nil
		}
		return nil, nil
	})
}

// chosen resolves the aliases that were named; nil means all.
func (d *Workspace) chosen(ctx context.Context, aliases []string) ([]*crossrepo.Hub, error) {
	var only []*crossrepo.Hub
	for _, name := range aliases {
		hub, err := d.Hub(ctx, name)
		if err != nil {
			return nil, err
		}
		only = append(only, hub)
	}
	return only, nil
}

// syncJournal takes the steps that were kept while a hub was down. A step whose
// claim was lost is dropped and reported.
func (d *Workspace) syncJournal(ctx context.Context, only []*crossrepo.Hub) ([]Done, error) {
	steps, err := d.Journal.All()
	if err != nil {
		return nil, err
	}
	var done []Done
	var first error
	for _, step := range steps {
		one, err := d.takeKept(ctx, step, only)
		if one != nil {
			done = append(done, *one)
		}
		// Who may not reject, or what its hub never got, learns of it only now, and
		// would each time.
		if fault.CodeOf(err) == fault.Conflict ||
			step.Nonce == "" && (fault.Is(err, fault.UntrustedKey) || fault.Is(err, fault.UnknownHandoff)) {
			err = fault.New(fault.Conflict, fault.NotHolder, "the kept step %q is dropped: %w", step.Event, err)
			if derr := d.Journal.Drop(step.ID); derr != nil {
				return done, derr
			}
		}
		if err != nil && first == nil {
			first = err
		}
	}
	return done, first
}

func (d *Workspace) takeKept(ctx context.Context, step *work.Step, only []*crossrepo.Hub) (*Done, error) {
	h, err := d.standing(step)
	if err != nil {
		return nil, err
	}
	if h.Actor != d.Agent {
		d.Warn(fault.New(fault.Conflict, fault.NotHolder, "the step %q on %s waits for %s: githandoff --as %s sync", step.Event, step.ID, h.Actor, h.Actor))
		return nil, nil
	}
	home, err := d.Home(ctx, h.Home)
	if err != nil {
		return nil, err
	}
	if hub, ok := home.(*crossrepo.Hub); ok && only != nil && !slices.Contains(only, hub) {
		return nil, nil
	}
	e, err := d.Take(ctx, h, *step)
	if err != nil {
		return nil, err
	}
	return &Done{What: string(step.Event), ID: step.ID, Alias: d.AliasOf(home), Record: e.State.Receipt, Next: e.Next}, nil
}

// standing is the claim that a kept step stands on; of a rejection the offer,
// which nobody had claimed.
func (d *Workspace) standing(step *work.Step) (*lifecycle.Holder, error) {
	if step.Nonce == "" {
		return &lifecycle.Holder{ID: step.ID, Agent: step.Agent, Actor: step.Actor, Home: step.Home}, nil
	}
	h, err := d.Claims.Get(step.ID)
	if err == nil && (h == nil || h.Nonce != step.Nonce) {
		err = fault.New(fault.Conflict, fault.NotHolder, "the claim on handoff %s was lost", step.ID)
	}
	return h, err
}

// syncHub delivers what waits for one hub and reads the receipts of what was
// sent there: one fetch for the inbox refs, one for the lanes.
func (d *Workspace) syncHub(ctx context.Context, hub *crossrepo.Hub, items []*Item) ([]Done, error) {
	var want lifecycle.Want
	for _, it := range items {
		want.Places = append(want.Places, it.Place)
		want.Lanes = append(want.Lanes, it.Place.ID)
	}
	err := hub.CaughtUp(ctx, want, func() error { return hub.Refresh(ctx, want) })
	if err != nil {
		return nil, err
	}
	var done []Done
	var first error
	for _, it := range items {
		var one *Done
		err := hub.CaughtUp(ctx, want, func() (err error) {
			if it.Kind == "outbox" {
				one, err = d.syncOutbox(ctx, hub, it)
			} else {
				one, err = d.syncSent(ctx, hub, it)
			}
			return err
		})
		if one != nil {
			done = append(done, *one)
		}
		switch {
		case err == nil, d.overtaken(ctx, it):
		case first == nil:
			first = err
		default:
			d.Warn(err)
		}
		if errors.Is(err, refs.ErrRefused) {
			break // it says the same of what else waits
		}
	}
	return done, first
}

// overtaken: what is not there any more was seen to by another sync of this clone.
func (d *Workspace) overtaken(ctx context.Context, it *Item) bool {
	now, err := d.Repo.Resolve(ctx, it.Ref)
	return err == nil && now == ""
}

func (d *Workspace) syncOutbox(ctx context.Context, home lifecycle.Home, it *Item) (*Done, error) {
	if ripe, err := d.ripe(ctx, it.Place.ID); !ripe || err != nil {
		return nil, err
	}
	p, err := d.Engine.Reload(ctx, it.Ref)
	if err != nil {
		return nil, err
	}
	p.Agent = it.Place.Agent
	if err := d.DeliverTo(ctx, home, p); err != nil {
		return nil, d.leave(keptFault(err))
	}
	done := &Done{What: "delivered", ID: it.Place.ID, Alias: d.AliasOf(home)}
	hub, ok := home.(*crossrepo.Hub)
	if !ok {
		return done, nil
	}
	it.Kind, it.Ref = "sent", refs.Sent(it.Place.Agent, it.Place.ID)
	// It may have been there before, and be over by now.
	if over, err := d.syncSent(ctx, hub, it); over != nil || err != nil {
		return cmp.Or(over, done), err
	}
	return done, nil
}

// syncSent looks at the home of something that was sent: a receipt ends it here
// as well, a hub that lost it is given it again.
func (d *Workspace) syncSent(ctx context.Context, hub *crossrepo.Hub, it *Item) (*Done, error) {
	s, err := d.Engine.Locate(ctx, hub, it.Place)
	if err != nil {
		return nil, err
	}
	if s.Early != nil && (s.Phase() == lifecycle.Absent || s.Tip == "" && s.Phase() != lifecycle.Ended) {
		d.Warn(s.Early) // what is due may be there already: it is not sent again before its time has come
		return nil, nil
	}
	switch s.Phase() {
	case lifecycle.Ended:
		return d.settle(ctx, hub, it, s)
	case lifecycle.Disputed:
		return nil, s.Verdict()
	case lifecycle.Absent:
		return d.redeliver(ctx, hub, it)
	case lifecycle.Open, lifecycle.Held:
		if s.Tip == "" {
			return d.redeliver(ctx, hub, it)
		}
	}
	return nil, nil
}

// leave leaves what another agent of this clone sent to that agent.
func (d *Workspace) leave(err error) error {
	if fault.Is(err, fault.NotSender) {
		d.Warn(err)
		return nil
	}
	return err
}

func (d *Workspace) redeliver(ctx context.Context, hub *crossrepo.Hub, it *Item) (*Done, error) {
	p, err := d.Engine.Reload(ctx, it.Ref)
	if err != nil {
		return nil, err
	}
	p.Agent = it.Place.Agent
	if _, err := d.Engine.Offer(ctx, hub, p); err != nil {
		return nil, d.leave(err)
	}
	return &Done{What: "delivered", ID: it.Place.ID, Alias: hub.Alias.Name}, nil
}

// settle writes what a receipt says into the note of the source's commit, and
// lets go of the sent ref and of a checkpoint that nobody needs any more.
func (d *Workspace) settle(ctx context.Context, hub *crossrepo.Hub, it *Item, s *lifecycle.State) (*Done, error) {
	p, err := d.Engine.Reload(ctx, it.Ref)
	if err != nil {
		return nil, err
	}
	d.note(subject(p.Envelope, p.Sealed), hub, s.Receipt)
	if err := d.writeNotes(ctx); err != nil {
		return nil, err
	}
	edits := []refs.Edit{{Ref: it.Ref, Old: p.Commit.OID}}
	if s.Receipt.Next == "" {
		edits = append(edits, d.freeCheckpoints(ctx, it.Place.ID, p.Envelope.Parent)...)
	} else if err := hub.Refresh(ctx, wantNext(p.Envelope, s.Receipt.Next)); err != nil {
		return nil, err
	}
	if err := d.Repo.Apply(ctx, refs.Transaction{Edits: edits}); err != nil {
		return nil, fmt.Errorf("settle %s: %w", it.Place.ID, err)
	}
	return &Done{What: string(s.Receipt.Event), ID: it.Place.ID, Alias: hub.Alias.Name, Record: s.Receipt, Next: s.Receipt.Next}, nil
}

// wantNext brings in what may have come back to this clone, so that the next
// resume knows to look at that hub.
func wantNext(env *handoff.Envelope, next handoff.ID) lifecycle.Want {
	want := lifecycle.Want{Places: []lifecycle.Place{{Agent: env.Source.Agent, ID: next}}, Lanes: []handoff.ID{next}}
	if r := env.Rollback; r != nil && r.OnFailure != "" {
		want.Places = append(want.Places, lifecycle.Place{Agent: r.OnFailure, ID: next})
	}
	return want
}

// Salt makes 32 random hex digits.
func (d *Workspace) Salt() (string, error) {
	var b [16]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", fmt.Errorf("read a salt: %w", err)
	}
	return hex.EncodeToString(b[:]), nil
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
