// Package gc collects inbox refs whose receipt is in the lane, checkpoints of ended handoffs,
// expired handoffs, and snapshots whose handoff is gone.
package gc

import (
	"context"
	"time"

	"githandoff/internal/lifecycle"
	"githandoff/internal/outbox"
	"githandoff/internal/receipt"
	"githandoff/internal/work"
	"githandoff/internal/workspace"
)

// Workspace has the methods of the workspace needed to collect.
type Workspace interface {
	Find(ctx context.Context, arg string, ask workspace.Asking) (*workspace.View, error)
	List(ctx context.Context, all bool, visit func(*workspace.Item) error) error
	Outgoing(ctx context.Context) ([]*workspace.Item, error)
	Warn(err error)
}

// Handler collects what nobody needs any more.
type Handler struct {
	Engine    *lifecycle.Engine
	Workspace Workspace

	Receipts *receipt.Writer
	Staged   work.Documents[outbox.Stage]
	Dirs     []string // directories of the user's keys and trust

	// SweepStamps removes the stamps of old sessions of agents in a directory.
	SweepStamps func(dir string, now time.Time) error
}

// New makes the handler of a workspace.
func New(w *workspace.Workspace) *Handler {
	return &Handler{Engine: w.Engine, Workspace: w, Receipts: receipt.New(w), Staged: outbox.New(w).Staged()}
}
