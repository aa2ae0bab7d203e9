package finish

import (
	"context"
	"slices"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/receipt"
	"githandoff/internal/record"
	"githandoff/internal/work"
	"githandoff/internal/workspace"
)

// Request is a step requested by an agent.
type Request struct {
	Arg     string    // id or its last characters; empty: the held handoff of this worktree
	Step    work.Step // Handle fills in the claim, the time and the commit
	Summary string    // summary of the handoff back to the sender; empty for none
}

// Handle takes a step on a handoff of this worktree, and takes a kept step again. An agent may
// also reject an unclaimed handoff, with a failure.
func (f *Handler) Handle(ctx context.Context, q Request) (*receipt.Result, error) {
	h, err := f.claim(ctx, q.Arg, q.Step.Event)
	if err != nil {
		return nil, err
	}
	step, sent := q.Step, handoff.ID("")
	step.Nonce, step.At = h.Nonce, f.Engine.Now().UTC()
	if step.Event == record.Acknowledged {
		step.Commit = f.Engine.Repo.Head
		if f.Reply != nil {
			if sent, err = f.followUp(ctx, h, &step, q.Summary); err != nil {
				return nil, err
			}
		}
	}
	done, err := f.Take(ctx, h, step)
	if err != nil {
		return nil, err
	}
	if sent != "" {
		done.Next = sent
	}
	return done, nil
}

// Renew renews the lease of a claim, for as long as before if lease is zero. It returns the
// claim as it is recorded now.
func (f *Handler) Renew(ctx context.Context, h *work.Claim, lease time.Duration) (*work.Claim, error) {
	_, err := f.Take(ctx, h, work.Step{Event: record.Progressed, Nonce: h.Nonce, Lease: lease, At: f.Engine.Now().UTC()})
	if err != nil {
		return nil, err
	}
	if renewed, err := f.Claims.Get(h.ID); err == nil && renewed != nil {
		return renewed, nil
	}
	return h, nil
}

// GiveBack releases a claim of this worktree without asking a hub: there, sync takes the step.
func (f *Handler) GiveBack(ctx context.Context, id handoff.ID, at time.Time) error {
	h, err := f.Claims.Get(id)
	if err != nil || h == nil {
		return err
	}
	step := work.Step{Event: record.Released, Nonce: h.Nonce, At: at}
	if f.Local.Is(h.Home) {
		_, err = f.Take(ctx, h, step)
		return err
	}
	return f.Claims.Update(ctx, id, func(stored *work.Claim) error {
		stored.Keep(step)
		return nil
	})
}

// Break releases a handoff held by another agent.
func (f *Handler) Break(ctx context.Context, arg string) (*receipt.Result, error) {
	v, err := f.Workspace.Find(ctx, arg, workspace.IfUnknown)
	if err != nil {
		return nil, err
	}
	s, err := f.Engine.Release(ctx, v.Home, lifecycle.ClaimProof{Place: v.Place()}, true)
	if err != nil {
		return nil, err
	}
	return &receipt.Result{State: s}, nil
}

// claim finds the claim for a step, or makes the one of a rejection.
func (f *Handler) claim(ctx context.Context, arg string, event record.Event) (*work.Claim, error) {
	h, err := f.Work.Find(arg)
	if arg == "" && fault.Is(err, fault.NothingHeld) {
		if again, aerr := f.Work.Kept(event); again != nil || aerr != nil {
			return again, aerr
		}
	}
	if h != nil || err != nil {
		return h, err
	}
	if event != record.Failed {
		return nil, f.notHeld(ctx, arg)
	}
	v, err := f.Workspace.Find(ctx, arg, workspace.IfUnknown)
	if err != nil {
		return nil, err
	}
	p := v.Place()
	return &work.Claim{ID: p.ID, Agent: p.Agent, Actor: f.Work.Agent, Home: v.Home.ID()}, v.ErrQueued()
}

// notHeld refuses a step on a handoff not held by this worktree. It names the agent which holds
// or ended it.
func (f *Handler) notHeld(ctx context.Context, arg string) error {
	v, err := f.Workspace.Find(ctx, arg, workspace.IfUp)
	if err != nil {
		return err
	}
	s := v.State
	switch {
	case s.Receipt != nil:
		return s.Err()
	case s.Claim != nil:
		return f.Work.HeldElsewhere(s)
	}
	if err := v.ErrQueued(); err != nil {
		return err
	}
	free := fault.New(fault.Conflict, fault.NotHolder, "handoff %s is not held by this worktree", s.ID)
	switch to := v.Place().Agent; {
	case to == handoff.Nobody:
		return free.WithHints(fault.Run("githandoff", "route", string(s.ID)).Because("shows the decision that it waits for"))
	case !slices.Contains(f.Workspace.Inboxes(), to):
		return free.WithHints(fault.Run("githandoff", "show", string(s.ID)).Because("it waits for %s", to))
	}
	return free.WithHints(fault.Run("githandoff", "resume", string(s.ID)).Because("takes it"))
}
