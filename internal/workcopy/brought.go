package workcopy

import (
	"cmp"
	"context"

	"githandoff/internal/fault"
	"githandoff/internal/gitobj"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
	"githandoff/internal/snapshot"
)

// Brought is a snapshot readable here.
type Brought struct {
	*snapshot.Contents
	Work *handoff.Work
	Ref  string // ref that leads to the snapshot
}

// Base returns what to compare the snapshot with: the newest commit that the home had, or the empty tree
// if it had none, because then every file is new to it.
func (b *Brought) Base() string {
	return cmp.Or(b.Work.Base, gitobj.FormatOf(b.Work.Head).EmptyTree())
}

// With brings the snapshot of a handoff here, and lets go of it after do. The content is nil
// if the handoff has none any more.
func (h *Handler) With(ctx context.Context, home lifecycle.Home, s *lifecycle.State, v *lifecycle.Verified, do func(context.Context, *Brought) error) error {
	if v == nil || v.Envelope().Work == nil {
		return fault.New(fault.NotFound, fault.NoSnapshot, "handoff %s carries no snapshot", s.ID).
			WithHints(fault.Run("githandoff", "show", string(s.ID)).Because("shows it"))
	}
	w, p := v.Envelope().Work, lifecycle.Place{Agent: s.Agent, ID: s.ID}
	defer lifecycle.ForgetWork(ctx, h.Repo, home, p)
	contents, err := h.bring(ctx, home, p, w)
	if err != nil {
		return err
	}
	ref := home.Namespace().Work(p.Agent, p.ID)
	if oid, err := h.Repo.Resolve(ctx, ref); err == nil && oid == "" {
		ref = refs.WorkOut(p.ID)
	}
	return do(ctx, &Brought{contents, w, ref})
}
