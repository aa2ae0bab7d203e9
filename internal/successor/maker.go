// Package successor makes handoffs following from others, a return, a reroute or a reply, with
// the authority the first may pass on.
package successor

import (
	"context"

	"githandoff/internal/lifecycle"
	"githandoff/internal/workspace"
)

// Workspace has the methods of the workspace needed by successor.
type Workspace interface {
	Find(ctx context.Context, arg string, ask workspace.Asking) (*workspace.View, error)
	Principal() string
	Source() string
	Warn(err error)
}

// Maker makes handoffs following from others.
type Maker struct {
	Agent     string
	Engine    *lifecycle.Engine
	Local     *lifecycle.LocalHome
	Workspace Workspace
}

// New makes the maker of a workspace.
func New(w *workspace.Workspace) *Maker {
	return &Maker{Agent: w.Agent, Engine: w.Engine, Local: w.Local, Workspace: w}
}
