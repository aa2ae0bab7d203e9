package finish

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/outbox"
	"githandoff/internal/receipt"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/work"
)

// Take takes a step of a holder, new or kept: ack, fail, progress, release. If the hub is down,
// the record of the handoff keeps the step, and the error has code Unavailable.
func (f *Handler) Take(ctx context.Context, h *work.Claim, step work.Step) (*receipt.Result, error) {
	home, err := f.Workspace.Home(ctx, h.Home)
	if err != nil {
		return nil, err
	}
	if step.Event == record.Progressed && step.Entry == "" {
		if step.Entry, err = handoff.RandomHex(f.Engine.Author.Random); err != nil {
			return nil, err
		}
	}
	unsent := h.MergeInto(&step)
	done, err := f.take(ctx, home, h, step)
	if fault.Is(err, fault.NotHolder) && done != nil && f.tookBefore(h, step, done.State) {
		done.Repeated, err = true, nil // the step was taken before, and the answer got lost
		if done.State.Receipt != nil {
			done.Next = done.State.Receipt.Next
		}
	}
	switch {
	case err == nil:
		f.tellUnsent(h, unsent, done)
		return done, work.Unnoted(f.remember(ctx, h, step.Event, done.State))
	case fault.Is(err, fault.MissingObject):
		return nil, err // to wait does not help, and whether the text of the step may be in the log is unknown
	case (fault.CodeOf(err) == fault.Unavailable || errors.Is(err, crossrepo.ErrInDoubt)) && canWait(home, h, step):
		ctx = context.WithoutCancel(ctx) // an interrupt must not prevent that the step is kept
		if done != nil && done.Snapshot != nil {
			step.Work, step.Child = done.Snapshot.Work, done.Snapshot.ID
		}
		if kerr := f.keep(ctx, h, step); kerr != nil {
			return nil, kerr
		}
		if kerr := f.keepSnapshot(ctx, done); kerr != nil {
			return nil, kerr
		}
		f.tellUnsent(h, unsent, done)
		if errors.Is(err, crossrepo.ErrInDoubt) {
			return nil, outbox.InDoubt(err)
		}
		return nil, outbox.Kept(fault.As(err), "the step is kept")
	case errors.Is(err, lifecycle.ErrUnseen) && step.Event != record.Released:
		return nil, err // the claim may still get there: the next resume finds it, or takes the handoff again
	case fault.Is(err, fault.NotHolder) && h.Nonce != "" && (done == nil || !h.InForce(done.State)):
		return nil, f.lose(ctx, h, err) // otherwise another agent of the worktree, or another key, tried the step
	}
	return nil, err
}

// canWait reports whether a step can be kept until its home is back. A progress does not replace an end
// that waits.
func canWait(home lifecycle.Home, h *work.Claim, step work.Step) bool {
	return !lifecycle.IsLocal(home) && (step.Event != record.Progressed || !h.Finished())
}

// lose records that a claim is lost and returns why: refused, unless somebody released the claim.
func (f *Handler) lose(ctx context.Context, h *work.Claim, refused error) error {
	if st, err := f.Work.Standing(ctx, h); err == nil && st.Over != nil && st.Over.Event == record.Released {
		refused = work.LostClaim(st)
	}
	h.Lost = true
	if err := f.Claims.End(ctx, h, f.Engine.Now()); err != nil {
		return err
	}
	return refused
}

// tellUnsent warns of a kept step replaced by this one. A kept step that had landed does not count: only
// its answer was lost.
func (f *Handler) tellUnsent(h *work.Claim, unsent *work.Step, done *receipt.Result) {
	switch {
	case unsent == nil:
	case unsent.Event == record.Progressed:
		if done == nil || !done.State.Progressed(h.Nonce, unsent.Entries()...) {
			f.Workspace.Warn(fmt.Errorf("the progress that was kept for %s is not sent: %s", h.ID, unsent.Data))
		}
	case done == nil || !done.Repeated:
		f.Workspace.Warn(fmt.Errorf("the step that was kept for %s is not sent: %s", h.ID, strings.TrimSpace(string(unsent.Event)+" "+unsent.Data)))
	}
}

// tookBefore reports whether the lane has a step already. A progress is named there: the
// claim may have others.
func (f *Handler) tookBefore(h *work.Claim, step work.Step, s *lifecycle.State) bool {
	if step.Event == record.Progressed {
		return s.Progressed(h.Nonce, step.Entry)
	}
	return s.Took(step.Event, h.Nonce, h.Key) || step.Event == record.Failed && f.rejected(h, s)
}

