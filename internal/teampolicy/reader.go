// Package teampolicy reads the team's policy from its commit, and judges requests and skills by
// it.
package teampolicy

import (
	"context"

	"githandoff/internal/handoff"
	"githandoff/internal/refs"
	"githandoff/internal/workspace"
)

// Workspace has the methods of the workspace needed for the policy.
type Workspace interface {
	Content(ctx context.Context, f *workspace.View) (*handoff.Envelope, error)
	Find(ctx context.Context, arg string, ask workspace.Asking) (*workspace.View, error)
	Warn(err error)
}

// Reader reads the team's policy and judges by it.
type Reader struct {
	Repo      *refs.Repo
	Workspace Workspace
}

// New makes the reader of a workspace.
func New(w *workspace.Workspace) *Reader {
	return &Reader{
		Repo:      w.Repo,
		Workspace: w,
	}
}
