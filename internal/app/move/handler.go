// Package move ends a handoff before its work is done: revoke takes it back, reroute lets it go
// on at another agent or another home.
package move

import (
	"context"

	"githandoff/internal/lifecycle"
	"githandoff/internal/outbox"
	"githandoff/internal/receipt"
	"githandoff/internal/successor"
	"githandoff/internal/teampolicy"
	"githandoff/internal/work"
	"githandoff/internal/workspace"
)

// Workspace has the methods of the workspace needed to move.
type Workspace interface {
	Find(ctx context.Context, arg string, ask workspace.Asking) (*workspace.View, error)
}

// Handler revokes and reroutes handoffs.
type Handler struct {
	Claims    work.Claims
	Engine    *lifecycle.Engine
	Workspace Workspace

	Outbox     *outbox.Outbox
	Policy     *teampolicy.Reader
	Receipts   *receipt.Writer
	Successors *successor.Maker
}

// New makes the handler of a workspace.
func New(w *workspace.Workspace) *Handler {
	return &Handler{
		Claims:     w.Claims,
		Engine:     w.Engine,
		Workspace:  w,
		Outbox:     outbox.New(w),
		Policy:     teampolicy.New(w),
		Receipts:   receipt.New(w),
		Successors: successor.New(w),
	}
}