// rejected reports whether a receipt is that of a rejection kept here: of a failure without a claim, or with one that
// its home has not seen. A rejection names no claim, so the signing key decides.
func (f *Handler) rejected(h *work.Claim, s *lifecycle.State) bool {
	kept, err := f.Claims.Pending(h.ID)
	return err == nil && kept != nil && kept.Event == record.Failed && !lifecycle.Shows(s, kept.Nonce) && s.Rejected(f.Engine.Author.Signer.KID())
}

// keep records a step to wait for its hub.
func (f *Handler) keep(ctx context.Context, h *work.Claim, step work.Step) error {
	return f.Claims.Update(ctx, h.ID, func(stored *work.Claim) error {
		if stored.Home == "" { // the step rejects an offer: nothing was claimed
			stored.Agent, stored.Actor, stored.Home = h.Agent, h.Actor, h.Home
		}
		stored.Keep(step)
		return nil
	})
}

// take is like Take, and keeps nothing. Its result may come with an error, and then has the state in which
// the step was refused.
func (f *Handler) take(ctx context.Context, home lifecycle.Home, h *work.Claim, step work.Step) (*receipt.Result, error) {
	done := &receipt.Result{}
	var err error
	switch step.Event {
	case record.Progressed:
		if err := f.Receipts.CheckLogText(ctx, home, h.Place(), step.Data); err != nil {
			return nil, err
		}
		done.State, err = f.Engine.Renew(ctx, home, h.Proof(), lifecycle.Renewal{
			Nonce: step.Entry, Lease: step.Lease, Data: step.Data, Said: step.Said,
		})
	case record.Released:
		done.State, err = f.Engine.Release(ctx, home, h.Proof(), false)
	case record.Acknowledged:
		var out lifecycle.Outcome
		var env *handoff.Envelope
		if out, env, err = f.Receipts.Outcome(ctx, home, h.Place(), step.Event, step.Data); err != nil {
			return nil, err
		}
		if !out.Sealed {
			out.Data = receipt.WithCommit(step.Data, step.Commit)
		}
		if env != nil {
			out.LocalEdits = append(out.LocalEdits, f.Receipts.FreeCheckpoints(ctx, env.ID, env.Parent)...)
			out.SkillsMissing = f.Policy.MissingSkills(ctx, env)
		}
		done.State, done.Repeated, err = f.Engine.Acknowledge(ctx, home, h.Proof(), out)
		if err == nil {
			f.Receipts.Note(home, env, out.Sealed, done.State)
		}
	case record.Failed:
		return f.fail(ctx, home, h, step)
	default:
		err = fault.New(fault.Invalid, fault.Malformed, "the queued step %q of handoff %s is %w", step.Event, h.ID, handoff.ErrUnknown)
	}
	if err != nil {
		return done, err
	}
	f.Receipts.Notes.Try(ctx)
	return done, nil
}

// remember updates the record of the handoff after a step.
func (f *Handler) remember(ctx context.Context, h *work.Claim, event record.Event, s *lifecycle.State) error {
	if event != record.Progressed && event != record.Released {
		return f.Claims.End(ctx, h, f.Engine.Now())
	}
	return f.Claims.Update(ctx, h.ID, func(stored *work.Claim) error {
		stored.DropKept(event)
		switch {
		case !stored.Held() || stored.Nonce != h.Nonce: // another process ended the claim meanwhile
		case event == record.Released:
			stored.Forget()
		default:
			stored.At, stored.Lease = f.Engine.Now().UTC().Truncate(time.Second), s.Lease
		}
		return nil
	})
}

