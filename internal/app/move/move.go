package move

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/outbox"
	"githandoff/internal/receipt"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/work"
	"githandoff/internal/workcopy"
	"githandoff/internal/workspace"
)

// Revoke withdraws a handoff: its source while nobody holds it, a root key at any time. A handoff
// still in the outbox is simply dropped. If it was ended by an undecided key, this is refused
// without force.
func (h *Handler) Revoke(ctx context.Context, arg, data string, force bool) (*lifecycle.State, error) {
	f, err := h.find(ctx, arg)
	if err != nil {
		return nil, err
	}
	if dropped, err := h.dropOccupied(ctx, f.State); dropped || err != nil {
		return &lifecycle.State{ID: f.State.ID}, err
	}
	p := f.Place()
	own := h.Receipts.OwnRefs(ctx, p)
	if f.Queued() {
		if err := h.Engine.Author.MayTakeBack(f.Item.Record); err != nil {
			return nil, err
		}
		return f.State, h.Engine.Repo.Apply(ctx, refs.Transaction{Edits: own})
	}
	return h.Receipts.Withdraw(ctx, f.Home, p, record.Revoked, lifecycle.Outcome{Data: data, Force: force, LocalEdits: own})
}

// dropOccupied drops a handoff from the outbox if another one has its id at its home: it can never
// be delivered, and the other one is somebody else's.
func (h *Handler) dropOccupied(ctx context.Context, s *lifecycle.State) (dropped bool, err error) {
	if len(s.Entries) == 0 {
		return false, nil
	}
	waiting, err := h.Engine.Repo.List(ctx, refs.Outbox("*", s.ID))
	for _, ref := range waiting {
		if slices.ContainsFunc(s.Entries, func(e *lifecycle.Entry) bool { return e.Record().Payload == ref.OID }) {
			continue // the handoff behind this ref was delivered
		}
		p, err := h.Engine.Verifier.Reload(ctx, ref.Name)
		if err != nil {
			return false, err
		}
		if err := h.Engine.Author.MayTakeBack(&p.Record); err != nil {
			return false, err
		}
		own := h.Receipts.OwnRefs(ctx, lifecycle.Place{Agent: p.Record.To, ID: s.ID})
		return true, h.Engine.Repo.Apply(ctx, refs.Transaction{Edits: own})
	}
	return false, err
}

// find finds a handoff. If a git died in the step that ended it, its inbox ref may be left: find
// deletes it, because the same step cannot be taken again.
func (h *Handler) find(ctx context.Context, arg string) (*workspace.View, error) {
	f, err := h.Workspace.Find(ctx, arg, workspace.Always)
	if err == nil && f.State.Phase() == lifecycle.Ended && f.State.Tip != "" {
		err = h.Engine.Sweep(ctx, f.Home, f.Place())
	}
	return f, err
}

// Request is a reroute: where a handoff goes on.
type Request struct {
	Arg    string
	Agent  *string
	Home   lifecycle.Home
	Reason string
	// Authority is the requested authority: a first token if it names a principal, otherwise the
	// part of the present authority in its scope. Nil: all of the present authority.
	Authority *lifecycle.Authority
	// WithoutWork leaves the snapshot behind, which otherwise goes on with the handoff.
	WithoutWork bool
	// Snapshot takes another one in its place, for the new home. Nil: the received one goes on.
	Snapshot workcopy.Taker
}

// Reroute ends a handoff where it is, and offers a child of it to another agent or at another
// home. At one home this is one transaction. Between two homes the child is staged in the outbox
// first, then the receipt names it, and only then may it be delivered.
func (h *Handler) Reroute(ctx context.Context, m Request) (*receipt.Result, error) {
	f, err := h.find(ctx, m.Arg)
	if err == nil {
		err = f.ErrQueued()
	}
	if err != nil {
		return nil, err
	}
	p := f.Place()
	s := f.State
	held, err := h.Claims.Get(p.ID)
	if err != nil {
		return nil, err
	}
	if s.Receipt == nil && s.Claim != nil && !held.Is(s.Claim) && !s.Overdue(h.Engine.Now()) {
		return nil, fault.New(fault.Conflict, fault.NotHolder, "handoff %s is held by %s until %s", s.ID, s.Claim.Actor, handoff.FormatTime(s.Lease)).
			WithHints(h.Engine.Author.HowToBreak(s))
	}
	v, err := h.Engine.Verifier.Verify(ctx, f.Home, s, lifecycle.Options{AllowExpired: true, Lapsed: true})
	if err != nil {
		return nil, err
	}
	if handoff.CheckAgent(h.Engine.Author.Actor) == nil { // a person may go on
		instead := fault.Fact("its holder ends it with githandoff fail, its source with githandoff revoke")
		if err := h.Successors.CheckChain(ctx, v.Envelope(), instead); err != nil {
			return nil, err
		}
	}
	child, err := h.Successors.Child(v, m.Agent, m.Home, m.Reason)
	if err != nil {
		return nil, err
	}
	if m.Agent != nil {
		if err := h.Policy.CheckRequest(ctx, "", *m.Agent, child.Target.Request); err != nil {
			return nil, err
		}
	}
	objects, err := h.work(ctx, f.Home, v, child, m)
	if err != nil {
		return nil, err
	}
	done, err := h.reroute(ctx, f, v, child, objects, held, m)
	if err != nil {
		lifecycle.ForgetWork(ctx, h.Engine.Repo, f.Home, p)
	}
	return done, err
}

