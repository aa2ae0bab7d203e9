package workcopy

import (
	"context"
	"path/filepath"

	"githandoff/internal/lifecycle"
	"githandoff/internal/private"
	"githandoff/internal/snapshot"
	"githandoff/internal/work"
)

// Homes finds the repository that decides about a handoff.
type Homes interface {
	Home(ctx context.Context, repoID string) (lifecycle.Home, error)
}

// Taken is a handoff that was claimed and is being printed.
type Taken interface {
	Printed(ctx context.Context) error
	PrintedFor(ctx context.Context, claims work.Claims) error // moves the claim to another worktree
	Abandon()
}

// Restoring is one resume that may make a work copy. A nil one makes none.
type Restoring struct {
	Dir   string // "" is beside this work tree
	Here  bool   // in this work tree
	Agent string
	Homes Homes
	Handler

	plan     *Copy
	contents *snapshot.Contents // that the plan is for; nil until they are here
	home     lifecycle.Home
	at       lifecycle.Place
}

// Prepare refuses, before it is claimed, a handoff whose work cannot be brought here.
func (r *Restoring) Prepare(ctx context.Context, v *lifecycle.Verified) error {
	if r == nil {
		return nil
	}
	s, w := v.State(), v.Envelope().Work
	r.contents = nil
	var err error
	if r.Here {
		r.plan, err = r.PlanHere(ctx, s.ID, w)
	} else {
		r.plan, err = r.Plan(ctx, s.ID, w, r.Dir)
	}
	if err != nil {
		return err
	}
	if r.home, err = r.Homes.Home(ctx, v.Offer().Home); err != nil {
		return err
	}
	r.at = lifecycle.Place{Agent: s.Agent, ID: s.ID}
	if r.contents, err = r.Bring(ctx, r.home, r.at, w); err != nil {
		return err
	}
	return r.Fits(ctx, r.plan, r.contents)
}

// Restore makes the work copy of a claimed handoff, for the agent that claimed it.
func (r *Restoring) Restore(ctx context.Context, v *lifecycle.Verified) error {
	if r == nil {
		return nil
	}
	if r.contents == nil || r.plan.ID != v.State().ID {
		if err := r.Prepare(ctx, v); err != nil {
			return err
		}
	}
	if err := r.Make(ctx, r.plan, r.contents); err != nil || r.plan.Here {
		return err
	}
	gitDir, err := GitDir(r.plan.Dir)
	if err != nil {
		return err
	}
	return private.WriteFile(filepath.Join(gitDir, "githandoff", "agent"), []byte(r.Agent+"\n"))
}

// Printed records that the content was printed, and moves the claim to the work copy.
func (r *Restoring) Printed(ctx context.Context, taken Taken) error {
	if r == nil {
		return taken.Printed(ctx)
	}
	if r.plan.Here {
		if err := taken.Printed(ctx); err != nil {
			return err
		}
		return r.Told(r.plan)
	}
	gitDir, err := GitDir(r.plan.Dir)
	if err != nil {
		taken.Abandon()
		return err
	}
	if err := taken.PrintedFor(ctx, work.ClaimsAt(r.Repo, gitDir)); err != nil {
		return err
	}
	return r.Told(r.plan)
}

// Made is the work copy, nil if none was made.
func (r *Restoring) Made() *Copy {
	if r == nil {
		return nil
	}
	return r.plan
}

// Close drops the fetched snapshot.
func (r *Restoring) Close(ctx context.Context) {
	if r != nil && r.home != nil {
		_ = r.Fetcher.ForgetWork(context.WithoutCancel(ctx), r.home, r.at) // the receipt does so again
	}
}
