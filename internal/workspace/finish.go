package workspace

import (
	"context"
	"errors"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
	"githandoff/internal/work"
)

// Results are what the holder reports: the content of Handoff-Data.
type Results map[string]string

// Encode renders results as one line of printable ASCII JSON with sorted keys;
// "" for none. More than handoff.MaxResults bytes are refused, not cut.
func (r Results) Encode() (string, error) {
	s := record.EncodeData(r)
	if len(s) > handoff.MaxResults {
		return "", fault.New(fault.Invalid, fault.TooLarge, "results have %d bytes, limit %d", len(s), handoff.MaxResults).
			WithHints(fault.Fact("what is long goes into the repository, and its path into the result"))
	}
	return s, nil
}

// DecodeResults reads Handoff-Data.
func DecodeResults(s string) Results {
	r, _ := record.DecodeData(s) // of what has another form nothing is shown
	return r
}

// Ended says how a step that ends a handoff went.
type Ended struct {
	State    *lifecycle.State
	Repeated bool
	Next     handoff.ID // return handoff, or the child of a reroute
}

// stands: the claim is there, and it is another agent of this worktree, or a key
// that did not make it, that may do nothing with it.
func (e *Ended) stands(h *lifecycle.Holder) bool {
	return e != nil && e.State != nil && e.State.Receipt == nil && e.State.Claim != nil && h.Mine(e.State.Claim.Nonce)
}

// Take takes a journalled or fresh step of a holder: ack, fail, progress,
// release. A hub that is down keeps the step in the journal; the error then has
// code Unavailable.
func (d *Workspace) Take(ctx context.Context, h *lifecycle.Holder, step work.Step) (*Ended, error) {
	home, err := d.Home(ctx, h.Home)
	if err != nil {
		return nil, err
	}
	done, err := d.take(ctx, home, h, step)
	if fault.Is(err, fault.NotHolder) && done != nil && (done.State.Took(step.Event, h.Nonce) || d.rejected(h, done.State)) {
		done.Repeated, err = true, nil // it was taken, and the answer got lost
		if done.State.Receipt != nil {
			done.Next = done.State.Receipt.Next
		}
	}
	switch {
	case err == nil:
		if jerr := d.Journal.Took(h.ID, step.Event); jerr != nil {
			return done, jerr
		}
		return done, d.remember(h, step.Event, done.State)
	case fault.CodeOf(err) == fault.Unavailable && home != lifecycle.Home(d.Local):
		if h.Nonce == "" {
			step.Agent, step.Actor, step.Home = h.Agent, h.Actor, h.Home
		}
		if jerr := d.Journal.Put(step); jerr != nil {
			return nil, jerr
		}
		return nil, kept(fault.As(err), "the step is kept")
	case fault.Is(err, fault.NotHolder) && h.Nonce != "" && !done.stands(h):
		h.Lost = true
		if derr := d.Claims.End(h, d.Engine.Now()); derr != nil {
			return nil, derr
		}
	}
	return nil, err
}

// rejected reports whether a rejection that is kept here is the one that the
// receipt tells of: it names no claim that could tell, but the key that signed it.
func (d *Workspace) rejected(h *lifecycle.Holder, s *lifecycle.State) bool {
	kept, err := d.Journal.Get(h.ID)
	return err == nil && kept != nil && kept.Nonce == "" && s.Rejected(d.Engine.Signer.KID())
}

func (d *Workspace) take(ctx context.Context, home lifecycle.Home, h *lifecycle.Holder, step work.Step) (*Ended, error) {
	done := &Ended{}
	var err error
	switch step.Event {
	case record.Progressed:
		if err := d.silent(ctx, home, h.Holding().Place, step.Data); err != nil {
			return nil, err
		}
		done.State, err = d.Engine.Progress(ctx, home, h.Holding(), step.Lease, step.Data)
	case record.Released:
		done.State, err = d.Engine.Release(ctx, home, h.Holding(), false)
	case record.Acknowledged:
		var out lifecycle.Outcome
		var env *handoff.Envelope
		if out, env, err = d.outcome(ctx, home, h.Holding().Place, step.Event, step.Data); err != nil {
			return nil, err
		}
		if env != nil {
			out.Aside = append(out.Aside, d.freeCheckpoints(ctx, env.ID, env.Parent)...)
			out.SkillsMissing = d.missingSkills(ctx, env)
		}
		done.State, done.Repeated, err = d.Engine.Acknowledge(ctx, home, h.Holding(), out)
		d.noteEnd(home, env, out.Sealed, done.State, err)
	case record.Failed:
		return d.fail(ctx, home, h, step)
	}
	if err != nil {
		return done, err
	}
	d.tryNotes(ctx)
	return done, nil
}

// remember brings the memory of this worktree in line with the step.
func (d *Workspace) remember(h *lifecycle.Holder, event record.Event, s *lifecycle.State) error {
	switch {
	case event == record.Progressed:
		h.At, h.Lease = d.Engine.Now().UTC().Truncate(time.Second), s.Lease
		return d.Claims.Put(h)
	case event == record.Released:
		return d.Claims.Drop(h.ID)
	}
	return d.Claims.End(h, d.Engine.Now())
}

