// Package receipt ends handoffs: it prepares what a receipt needs, the results, the
// archive, the checkpoints that are let go, and refuses text for the log of a sealed
// handoff.
package receipt

import (
	"context"

	"githandoff/internal/annotate"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
	"githandoff/internal/workspace"
)

// Workspace has the methods of the workspace that receipt needs.
type Workspace interface {
	Find(ctx context.Context, arg string, ask workspace.Asking) (*workspace.View, error)
	Warn(err error)
}

// Writer ends handoffs.
type Writer struct {
	Engine    *lifecycle.Engine
	Repo      *refs.Repo
	Workspace Workspace

	Notes *annotate.Notes
}

// New makes the writer of a workspace.
func New(w *workspace.Workspace) *Writer {
	return &Writer{
		Engine:    w.Engine,
		Repo:      w.Repo,
		Workspace: w,
		Notes:     annotate.New(w),
	}
}
