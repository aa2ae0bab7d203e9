package work

import (
	"context"

	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
)

// Workspace has the methods of the workspace that work needs.
type Workspace interface {
	Home(ctx context.Context, repoID string) (lifecycle.Home, error)
	Warn(err error)
}

// Held is the work that the agent of this worktree holds.
type Held struct {
	Agent     string
	Claims    Claims
	Verifier  *lifecycle.Verifier
	Repo      *refs.Repo
	Workspace Workspace
}
