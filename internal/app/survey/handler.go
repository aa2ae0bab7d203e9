// Package survey tells what this clone knows of the work of one agent: held, kept,
// sent, waiting. It asks no hub.
package survey

import (
	"context"

	"githandoff/internal/lifecycle"
	"githandoff/internal/work"
	"githandoff/internal/workspace"
)

// Workspace has the methods of the workspace needed for a survey.
type Workspace interface {
	All(ctx context.Context) workspace.HomeList
	Home(ctx context.Context, repoID string) (lifecycle.Home, error)
	Inboxes() []string
	Source() string
	Strayed(ctx context.Context, it *workspace.Item) bool
}

// Handler surveys the work of one agent in this clone.
type Handler struct {
	Work      *work.Held
	Workspace Workspace
}

// New makes the handler of a workspace.
func New(w *workspace.Workspace) *Handler {
	return &Handler{Work: w.Work(), Workspace: w}
}
