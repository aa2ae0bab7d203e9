// Package successor makes handoffs that follow from others, a return, a reroute or a
// reply, with what they may have of the authority of the first.
package successor

import (
	"githandoff/internal/lifecycle"
	"githandoff/internal/workspace"
)

// Workspace is what successor needs of the place of work.
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
