package receipt

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
)

// Outcome reads the parts of the payload needed for a receipt, before the payload is erased:
// the place of its note, and the archive if one is kept. The payload was verified when it was
// claimed. If it is sealed for others, because its sender ends it, an outline is enough.
func (w *Writer) Outcome(ctx context.Context, home lifecycle.Home, p lifecycle.Place, event record.Event, data string) (lifecycle.Outcome, *handoff.Envelope, error) {
	out := lifecycle.Outcome{Data: data}
	s, err := w.withPayload(ctx, home, p, data)
	if err != nil {
		return out, nil, err
	}
	if s.Receipt == nil || event == record.Revoked { // an existing receipt is not written again, except by a revocation
		if out.Sealed, err = w.sealed(ctx, s, event, data); err != nil {
			return out, nil, err
		}
	}
	if len(s.Chain) == 0 {
		return out, nil, nil
	}
	if w.Engine.Repo.Config.Bool("handoff.archive") {
		old, err := w.Engine.Repo.Resolve(ctx, refs.Archive(p.ID))
		if err != nil {
			return out, nil, err
		}
		if old == "" {
			out.LocalEdits = append(out.LocalEdits, refs.Edit{Ref: refs.Archive(p.ID), New: s.Chain[0].OID})
		}
	}
	env, err := w.Engine.Verifier.LoadUnverified(ctx, s)
	if event == record.Failed && fault.Is(err, fault.MissingObject) && lifecycle.BringLost(ctx, home, p) {
		env, err = w.Engine.Verifier.LoadUnverified(ctx, s)
	}
	switch {
	case err == nil:
		return out, env, nil
	case errors.Is(err, sign.ErrSealed) && event != record.Failed:
		return out, lifecycle.Outline(s.Offer), nil
	case errors.Is(err, sign.ErrSealed):
		return out, nil, err // the agent that it goes back to is in the sealed envelope
	case event == record.Failed && s.Offer != nil && s.Offer.OnFailure != "":
		w.Workspace.Warn(fmt.Errorf("%w; it does not go back to %s after the failure", err, s.Offer.OnFailure))
	}
	return out, nil, nil // the note is only a hint, and not worth a refusal
}

// Note collects the line for a new receipt. [annotate.Notes.Try] writes it.
func (w *Writer) Note(home lifecycle.Home, env *handoff.Envelope, sealed bool, s *lifecycle.State) {
	if env != nil && s.Receipt != nil {
		w.Notes.Add(env, sealed, home, s.Receipt)
	}
}

// Withdraw ends a handoff and writes the note of its source commit.
func (w *Writer) Withdraw(ctx context.Context, home lifecycle.Home, p lifecycle.Place, event record.Event, out lifecycle.Outcome) (*lifecycle.State, error) {
	more, env, err := w.Outcome(ctx, home, p, event, out.Data)
	if err != nil {
		return nil, err
	}
	out.LocalEdits, out.Sealed = mergeEdits(out.LocalEdits, more.LocalEdits), more.Sealed
	if env != nil && out.Next == "" {
		out.LocalEdits = mergeEdits(out.LocalEdits, w.FreeCheckpoints(ctx, env.ID, env.Parent))
	}
	out.LocalEdits = append(out.LocalEdits, SentChild(home, out.Child)...)
	s, err := w.Engine.Withdraw(ctx, home, p, event, out)
	if err != nil {
		return s, err
	}
	w.Note(home, env, out.Sealed, s)
	w.Notes.Try(ctx)
	return s, nil
}

// SentChild returns the edit to remember a child offered at a hub, so the next sync asks about it.
func SentChild(home lifecycle.Home, child *lifecycle.Payload) []refs.Edit {
	if lifecycle.IsLocal(home) || child == nil {
		return nil
	}
	return append(child.KeptWork(), refs.Edit{Ref: refs.Sent(child.Agent, child.Record.ID), New: child.Commit.OID})
}

// Unkept leaves out the edits that were made before, while a step waited for its hub or by a killed
// command.
func (w *Writer) Unkept(ctx context.Context, edits []refs.Edit) (left []refs.Edit, err error) {
	for _, e := range edits {
		if e.Old, err = w.Engine.Repo.Resolve(ctx, e.Ref); err != nil {
			return nil, err
		}
		if e.Old != e.New {
			left = append(left, e)
		}
	}
	return left, nil
}

// mergeEdits joins edits; a ref is edited once.
func mergeEdits(a, b []refs.Edit) []refs.Edit {
	seen := map[string]bool{}
	var out []refs.Edit
	for _, e := range slices.Concat(a, b) {
		if !seen[e.Ref] {
			seen[e.Ref] = true
			out = append(out, e)
		}
	}
	return out
}

// OutgoingRefs returns the deletions of this repository's own refs to a sent handoff whose work goes on:
// its checkpoint stays. One that was routed meanwhile was sent to nobody.
func (w *Writer) OutgoingRefs(ctx context.Context, p lifecycle.Place) []refs.Edit {
	return w.deletions(ctx, refs.Outbox(p.Agent, p.ID), refs.Sent(p.Agent, p.ID), refs.Sent(handoff.Nobody, p.ID), refs.WorkOut(p.ID))
}

// OwnRefs returns the deletions of all refs of this repository to a sent handoff.
func (w *Writer) OwnRefs(ctx context.Context, p lifecycle.Place) []refs.Edit {
	return append(w.OutgoingRefs(ctx, p), w.deletions(ctx, refs.Checkpoint(p.ID))...)
}
