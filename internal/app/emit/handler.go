// Package emit sends handoffs: it makes a handoff durable in this repository, and then present at
// its home. It also finds the parts a new handoff takes over from its parent: the content, the
// length of its chain and the authority.
package emit

import (
	"context"
	"time"

	"githandoff/internal/annotate"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/outbox"
	"githandoff/internal/refs"
	"githandoff/internal/successor"
	"githandoff/internal/work"
	"githandoff/internal/workspace"
)

// Workspace has the methods of the workspace needed to emit.
type Workspace interface {
	Find(ctx context.Context, arg string, ask workspace.Asking) (*workspace.View, error)
	Home(ctx context.Context, repoID string) (lifecycle.Home, error)
	Load(ctx context.Context, it *workspace.Item) error
}

// Steps takes the two steps of the state machine needed to emit.
type Steps interface {
	Offer(ctx context.Context, home lifecycle.Home, p *lifecycle.Payload, localEdits ...refs.Edit) (*lifecycle.State, error)
	Delegate(ctx context.Context, home lifecycle.Home, h lifecycle.ClaimProof, child handoff.ID) (*lifecycle.State, error)
}

// States reads the states of handoffs.
type States interface {
	Load(ctx context.Context, home lifecycle.Home, p lifecycle.Place) (*lifecycle.State, error)
}

// Verifier proves what is in a handoff.
type Verifier interface {
	Verify(ctx context.Context, home lifecycle.Home, s *lifecycle.State, opt lifecycle.Options) (*lifecycle.Verified, error)
	Reload(ctx context.Context, ref string) (*lifecycle.Payload, error)
}

// Handler sends handoffs.
type Handler struct {
	Claims    work.Claims
	Local     *lifecycle.LocalHome
	Now       func() time.Time
	Repo      *refs.Repo
	States    States
	Steps     Steps
	Verifier  Verifier
	Workspace Workspace

	Notes      *annotate.Notes
	Outbox     *outbox.Outbox
	Successors *successor.Maker
}

// New makes the handler of a workspace.
func New(w *workspace.Workspace) *Handler {
	return &Handler{
		Claims:     w.Claims,
		Local:      w.Local,
		Now:        w.Engine.Now,
		Repo:       w.Repo,
		States:     w.Engine.Reader,
		Steps:      w.Engine,
		Verifier:   w.Engine.Verifier,
		Workspace:  w,
		Notes:      annotate.New(w),
		Outbox:     outbox.New(w),
		Successors: successor.New(w),
	}
}
