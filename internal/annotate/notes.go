// Package annotate writes a line about each handoff into the note of its code
// commit, shares these notes with a hub, and keeps them in form. Notes are hints,
// derived from the log: nothing depends on them.
package annotate

import (
	"context"

	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
	"githandoff/internal/workspace"
)

// Workspace has the methods of the workspace that annotate needs.
type Workspace interface {
	AliasOf(home lifecycle.Home) string
	All(ctx context.Context) workspace.HomeList
	Home(ctx context.Context, repoID string) (lifecycle.Home, error)
	Warn(err error)
}

// Notes writes the notes on code commits that tell of handoffs.
type Notes struct {
	Agent     string
	Engine    *lifecycle.Engine
	lines     map[string][]string // that are due, by code commit
	Repo      *refs.Repo
	Workspace Workspace
}

// New makes the notes of a workspace.
func New(w *workspace.Workspace) *Notes {
	return &Notes{
		Agent:     w.Agent,
		Engine:    w.Engine,
		Repo:      w.Repo,
		Workspace: w,
	}
}
