package workspace

import (
	"context"
	"errors"
	"slices"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/refs"
)

// Emission is one handoff to send.
type Emission struct {
	Envelope  *handoff.Envelope
	Home      lifecycle.Home
	Authority *lifecycle.Authority // nil: none
	Asked     bool                 // the authority: without it, nothing is sent
	Seal      bool                 // for the keys of the target agent
	Queue     bool                 // leave it in the outbox
	Aside     []refs.Edit
}

// Emitted says where a handoff went.
type Emitted struct {
	ID     handoff.ID
	State  string // "offered", "queued"
	Ref    string
	Commit string
	Record *record.Record
}

// Emit makes a handoff durable and then present at its home. The result is
// valid, and the handoff safe in this repository, also when the error says
// that the hub could not be reached.
func (d *Workspace) Emit(ctx context.Context, em Emission) (*Emitted, error) {
	p, err := d.passedOn(ctx, em)
	if err != nil {
		return nil, err
	}
	done := &Emitted{ID: p.Record.ID, State: "offered", Commit: p.Commit.OID, Record: &p.Record}
	hub, remote := em.Home.(*crossrepo.Hub)
	if !remote {
		done.Ref = refs.LocalSpace.Inbox(p.Agent, p.Record.ID)
		if _, err := d.Engine.Offer(ctx, em.Home, p, em.Aside...); err != nil {
			return nil, err
		}
		d.note(subject(em.Envelope, em.Seal), d.Local, &p.Record)
		d.tryNotes(ctx)
		return done, nil
	}
	done.State, done.Ref = "queued", refs.Outbox(p.Agent, p.Record.ID)
	err = d.Repo.Apply(ctx, refs.Transaction{
		Edits:   append([]refs.Edit{{Ref: done.Ref, New: p.Commit.OID}}, em.Aside...),
		Objects: p.Objects,
	})
	if err != nil {
		return nil, err
	}
	d.note(subject(em.Envelope, em.Seal), hub, &p.Record)
	d.tryNotes(ctx)
	if em.Queue {
		return done, nil
	}
	if err := d.DeliverTo(ctx, hub, p); err != nil {
		return done, keptFault(err)
	}
	done.State, done.Ref = "offered", refs.Sent(p.Agent, p.Record.ID)
	return done, nil
}

// keptFault: what could not be delivered, or was interrupted, is still there.
func keptFault(err error) error {
	f := fault.As(err)
	if errors.Is(err, context.Canceled) {
		f = fault.New(fault.Interrupted, fault.WasInterrupted, "%w", err)
		f.Message = "interrupted"
	}
	if f == nil || f.Code != fault.Unavailable && f.Code != fault.Interrupted {
		return err
	}
	return kept(f, "the handoff waits in the outbox")
}

// kept adds to what stood in the way what became of the work, and how it goes out
// once that is mended.
func kept(f *fault.Error, what string) error {
	k := *f
	k.Message += "; " + what
	sync := fault.Run("githandoff", "sync").Because("sends it, once that is mended")
	if f.Reason == fault.RemoteUnavailable {
		k.Hints = []fault.Hint{
			fault.Run("githandoff", "sync").Because("sends it, once the hub is back"),
			fault.Run("githandoff", "doctor").Because("says what is wrong"),
		}
		return &k
	}
	k.Hints = append(slices.Clone(f.Hints[:min(len(f.Hints), fault.MaxHints-1)]), sync)
	return &k
}

// DeliverTo offers a payload from the outbox at its home, and in the same step
// moves it from the outbox to the sent ones; at this repository it is not sent
// anywhere.
func (d *Workspace) DeliverTo(ctx context.Context, home lifecycle.Home, p *lifecycle.Payload) error {
	aside := []refs.Edit{{Ref: refs.Outbox(p.Agent, p.Record.ID), Old: p.Commit.OID}}
	if home != lifecycle.Home(d.Local) {
		aside = append([]refs.Edit{{Ref: refs.Sent(p.Agent, p.Record.ID), New: p.Commit.OID}}, aside...)
	}
	if _, err := d.Engine.Offer(ctx, home, p, aside...); err != nil {
		return err
	}
	// Offered already (an answer was lost, or another process was faster): the
	// edits above were not needed, these are.
	var rest []refs.Edit
	for _, e := range aside {
		now, err := d.Repo.Resolve(ctx, e.Ref)
		if err != nil {
			return err
		}
		if now == e.Old && now != e.New {
			rest = append(rest, e)
		}
	}
	return d.Repo.Apply(ctx, refs.Transaction{Edits: rest})
}

// Once finds an open handoff of the same source, target and task at the same
// home: what "emit --once" returns instead of a second one.
func (d *Workspace) Once(ctx context.Context, home lifecycle.Home, source, target, task string) (*Item, error) {
	patterns := []string{refs.Root + "outbox/" + target + "/", refs.Root + "sent/" + target + "/"}
	if home == lifecycle.Home(d.Local) {
		patterns = []string{refs.LocalSpace.Inbox(target, "")}
	}
	list, err := d.Repo.List(ctx, patterns...)
	if err != nil {
		return nil, err
	}
	items, err := d.items(ctx, home, refs.LocalSpace, list)
	if err != nil {
		return nil, err
	}
	for _, it := range items {
		if err := d.Load(ctx, it); err != nil {
			return nil, err
		}
		if it.Record != nil && it.Record.From == source && it.Record.Task == task && home.Answers(it.Record.Home) {
			return it, nil
		}
	}
	return nil, nil
}
