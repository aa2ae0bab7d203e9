// Package take finds a handoff for the agent of this worktree and claims it. Handoffs that
// the agent holds already come first.
package take

import (
	"context"

	"githandoff/internal/annotate"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
	"githandoff/internal/work"
	"githandoff/internal/workspace"
)

// Workspace has the methods of the workspace that take needs.
type Workspace interface {
	DeferWarnings(do func() error) error
	Fetched(ctx context.Context, home lifecycle.Home, arg string) (bool, error)
	ForgetLanes()
	Home(ctx context.Context, repoID string) (lifecycle.Home, error)
	InLane(ctx context.Context, namespace refs.Namespace, arg string) (handoff.ID, error)
	Inbox(ctx context.Context, agents []string, homes ...lifecycle.Home) ([]*workspace.Item, error)
	Inboxes() []string
	Recover(ctx context.Context) error
	Sources(ctx context.Context, down *error) []lifecycle.Home
	Warn(err error)
}

// Handler claims handoffs for the agent of this worktree.
type Handler struct {
	Agent     string
	Claims    work.Claims
	Engine    *lifecycle.Engine
	Local     *lifecycle.LocalHome
	Repo      *refs.Repo
	Workspace Workspace

	Notes *annotate.Notes
	Work  *work.Held
}

// New makes the handler of a workspace.
func New(w *workspace.Workspace) *Handler {
	return &Handler{
		Agent:     w.Agent,
		Claims:    w.Claims,
		Engine:    w.Engine,
		Local:     w.Local,
		Repo:      w.Repo,
		Workspace: w,
		Notes:     annotate.New(w),
		Work:      w.Work(),
	}
}
