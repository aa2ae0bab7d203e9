package emit

import (
	"context"
	"errors"
	"slices"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/outbox"
	"githandoff/internal/record"
	"githandoff/internal/refs"
)

// Request is one handoff to send.
type Request struct {
	Envelope   *handoff.Envelope
	Home       lifecycle.Home
	Authority  *lifecycle.Authority // nil for none
	Asked      bool                 // the authority is required: without it, nothing is sent
	Seal       bool                 // seal the handoff for the keys of the target agent
	Queue      bool                 // leave the handoff in the outbox
	LocalEdits []refs.Edit
	Snapshot   []*refs.Object // objects of the snapshot that Envelope.Work names
}

// Result says where a handoff went.
type Result struct {
	ID     handoff.ID
	State  string // "offered" or "queued"; of an earlier emit, its phase as well
	Ref    string
	Commit string
	Record *record.Record
}

// Emit makes a handoff durable and then present at its home. The result is valid, and the handoff
// safe in this repository, even if the error reports an unreachable hub.
func (s *Handler) Emit(ctx context.Context, em Request) (*Result, error) {
	p, err := s.passedOn(ctx, em)
	if err != nil {
		return nil, err
	}
	p.Objects = append(p.Objects, em.Snapshot...)
	done := &Result{ID: p.Record.ID, State: "offered", Commit: p.Commit.OID, Record: &p.Record}
	hub, remote := em.Home.(*crossrepo.Hub)
	if !remote {
		done.Ref = refs.LocalNamespace.Inbox(p.Agent, p.Record.ID)
		if _, err := s.Engine.Offer(ctx, em.Home, p, em.LocalEdits...); err != nil {
			return nil, err
		}
		s.Notes.Add(em.Envelope, em.Seal, s.Local, &p.Record)
		s.Notes.Try(ctx)
		return done, nil
	}
	done.State, done.Ref = "queued", refs.Outbox(p.Agent, p.Record.ID)
	kept := slices.Concat(p.KeptWork(), []refs.Edit{{Ref: done.Ref, New: p.Commit.OID}}, em.LocalEdits)
	if err := s.Engine.Repo.Apply(ctx, refs.Transaction{Edits: kept, Objects: p.Objects}); err != nil {
		return nil, err
	}
	if em.Queue {
		return done, nil
	}
	err = s.deliver(ctx, hub, p, done)
	if fault.Is(err, fault.Replayed) { // another handoff has this id, which may be derived: this one can never be delivered
		return nil, errors.Join(err, s.Engine.Repo.Apply(context.WithoutCancel(ctx), refs.Transaction{Edits: undone(kept)}))
	}
	if err != nil {
		return done, outbox.KeptError(err, p.Record.ID)
	}
	return done, crossrepo.CheckShows(ctx, hub, p.Record.ID)
}

// deliver delivers a handoff from the outbox, and writes its note.
func (s *Handler) deliver(ctx context.Context, home lifecycle.Home, p *lifecycle.Payload, done *Result) error {
	if err := s.Outbox.Deliver(ctx, home, p); err != nil {
		return err
	}
	s.Notes.Add(p.Envelope, p.Sealed, home, &p.Record)
	s.Notes.Try(ctx)
	done.State, done.Ref = "offered", refs.Sent(p.Agent, p.Record.ID)
	return nil
}

// undone returns the edits that undo others.
func undone(edits []refs.Edit) []refs.Edit {
	back := make([]refs.Edit, 0, len(edits))
	for _, e := range slices.Backward(edits) {
		back = append(back, refs.Edit{Ref: e.Ref, Old: e.New, New: e.Old})
	}
	return back
}
