// Package checkpoint finds the commit to which a handoff can be rolled back.
package checkpoint

import (
	"context"

	"githandoff/internal/refs"
	"githandoff/internal/workspace"
)

// Workspace has the methods of the workspace needed for checkpoints.
type Workspace interface {
	Find(ctx context.Context, arg string, ask workspace.Asking) (*workspace.View, error)
}

// Handler finds checkpoints.
type Handler struct {
	Repo      *refs.Repo
	Workspace Workspace
}

// New makes the handler of a workspace.
func New(w *workspace.Workspace) *Handler {
	return &Handler{
		Repo:      w.Repo,
		Workspace: w,
	}
}
