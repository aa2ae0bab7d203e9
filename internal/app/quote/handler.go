// Package quote finds the quotable part of another handoff for a prompt: its content while
// readable, else the words of a later handoff about it.
package quote

import (
	"context"

	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/workspace"
)

// Workspace has the methods of the workspace needed to quote.
type Workspace interface {
	Content(ctx context.Context, f *workspace.View) (*handoff.Envelope, error)
	Find(ctx context.Context, arg string, ask workspace.Asking) (*workspace.View, error)
	List(ctx context.Context, all bool, visit func(*workspace.Item) error) error
}

// Handler finds what a prompt can quote of other handoffs.
type Handler struct {
	Verifier  *lifecycle.Verifier
	Workspace Workspace
}

// New makes the handler of a workspace.
func New(w *workspace.Workspace) *Handler {
	return &Handler{
		Verifier:  w.Engine.Verifier,
		Workspace: w,
	}
}
