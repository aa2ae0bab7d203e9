// Package decide is for the handoffs waiting for a person: it routes one to an agent, or sends it
// back to its source with an answer.
package decide

import (
	"context"

	"githandoff/internal/lifecycle"
	"githandoff/internal/receipt"
	"githandoff/internal/successor"
	"githandoff/internal/teampolicy"
	"githandoff/internal/workspace"
)

// Workspace has the methods of the workspace needed for decisions.
type Workspace interface {
	Find(ctx context.Context, arg string, ask workspace.Asking) (*workspace.View, error)
	List(ctx context.Context, all bool, visit func(*workspace.Item) error) error
	RefreshInboxes(ctx context.Context, all bool) (failed []error)
	Warn(err error)
}

// Handler takes the decisions of people.
type Handler struct {
	Engine    *lifecycle.Engine
	Workspace Workspace

	Policy     *teampolicy.Reader
	Receipts   *receipt.Writer
	Successors *successor.Maker

	// Advise is called after a handoff was routed to an agent at its home; it may be nil.
	Advise func(ctx context.Context, agent string, home lifecycle.Home)
}

// New makes the handler of a workspace.
func New(w *workspace.Workspace) *Handler {
	return &Handler{
		Engine:     w.Engine,
		Workspace:  w,
		Policy:     teampolicy.New(w),
		Receipts:   receipt.New(w),
		Successors: successor.New(w),
	}
}
