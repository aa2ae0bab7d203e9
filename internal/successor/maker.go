// Package successor makes handoffs that follow from others, a return, a reroute or a reply,
// with the authority that the first may pass on.
package successor

import (
	"githandoff/internal/lifecycle"
	"githandoff/internal/workspace"
)

// Workspace has the methods of the workspace that successor needs.
type Workspace interface {
	Principal() string
	Source() string
	Warn(err error)
}

// Maker makes handoffs that follow from others.
type Maker struct {
	Agent     string
	Engine    *lifecycle.Engine
	Local     *lifecycle.LocalHome
	Workspace Workspace
}

// New makes the maker of a workspace.
func New(w *workspace.Workspace) *Maker {
	return &Maker{
		Agent:     w.Agent,
		Engine:    w.Engine,
		Local:     w.Local,
		Workspace: w,
	}
}