// outcome reads what a receipt needs of the payload before it goes: where its
// note is, and the archive if one is kept. The payload was verified when it was
// claimed. Of one that is sealed for others, and that who sent it ends, an outline
// is enough.
func (d *Workspace) outcome(ctx context.Context, home lifecycle.Home, p lifecycle.Place, event record.Event, data string) (lifecycle.Outcome, *handoff.Envelope, error) {
	out := lifecycle.Outcome{Data: data}
	s, err := d.withPayload(ctx, home, p, data)
	if err != nil {
		return out, nil, err
	}
	if s.Receipt == nil || event == record.Revoked { // a receipt that is there is not written again
		if out.Sealed, err = d.sealed(ctx, s, event, data); err != nil {
			return out, nil, err
		}
	}
	if len(s.Chain) == 0 {
		return out, nil, nil
	}
	if d.Repo.Config.Bool("handoff.archive") {
		old, err := d.Repo.Resolve(ctx, refs.Archive(p.ID))
		if err != nil {
			return out, nil, err
		}
		if old == "" {
			out.Aside = append(out.Aside, refs.Edit{Ref: refs.Archive(p.ID), New: s.Chain[0].OID})
		}
	}
	env, err := d.Engine.LoadUnverified(ctx, s)
	if errors.Is(err, sign.ErrSealed) {
		if event == record.Failed {
			return out, nil, err // whom it goes back to is inside
		}
		return out, lifecycle.Outline(s.Offer), nil
	}
	if err != nil {
		return out, nil, nil // the note is a hint; the receipt does not wait for it
	}
	return out, env, nil
}

func (d *Workspace) noteEnd(home lifecycle.Home, env *handoff.Envelope, sealed bool, s *lifecycle.State, err error) {
	if err == nil && env != nil && s != nil && s.Receipt != nil {
		d.note(subject(env, sealed), home, s.Receipt)
	}
}

// fail ends the handoff with a failure; where its sender named somebody for
// that, the return handoff is offered at the same home in the same transaction.
func (d *Workspace) fail(ctx context.Context, home lifecycle.Home, h *lifecycle.Holder, step work.Step) (*Ended, error) {
	out, env, err := d.outcome(ctx, home, h.Holding().Place, step.Event, step.Data)
	if err != nil {
		return nil, err
	}
	done := &Ended{}
	if env != nil && env.Rollback != nil && env.Rollback.OnFailure != "" {
		s, err := d.Engine.Load(ctx, home, h.Holding().Place)
		if err != nil {
			return nil, err
		}
		child, err := d.returnOf(env, s, step.Reason)
		if err != nil {
			return nil, err
		}
		a, err := d.returned(ctx, home, h, s)
		if err != nil {
			d.without(child.ID, err)
		}
		if out.Child, err = d.authorized(ctx, home, child, a, false, out.Sealed); err != nil {
			return nil, err
		}
		out.Next, done.Next = child.ID, child.ID
	} else if env != nil {
		out.Aside = append(out.Aside, d.freeCheckpoints(ctx, env.ID, env.Parent)...)
	}
	out.Aside = append(out.Aside, sentChild(home, out.Child)...)
	done.State, err = d.Engine.Fail(ctx, home, h.Holding(), out)
	if err != nil {
		return done, err
	}
	d.noteEnd(home, env, out.Sealed, done.State, nil)
	d.tryNotes(ctx)
	return done, nil
}

// returned is the authority of a return handoff: of whoever held the one that
// failed.
func (d *Workspace) returned(ctx context.Context, home lifecycle.Home, h *lifecycle.Holder, s *lifecycle.State) (*lifecycle.Authority, error) {
	if s.Claim == nil || !h.Mine(s.Claim.Nonce) || s.Offer.Token == "" {
		return nil, nil
	}
	v, err := d.Engine.Verify(ctx, home, s, lifecycle.Options{AllowExpired: true})
	if err != nil {
		return nil, err
	}
	return d.heir(v, true)
}

// returnOf is the handoff that goes back: what was asked, why it failed, where
// to roll back to.
func (d *Workspace) returnOf(env *handoff.Envelope, s *lifecycle.State, reason string) (*handoff.Envelope, error) {
	at := d.Engine.Now().UTC().Truncate(time.Second)
	to := env.Rollback.OnFailure
	child := handoff.Follow(env, handoff.FormatTime(at), handoff.FormatTime(at.Add(lifecycle.DefaultTTL)))
	child.ID = handoff.DeriveID(at, string(env.ID), "rejected")
	if s.Claim != nil {
		child.ID = lifecycle.ChildID(env.ID, s.Claim)
	}
	child.Source = handoff.Source{Agent: d.Source(), Repo: d.Local.RepoID}
	child.Target = handoff.Target{Agent: &to, Reason: reason}
	child.Goal = "Take back a handoff that failed: " + firstLine(env.Goal, env.Summary)
	child.Summary = reason
	child.Rollback = &handoff.Rollback{Checkpoint: env.Rollback.Checkpoint}
	salt, err := d.Salt()
	child.Salt = salt
	return child, err
}

func firstLine(texts ...string) string {
	for _, t := range texts {
		if t == "" {
			continue
		}
		for i, c := range t {
			if c == '\n' || i > 500 {
				return t[:i]
			}
		}
		return t
	}
	return ""
}