// fail ends the handoff with a failure. If its sender named a receiver for failures, the return
// handoff is offered at the same home in the same transaction.
func (f *Handler) fail(ctx context.Context, home lifecycle.Home, h *work.Claim, step work.Step) (*receipt.Result, error) {
	out, env, err := f.Receipts.Outcome(ctx, home, h.Place(), step.Event, step.Data)
	if err != nil {
		return nil, err
	}
	done := &receipt.Result{}
	var left error // why the snapshot does not go back
	if env != nil && env.Rollback != nil && env.Rollback.OnFailure != "" {
		s, err := f.Engine.Reader.Load(ctx, home, h.Place())
		if err != nil {
			return nil, err
		}
		child, err := f.Successors.Return(env, s, step.Reason)
		if err != nil {
			return nil, err
		}
		child.ID = cmp.Or(step.Child, child.ID) // an earlier version may have derived another id
		if done.Snapshot, left, err = f.chooseSnapshot(ctx, home, s, child, step, out.Sealed); err != nil {
			return nil, err
		}
		a, err := f.returned(ctx, home, h, s)
		if err != nil && !f.Successors.WarnUnauthorized(child.ID, err) {
			return nil, err
		}
		if out.Child, err = f.Successors.Payload(ctx, home, child, a, false, out.Sealed); err != nil {
			return nil, err
		}
		if done.Snapshot != nil {
			out.Child.Objects = append(out.Child.Objects, done.Snapshot.Objects...)
		}
		out.Next, done.Next = child.ID, child.ID
	} else if env != nil && f.Snapshot != nil {
		return nil, goesNowhere(h.ID)
	} else if env != nil {
		out.LocalEdits = append(out.LocalEdits, f.Receipts.FreeCheckpoints(ctx, env.ID, env.Parent)...)
	}
	sent, err := f.Receipts.Unkept(ctx, receipt.SentChild(home, out.Child))
	if err != nil {
		return nil, err
	}
	out.LocalEdits = append(out.LocalEdits, sent...)
	done.State, err = f.Engine.Fail(ctx, home, h.Proof(), out)
	if err != nil {
		lifecycle.ForgetWork(ctx, f.Engine.Repo, home, h.Place())
		return done, err
	}
	if left != nil { // a step that is kept may still bring it
		f.Workspace.Warn(left)
	}
	f.Receipts.Note(home, env, out.Sealed, done.State)
	f.Receipts.Notes.Try(ctx)
	return done, nil
}

// returned returns the authority of a return handoff: that of the failed one's holder.
func (f *Handler) returned(ctx context.Context, home lifecycle.Home, h *work.Claim, s *lifecycle.State) (*lifecycle.Authority, error) {
	if !h.Is(s.Claim) || s.Offer.Token == "" {
		return nil, nil
	}
	v, err := f.Engine.Verifier.Verify(ctx, home, s, lifecycle.Options{AllowExpired: true})
	if err != nil {
		return nil, err
	}
	return f.Successors.Authority(v, true)
}

// chooseSnapshot sets the snapshot that child takes back with a failure, and returns it if it was made for
// this. If the one received cannot be had, child goes without, and left says why.
func (f *Handler) chooseSnapshot(ctx context.Context, home lifecycle.Home, s *lifecycle.State, child *handoff.Envelope, step work.Step, sealed bool) (made *receipt.Snapshot, left, err error) {
	switch {
	case f.Snapshot != nil:
		objects, err := f.Snapshot(ctx, home, child, sealed)
		if err != nil || child.Work == nil {
			return nil, nil, err
		}
		return &receipt.Snapshot{ID: child.ID, Work: child.Work, Objects: objects}, nil, nil
	case step.WithoutWork:
		child.Work = nil
		return nil, nil, nil
	case step.Work != nil:
		child.Work = step.Work
	}
	if err := lifecycle.BringWork(ctx, f.Engine.Repo, home, s, child.Work); err != nil {
		left = fault.New(fault.CodeOf(err), fault.NoSnapshot, "handoff %s goes back without the snapshot: %w", child.ID, err)
		child.Work = nil
	}
	return nil, left, nil
}

// goesNowhere refuses a snapshot without a handoff to carry it.
func goesNowhere(id handoff.ID) error {
	return fault.New(fault.Usage, fault.BadUsage, "handoff %s goes back to nobody if it fails, so no snapshot can go with it", id).
		WithHints(fault.See("emit").Because("sends a snapshot with a handoff of its own"))
}

// keepSnapshot keeps the snapshot made for a waiting step.
func (f *Handler) keepSnapshot(ctx context.Context, done *receipt.Result) error {
	if done == nil || done.Snapshot == nil {
		return nil
	}
	edits, err := f.Receipts.Unkept(ctx, []refs.Edit{{Ref: refs.WorkOut(done.Snapshot.ID), New: done.Snapshot.Work.Commit}})
	if err != nil {
		return err
	}
	return f.Engine.Repo.Apply(ctx, refs.Transaction{Edits: edits, Objects: done.Snapshot.Objects})
}
