// Package history reads from the lanes which handoffs ended, how, and which followed from them.
package history

import (
	"context"

	"githandoff/internal/lifecycle"
	"githandoff/internal/workspace"
)

// Workspace has the methods of the workspace needed for a history.
type Workspace interface {
	All(ctx context.Context) workspace.HomeList
	Find(ctx context.Context, arg string, ask workspace.Asking) (*workspace.View, error)
	Outgoing(ctx context.Context) ([]*workspace.Item, error)
	Unread(err error)
	Warn(err error)
}

// Handler tells of ended handoffs, and of chains.
type Handler struct {
	Engine    *lifecycle.Engine
	Workspace Workspace
}

// New makes the handler of a workspace.
func New(w *workspace.Workspace) *Handler {
	return &Handler{Engine: w.Engine, Workspace: w}
}
