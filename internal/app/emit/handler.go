// Package emit sends handoffs: it makes a handoff durable in this repository, and then present at
// its home. It also finds the parts a new handoff takes over from its parent: the content, the
// length of its chain and the authority.
package emit

import (
	"context"

	"githandoff/internal/annotate"
	"githandoff/internal/crossrepo"
	"githandoff/internal/lifecycle"
	"githandoff/internal/outbox"
	"githandoff/internal/refs"
	"githandoff/internal/successor"
	"githandoff/internal/work"
	"githandoff/internal/workspace"
)

// Workspace has the methods of the workspace needed to emit.
type Workspace interface {
	AliasOf(home lifecycle.Home) string
	Elsewhere(agent string) error
	Find(ctx context.Context, arg string, ask workspace.Asking) (*workspace.View, error)
	Home(ctx context.Context, repoID string) (lifecycle.Home, error)
	Hub(ctx context.Context, alias string) (*crossrepo.Hub, error)
	Load(ctx context.Context, it *workspace.Item) error
	Warn(err error)
}

// Handler sends handoffs.
type Handler struct {
	Claims    work.Claims
	Engine    *lifecycle.Engine
	Local     *lifecycle.LocalHome
	Repo      *refs.Repo
	Workspace Workspace

	Notes      *annotate.Notes
	Outbox     *outbox.Outbox
	Successors *successor.Maker
}

// New makes the handler of a workspace.
func New(w *workspace.Workspace) *Handler {
	return &Handler{
		Claims:     w.Claims,
		Engine:     w.Engine,
		Local:      w.Local,
		Repo:       w.Repo,
		Workspace:  w,
		Notes:      annotate.New(w),
		Outbox:     outbox.New(w),
		Successors: successor.New(w),
	}
}
