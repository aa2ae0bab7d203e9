package workspace

import (
	"context"
	"slices"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/refs"
)

// Standing is what this clone knows of a claim that its worktree recorded.
type Standing struct {
	Holder *lifecycle.Holder
	Home   lifecycle.Home // nil where no alias leads to it any more
	State  *lifecycle.State
	Over   *record.Record // the step that ended the claim; nil while it may stand
}

// Standing reads, of the home's refs as they are known here, whether a claim
// still stands. It asks no hub.
func (d *Workspace) Standing(ctx context.Context, h *lifecycle.Holder) (*Standing, error) {
	st := &Standing{Holder: h}
	home, err := d.Home(ctx, h.Home)
	if fault.As(err) != nil {
		return st, nil // the commands that need the home say what is wrong with it
	}
	if err != nil {
		return nil, err
	}
	st.Home = home
	if st.State, err = d.Engine.Load(ctx, home, h.Holding().Place); err != nil {
		if fault.As(err) == nil {
			return nil, err
		}
		st.State = nil // a copy that cannot be read tells nothing
		return st, nil
	}
	st.Over = overBy(st.State, h)
	return st, nil
}

// overBy is the step by which a claim came to its end: the receipt of its handoff,
// or the release or the claim of somebody else that stands on it. Nil where the
// claim stands, or where this clone never saw it at its home.
func overBy(s *lifecycle.State, h *lifecycle.Holder) *record.Record {
	if s.Receipt != nil || s.Claim != nil && h.Mine(s.Claim.Nonce) {
		return s.Receipt
	}
	for _, e := range slices.Backward(s.Entries) {
		r := e.Record()
		if e.Dispute == nil && h.Mine(r.Claim) && (r.Event == record.Released || r.Event == record.Claimed) {
			return r
		}
	}
	return nil
}

// Own reports whether the holder ended the claim itself: it needs no telling.
func (st *Standing) Own() bool {
	r := st.Over
	return r != nil && r.Event.Receipt() && r.Key == st.Holder.Key && st.Holder.Mine(r.Claim)
}

// OverWord says in one word how a claim ended.
func OverWord(r *record.Record) string {
	if r.Event == record.Claimed {
		return "taken over"
	}
	return string(r.Event)
}

// Moved reports whether the inbox ref of a claim is not where the lane says, as
// both are known here: somebody took a step that this clone has not read yet.
func (st *Standing) Moved() bool {
	s := st.State
	return s != nil && st.Over == nil && s.Claim != nil && (s.Tip == "" || s.Phase() == lifecycle.Unfinished)
}

// recorded are the claims of this agent that this worktree has shown to it.
func (d *Workspace) recorded() ([]*lifecycle.Holder, error) {
	held, err := d.Claims.All()
	return slices.DeleteFunc(held, func(h *lifecycle.Holder) bool { return h.Actor != d.Agent || !h.Printed }), err
}

// review closes the records of claims that are over, and tells of those that
// somebody else ended. The error is the one that such a holder has to see.
func (d *Workspace) review(ctx context.Context, only []*crossrepo.Hub) (done []Done, stop error) {
	held, err := d.recorded()
	if err != nil {
		return nil, err
	}
	for _, h := range held {
		st, err := d.Standing(ctx, h)
		if err != nil {
			return done, err
		}
		if hub, ok := st.Home.(*crossrepo.Hub); st.Over == nil || ok && only != nil && !slices.Contains(only, hub) {
			continue
		}
		if err := d.close(ctx, st); err != nil {
			return done, err
		}
		if st.Own() {
			continue
		}
		done = append(done, Done{What: OverWord(st.Over), ID: h.ID, Alias: d.AliasOf(st.Home), Record: st.Over, Lost: true})
		stop = LostClaim(st)
	}
	return done, stop
}

// LostClaim is the refusal of work on a claim that somebody else ended.
func LostClaim(st *Standing) *fault.Error {
	r := st.Over
	f := fault.New(fault.Conflict, fault.NotHolder, "handoff %s was %s by %s at %s: stop working on it",
		r.ID, OverWord(r), r.Actor, handoff.FormatTime(r.At))
	if r.Event == record.Released {
		return f.WithHints(fault.Run("githandoff", "resume", r.ID.Short()).Because("takes it again, if nobody else has"))
	}
	return f.WithHints(fault.Run("githandoff", "show", r.ID.Short()).Because("says how it ended"))
}

// close brings the records of this clone in line with a claim that is over: the
// claim, and the copy of a handoff that has ended.
func (d *Workspace) close(ctx context.Context, st *Standing) error {
	if _, hub := st.Home.(*crossrepo.Hub); hub && st.State.Receipt != nil && st.State.Tip != "" {
		ref := st.Home.Space().Inbox(st.State.Agent, st.State.ID)
		if err := d.Repo.Apply(ctx, refs.Transaction{Edits: []refs.Edit{{Ref: ref, Old: st.State.Tip}}}); err != nil {
			d.Warn(err)
		}
	}
	if !st.Own() {
		st.Holder.Lost = true
	}
	return d.Claims.End(st.Holder, d.Engine.Now())
}

// EndedAt asks the hub behind an alias what became of this agent's claims there,
// closes those that somebody else ended, of this repository as well, and returns
// them. A hub that nothing is held at is asked nothing.
func (d *Workspace) EndedAt(ctx context.Context, alias string) ([]*Standing, error) {
	held, err := d.recorded()
	if err != nil || len(held) == 0 {
		return nil, err
	}
	at, err := d.heldAt()
	if err != nil {
		return nil, err
	}
	var down error
	for _, name := range d.Aliases.Names() {
		if a, _, err := d.Aliases.Look(name); err == nil && name == alias {
			if ids := heldBy(a, at); len(ids) > 0 {
				down = d.hub(a).Refresh(ctx, lifecycle.Want{Lanes: ids})
			}
		}
	}
	var ended []*Standing
	for _, h := range held {
		st, err := d.Standing(ctx, h)
		if err != nil {
			return nil, err
		}
		if st.Over == nil {
			continue
		}
		if err := d.close(ctx, st); err != nil {
			return nil, err
		}
		if !st.Own() {
			ended = append(ended, st)
		}
	}
	if len(ended) > 0 {
		return ended, nil
	}
	return nil, down
}

// heldBy picks the claims at one hub, by whatever of its names.
func heldBy(a *crossrepo.Alias, at map[string][]handoff.ID) (ids []handoff.ID) {
	for repoID, some := range at {
		if a.Answers(repoID) {
			ids = append(ids, some...)
		}
	}
	return ids
}

// LostTokens are the claims of this agent with a token that somebody else ended,
// and that it has not taken again.
func (d *Workspace) LostTokens() ([]*lifecycle.Holder, error) {
	lost, err := d.Claims.Lost()
	if err != nil {
		return nil, err
	}
	held, err := d.Claims.All()
	return slices.DeleteFunc(lost, func(h *lifecycle.Holder) bool {
		again := slices.ContainsFunc(held, func(now *lifecycle.Holder) bool { return now.ID == h.ID })
		return again || h.Actor != d.Agent || h.Token == ""
	}), err
}
