// Package finish takes the steps of a holder: progress, release, ack and fail. A step its hub
// cannot take now is kept for sync.
package finish

import (
	"context"

	"githandoff/internal/lifecycle"
	"githandoff/internal/receipt"
	"githandoff/internal/successor"
	"githandoff/internal/teampolicy"
	"githandoff/internal/work"
	"githandoff/internal/workcopy"
	"githandoff/internal/workspace"
)

// Workspace has the methods of the workspace needed for steps.
type Workspace interface {
	AliasOf(home lifecycle.Home) string
	Find(ctx context.Context, arg string, ask workspace.Asking) (*workspace.View, error)
	Home(ctx context.Context, repoID string) (lifecycle.Home, error)
	Inboxes() []string
	Warn(err error)
}

// Handler takes the steps of a holder: progress, release, ack, fail.
type Handler struct {
	Claims    work.Claims
	Engine    *lifecycle.Engine
	Local     *lifecycle.LocalHome
	Workspace Workspace

	Policy     *teampolicy.Reader
	Receipts   *receipt.Writer
	Successors *successor.Maker
	Work       *work.Held

	// Reply sends a handoff to the sender of the acknowledged one. Nil: none is sent.
	Reply func(ctx context.Context, r *Reply) error

	// Snapshot takes the snapshot to send back with a failure. Nil: the one received goes back.
	Snapshot workcopy.Taker
}

// New makes the handler of a workspace.
func New(w *workspace.Workspace) *Handler {
	return &Handler{
		Claims:     w.Claims,
		Engine:     w.Engine,
		Local:      w.Local,
		Workspace:  w,
		Policy:     teampolicy.New(w),
		Receipts:   receipt.New(w),
		Successors: successor.New(w),
		Work:       w.Work(),
	}
}
