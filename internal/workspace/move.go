package workspace

import (
	"context"
	"errors"
	"time"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/refs"
)

// Revoke withdraws a handoff: its source while nobody holds it, a root key at
// any time. One that never left the outbox is simply dropped. One that a key ended
// about which nobody here decided is refused, unless force says so.
func (d *Workspace) Revoke(ctx context.Context, arg, data string, force bool) (*lifecycle.State, error) {
	f, p, err := d.fresh(ctx, arg)
	if err != nil {
		return nil, err
	}
	own := d.outgoingRefs(ctx, p)
	if f.State.Phase() == lifecycle.Absent && f.Item != nil && f.Item.Kind == "outbox" {
		if err := d.Engine.MayTakeBack(f.Item.Record); err != nil {
			return nil, err
		}
		return f.State, d.Repo.Apply(ctx, refs.Transaction{Edits: append(own, d.freeCheckpoint(ctx, p.ID)...)})
	}
	return d.withdraw(ctx, f.Home, p, record.Revoked, lifecycle.Outcome{Data: data, Force: force, Aside: append(own, d.freeCheckpoint(ctx, p.ID)...)})
}

// fresh finds a handoff and reads its state anew from its home. What was known of
// it comes along with the error of a home that cannot be read.
func (d *Workspace) fresh(ctx context.Context, arg string) (*Found, lifecycle.Place, error) {
	f, err := d.Seek(ctx, arg)
	if err != nil {
		return nil, lifecycle.Place{}, err
	}
	p := f.Place()
	if err := f.Home.Refresh(ctx, crossrepo.WantAll(p)); err != nil {
		return f, p, err
	}
	s, err := d.Engine.Locate(ctx, f.Home, p)
	if err == nil {
		f.State = s
	}
	return f, p, err
}

// withdraw ends a handoff and writes the note of its source commit.
func (d *Workspace) withdraw(ctx context.Context, home lifecycle.Home, p lifecycle.Place, event record.Event, out lifecycle.Outcome) (*lifecycle.State, error) {
	more, env, err := d.outcome(ctx, home, p, event, out.Data)
	if err != nil {
		return nil, err
	}
	out.Aside, out.Sealed = mergeEdits(out.Aside, more.Aside), more.Sealed
	if env != nil && out.Next == "" {
		out.Aside = mergeEdits(out.Aside, d.freeCheckpoints(ctx, env.ID, env.Parent))
	}
	out.Aside = append(out.Aside, sentChild(home, out.Child)...)
	s, err := d.Engine.Withdraw(ctx, home, p, event, out)
	if err != nil {
		return s, err
	}
	d.noteEnd(home, env, out.Sealed, s, nil)
	d.tryNotes(ctx)
	return s, nil
}

// sentChild is the edit that remembers a child offered at a hub, so that the
// next sync asks what became of it.
func sentChild(home lifecycle.Home, child *lifecycle.Payload) []refs.Edit {
	if _, remote := home.(*crossrepo.Hub); !remote || child == nil {
		return nil
	}
	return []refs.Edit{{Ref: refs.Sent(child.Agent, child.Record.ID), New: child.Commit.OID}}
}

// mergeEdits joins edits; a ref is edited once.
func mergeEdits(a, b []refs.Edit) []refs.Edit {
	seen := map[string]bool{}
	var out []refs.Edit
	for _, e := range append(append([]refs.Edit{}, a...), b...) {
		if !seen[e.Ref] {
			seen[e.Ref] = true
			out = append(out, e)
		}
	}
	return out
}

// outgoingRefs are the deletions of this repository's own refs to a handoff
// that it sent.
func (d *Workspace) outgoingRefs(ctx context.Context, p lifecycle.Place) []refs.Edit {
	var edits []refs.Edit
	for _, ref := range []string{refs.Outbox(p.Agent, p.ID), refs.Sent(p.Agent, p.ID)} {
		if oid, err := d.Repo.Resolve(ctx, ref); err == nil && oid != "" {
			edits = append(edits, refs.Edit{Ref: ref, Old: oid})
		}
	}
	return edits
}

