// Package audit reads every lane, checks every signature, judges every entry, and
// compares what the lanes say with the inbox refs that are there.
package audit

import (
	"context"

	"githandoff/internal/crossrepo"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
	"githandoff/internal/workspace"
)

// Workspace has the methods of the workspace that audit needs.
type Workspace interface {
	All(ctx context.Context) workspace.HomeList
	Chosen(ctx context.Context, aliases []string) ([]*crossrepo.Hub, error)
	Home(ctx context.Context, repoID string) (lifecycle.Home, error)
	Unread(err error)
}

// Handler audits the lanes of this repository and of its hubs.
type Handler struct {
	Engine    *lifecycle.Engine
	Repo      *refs.Repo
	Workspace Workspace
}

// New makes the handler of a workspace.
func New(w *workspace.Workspace) *Handler {
	return &Handler{
		Engine:    w.Engine,
		Repo:      w.Repo,
		Workspace: w,
	}
}
