// Package team publishes keys and lists of trusted keys at a hub, and lets those
// count here that the roots of this clone signed.
package team

import (
	"context"

	"githandoff/internal/crossrepo"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
	"githandoff/internal/workspace"
)

// Workspace has the methods of the workspace that team needs.
type Workspace interface {
	Hub(ctx context.Context, alias string) (*crossrepo.Hub, error)
	Warn(err error)
}

// Team publishes and fetches the keys that a team shares through a hub.
type Team struct {
	Aliases   crossrepo.Aliases
	Engine    *lifecycle.Engine
	Local     *lifecycle.LocalHome
	Repo      *refs.Repo
	Workspace Workspace
}

// New makes the team of a workspace.
func New(w *workspace.Workspace) *Team {
	return &Team{
		Aliases:   w.Aliases,
		Engine:    w.Engine,
		Local:     w.Local,
		Repo:      w.Repo,
		Workspace: w,
	}
}