// Move is a reroute: where a handoff goes on.
type Move struct {
	Arg    string
	Agent  *string
	Home   lifecycle.Home
	Reason string
	// Authority is what was asked for: a first token if it names a principal,
	// otherwise the part of what there is that its scope names. Nil: what there is.
	Authority *lifecycle.Authority
}

// Reroute ends a handoff where it is, and offers a child of it to another agent
// or at another home. At one home that is one transaction. Between two homes
// the child is staged in the outbox first, then the receipt names it, and only
// then may it be delivered.
func (d *Workspace) Reroute(ctx context.Context, m Move) (*Ended, error) {
	f, p, err := d.fresh(ctx, m.Arg)
	if err != nil {
		return nil, err
	}
	s := f.State
	held, err := d.Claims.Get(p.ID)
	if err != nil {
		return nil, err
	}
	if s.Receipt == nil && s.Claim != nil && !held.Mine(s.Claim.Nonce) && !s.Overdue(d.Engine.Now()) {
		return nil, fault.New(fault.Conflict, fault.NotHolder, "handoff %s is held by %s until %s", s.ID, s.Claim.Actor, handoff.FormatTime(s.Lease)).
			WithHints(fault.Run("githandoff", "release", "--force", s.ID.Short()).Because("breaks that claim, for its source and for root keys; its holder can reroute it"))
	}
	v, err := d.Engine.Verify(ctx, f.Home, s, lifecycle.Options{AllowExpired: true, Lapsed: true})
	if err != nil {
		return nil, err
	}
	child, err := d.childOf(v, m)
	if err != nil {
		return nil, err
	}
	if m.Agent != nil {
		if err := d.takes(ctx, *m.Agent, child.Target.Request); err != nil {
			return nil, err
		}
	}
	payload, err := d.rerouted(ctx, v, child, m, s.Claim != nil && held.Mine(s.Claim.Nonce))
	if err != nil {
		return nil, err
	}
	out := lifecycle.Outcome{Next: child.ID, Aside: d.outgoingRefs(ctx, p)}
	done := &Ended{Next: child.ID}
	if m.Home == f.Home {
		out.Child = payload
		done.State, err = d.withdraw(ctx, f.Home, p, record.Rerouted, out)
	} else {
		done.State, err = d.rerouteAway(ctx, f.Home, p, payload, m.Home, out)
	}
	if err == nil && held != nil {
		err = d.Claims.End(held, d.Engine.Now())
	}
	return done, err
}

// rerouted prepares the child of a reroute, with what it may have of the
// authority of the handoff that it follows from.
func (d *Workspace) rerouted(ctx context.Context, v *lifecycle.Verified, child *handoff.Envelope, m Move, held bool) (*lifecycle.Payload, error) {
	asked := m.Authority != nil
	if asked && m.Authority.Principal != "" {
		return d.authorized(ctx, m.Home, child, m.Authority, asked, v.Sealed())
	}
	a, err := d.heir(v, held)
	switch {
	case err != nil && (asked || v.Lapse() == nil || !d.without(child.ID, err)):
		return nil, err
	case a == nil && asked:
		return nil, fault.New(fault.Usage, fault.BadUsage, "handoff %s carries no authority of which a part could go along", v.Envelope().ID).
			WithHints(fault.See("reroute").Because("goes without --scope then"))
	case a != nil && asked:
		a.Scope = m.Authority.Scope
	}
	return d.authorized(ctx, m.Home, child, a, asked, v.Sealed())
}

