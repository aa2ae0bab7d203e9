package crossrepo

import (
	"context"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
)

// Snapshots brings the snapshots of handoffs into a repository.
type Snapshots struct {
	Repo *refs.Repo
}

// ForgetWork lets go of the copy of a snapshot that BringWork made here.
func (s Snapshots) ForgetWork(ctx context.Context, home lifecycle.Home, p lifecycle.Place) error {
	return lifecycle.ForgetWork(ctx, s.Repo, home, p)
}

// BringWork makes the snapshot of a handoff readable in this repository.
func (s Snapshots) BringWork(ctx context.Context, home lifecycle.Home, p lifecycle.Place, w *handoff.Work) error {
	if hub, ok := home.(*Hub); ok {
		o, err := s.Repo.Resolve(ctx, refs.WorkOut(p.ID))
		if err != nil || o == w.Commit {
			return err
		}
		return hub.FetchWork(ctx, p, w.Commit)
	}
	now, err := s.Repo.Resolve(ctx, home.Namespace().Work(p.Agent, p.ID))
	switch {
	case err != nil || now == w.Commit:
		return err
	case now == "":
		return fault.New(fault.NotFound, fault.NoSnapshot, "the snapshot of handoff %s is gone", p.ID)
	}
	return fault.New(fault.Denied, fault.DigestMismatch, "%s is not the snapshot that handoff %s names", home.Namespace().Work(p.Agent, p.ID), p.ID)
}