// Authorize offers an unclaimed handoff to its agent again, with the authority of a person.
func (h *Handler) Authorize(ctx context.Context, arg string, a *lifecycle.Authority) (*receipt.Result, error) {
	f, err := h.Workspace.Find(ctx, arg, workspace.Never)
	if err != nil {
		return nil, err
	}
	s := f.State
	if err := cmp.Or(f.ErrQueued(), s.Err()); err != nil {
		return nil, err
	}
	if s.To == handoff.Nobody {
		return nil, fault.New(fault.Usage, fault.BadUsage, "%s waits for a decision: no agent is chosen that could have authority", s.ID).
			WithHints(fault.Run("githandoff", "route", string(s.ID)).Because("shows how to decide it"))
	}
	return h.Reroute(ctx, Request{Arg: string(s.ID), Agent: &s.To, Home: f.Home, Reason: "with the authority of " + a.Principal, Authority: a})
}

// reroute takes the step, with the objects of its snapshot.
func (h *Handler) reroute(ctx context.Context, f *workspace.View, v *lifecycle.Verified, child *handoff.Envelope, objects []*refs.Object, held *work.Claim, m Request) (*receipt.Result, error) {
	s, p := f.State, f.Place()
	payload, err := h.rerouted(ctx, v, child, m, held.Is(s.Claim))
	if err != nil {
		return nil, err
	}
	payload.Objects = append(payload.Objects, objects...)
	out := lifecycle.Outcome{Next: child.ID, LocalEdits: h.Receipts.OutgoingRefs(ctx, p)}
	done := &receipt.Result{Next: child.ID}
	if m.Home == f.Home {
		out.Child = payload
		done.State, err = h.Receipts.Withdraw(ctx, f.Home, p, record.Rerouted, out)
	} else {
		done.State, err = h.rerouteAway(ctx, f.Home, p, payload, m.Home, out)
		done.Next = payload.Record.ID // rerouteAway may have given the child a new id
	}
	// If only the delivery of the child failed, the claim has ended.
	over := done.State != nil && done.State.Receipt != nil && done.State.Receipt.Next == child.ID
	if held != nil && (err == nil || over) {
		err = cmp.Or(err, work.Unnoted(h.Claims.End(ctx, held, h.Engine.Now())))
	}
	return done, err
}

// work says which snapshot goes on with a reroute, and returns the objects of a new one.
func (h *Handler) work(ctx context.Context, home lifecycle.Home, v *lifecycle.Verified, child *handoff.Envelope, m Request) ([]*refs.Object, error) {
	switch {
	case m.Snapshot != nil:
		return m.Snapshot(ctx, m.Home, child, v.Sealed())
	case m.WithoutWork:
		child.Work = nil
		return nil, nil
	}
	return nil, lifecycle.BringWork(ctx, h.Engine.Repo, home, v.State(), child.Work)
}

// rerouted prepares the child of a reroute, with the authority of the handoff.
func (h *Handler) rerouted(ctx context.Context, v *lifecycle.Verified, child *handoff.Envelope, m Request, held bool) (*lifecycle.Payload, error) {
	asked := m.Authority != nil
	if asked && m.Authority.Principal != "" {
		return h.Successors.Payload(ctx, m.Home, child, m.Authority, asked, v.Sealed())
	}
	a, err := h.Successors.Authority(v, held)
	switch {
	case err != nil && (asked || v.Lapse() == nil || !h.Successors.WarnUnauthorized(child.ID, err)):
		return nil, err
	case a == nil && asked:
		return nil, fault.New(fault.Usage, fault.BadUsage, "handoff %s carries no authority that could be passed on", v.Envelope().ID).
			WithHints(fault.See("reroute").Because("can be run without --scope"))
	case a != nil && asked:
		a.Scope = m.Authority.Scope
	}
	return h.Successors.Payload(ctx, m.Home, child, a, asked, v.Sealed())
}

func (h *Handler) rerouteAway(ctx context.Context, home lifecycle.Home, p lifecycle.Place, child *lifecycle.Payload, to lifecycle.Home, out lifecycle.Outcome) (*lifecycle.State, error) {
	st := &outbox.Stage{Parent: p, Home: home.ID(), Child: lifecycle.Place{Agent: child.Agent, ID: child.Record.ID}}
	// A killed reroute may have staged another version: no receipt names it, so it makes way.
	was, err := h.Outbox.Staged().Get(st.Child.ID)
	if err != nil {
		return nil, err
	}
	if was != nil && was.Child.Agent != child.Agent {
		if err := h.Outbox.Unstage(ctx, was.Child, true); err != nil {
			return nil, err
		}
	}
	if err := h.Outbox.Staged().Put(st.Child.ID, st); err != nil {
		return nil, err
	}
	ref := refs.Outbox(child.Agent, child.Record.ID)
	old, err := h.Engine.Repo.Resolve(ctx, ref)
	if err != nil {
		return nil, err
	}
	kept, err := h.Receipts.Unkept(ctx, child.KeptWork()) // a killed reroute may have made these edits
	if err != nil {
		return nil, err
	}
	err = h.Engine.Repo.Apply(ctx, refs.Transaction{Edits: append(kept, refs.Edit{Ref: ref, Old: old, New: child.Commit.OID}), Objects: child.Objects})
	if err != nil {
		return nil, err
	}
	s, err := h.Receipts.Withdraw(ctx, home, p, record.Rerouted, out)
	if err != nil {
		if fault.CodeOf(err) != fault.Unavailable {
			return s, errors.Join(err, h.Outbox.Unstage(ctx, st.Child, true))
		}
		return s, err
	}
	if err := h.Outbox.Unstage(ctx, st.Child, false); err != nil {
		return s, err
	}
	if err := h.Outbox.DeliverChild(ctx, to, child); err != nil {
		return s, outbox.KeptError(err, child.Record.ID)
	}
	return s, nil
}