// childOf copies a handoff for its next agent.
func (d *Workspace) childOf(v *lifecycle.Verified, m Move) (*handoff.Envelope, error) {
	env, s := v.Envelope(), v.State()
	at := d.Engine.Now().UTC().Truncate(time.Second)
	follow := handoff.Follow(env, handoff.FormatTime(at), handoff.FormatTime(at.Add(lifecycle.DefaultTTL)))
	child := *env
	child.Parent, child.Lineage, child.CreatedAt, child.ExpiresAt = follow.Parent, follow.Lineage, follow.CreatedAt, follow.ExpiresAt
	child.Status, child.OBO = handoff.StatusComplete, nil
	child.BlockedReason, child.Questions = "", nil
	if handoff.CheckAgent(d.Agent) == nil { // a person who sends it on leaves the name
		child.Source.Agent = d.Agent
	}
	child.Target = handoff.Target{Agent: m.Agent, Reason: m.Reason, Request: env.Target.Request}
	if hub, ok := m.Home.(*crossrepo.Hub); ok {
		child.Target.Repo = hub.ID()
	}
	base := s.Claim
	if base == nil {
		base = v.Offer()
	}
	child.ID = lifecycle.ChildID(env.ID, base)
	var err error
	child.Salt, err = d.Salt()
	return &child, err
}

// stage marks a child in the outbox that must not be delivered before its
// parent's receipt names it.
type stage struct {
	Parent lifecycle.Place `json:"parent"`
	Home   string          `json:"home"` // repo id of the parent's home
	Child  lifecycle.Place `json:"child"`
}

func (d *Workspace) stages() lifecycle.Shelf[stage] {
	return lifecycle.Shelf[stage]{Dir: d.Repo.Own("staged")}
}

func (d *Workspace) rerouteAway(ctx context.Context, home lifecycle.Home, p lifecycle.Place, child *lifecycle.Payload, to lifecycle.Home, out lifecycle.Outcome) (*lifecycle.State, error) {
	st := &stage{Parent: p, Home: home.ID(), Child: lifecycle.Place{Agent: child.Agent, ID: child.Record.ID}}
	if err := d.stages().Put(st.Child.ID, st); err != nil {
		return nil, err
	}
	// A reroute that was killed may have staged another version: it was never
	// named by a receipt, so it makes way.
	ref := refs.Outbox(child.Agent, child.Record.ID)
	old, err := d.Repo.Resolve(ctx, ref)
	if err != nil {
		return nil, err
	}
	err = d.Repo.Apply(ctx, refs.Transaction{Edits: []refs.Edit{{Ref: ref, Old: old, New: child.Commit.OID}}, Objects: child.Objects})
	if err != nil {
		return nil, err
	}
	s, err := d.withdraw(ctx, home, p, record.Rerouted, out)
	if err != nil {
		if fault.CodeOf(err) != fault.Unavailable {
			return s, errors.Join(err, d.unstage(ctx, st.Child, true))
		}
		return s, err
	}
	if err := d.unstage(ctx, st.Child, false); err != nil {
		return s, err
	}
	if err := d.DeliverTo(ctx, to, child); err != nil {
		return s, keptFault(err)
	}
	return s, nil
}

// unstage lets a staged child go: to be delivered, or dropped.
func (d *Workspace) unstage(ctx context.Context, child lifecycle.Place, drop bool) error {
	if drop {
		ref := refs.Outbox(child.Agent, child.ID)
		oid, err := d.Repo.Resolve(ctx, ref)
		if err != nil {
			return err
		}
		if oid != "" {
			if err := d.Repo.Apply(ctx, refs.Transaction{Edits: []refs.Edit{{Ref: ref, Old: oid}}}); err != nil {
				return err
			}
		}
	}
	return d.stages().Drop(child.ID)
}

// ripe reports whether a child in the outbox may be delivered: at once, unless
// it is staged; then when its parent's receipt names it. One whose parent ended
// otherwise is dropped.
func (d *Workspace) ripe(ctx context.Context, id handoff.ID) (bool, error) {
	st, err := d.stages().Get(id)
	if err != nil || st == nil {
		return st == nil, err
	}
	home, err := d.Home(ctx, st.Home)
	if err != nil {
		return false, err
	}
	if err := home.Refresh(ctx, crossrepo.WantAll(st.Parent)); err != nil {
		return false, err
	}
	s, err := d.Engine.Load(ctx, home, st.Parent)
	switch {
	case err != nil:
		return false, err
	case s.Receipt == nil:
		return false, nil // the reroute was cut off: it is to be repeated
	case s.Receipt.Next == id:
		return true, d.unstage(ctx, st.Child, false)
	}
	return false, d.unstage(ctx, st.Child, true)
}
