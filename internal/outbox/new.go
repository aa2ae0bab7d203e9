// Package outbox holds handoffs that wait for delivery, and delivers them. A child
// that must not be delivered before its parent's receipt names it is staged here.
package outbox

import (
	"context"

	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
	"githandoff/internal/workspace"
)

// Workspace has the methods of the workspace that outbox needs.
type Workspace interface {
	Home(ctx context.Context, repoID string) (lifecycle.Home, error)
}

// Outbox holds the handoffs of this repository that wait for delivery.
type Outbox struct {
	Engine    *lifecycle.Engine
	Local     *lifecycle.LocalHome
	Repo      *refs.Repo
	Workspace Workspace
}

// New makes the outbox of a workspace.
func New(w *workspace.Workspace) *Outbox {
	return &Outbox{
		Engine:    w.Engine,
		Local:     w.Local,
		Repo:      w.Repo,
		Workspace: w,
	}
}
