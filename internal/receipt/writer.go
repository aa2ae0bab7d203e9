// Package receipt ends handoffs: it prepares the results and the archive for a receipt, drops
// checkpoints, and refuses text for the log of a sealed handoff.
package receipt

import (
	"context"

	"githandoff/internal/annotate"
	"githandoff/internal/lifecycle"
	"githandoff/internal/workspace"
)

// Workspace has the methods of the workspace needed by receipt.
type Workspace interface {
	Find(ctx context.Context, arg string, ask workspace.Asking) (*workspace.View, error)
	Warn(err error)
}

// Writer ends handoffs.
type Writer struct {
	Engine    *lifecycle.Engine
	Workspace Workspace

	Notes *annotate.Notes
}

// New makes the writer of a workspace.
func New(w *workspace.Workspace) *Writer {
	return &Writer{Engine: w.Engine, Workspace: w, Notes: annotate.New(w)}
}
