// Package hubsync brings this repository and its hubs into agreement: kept steps are taken, the
// outbox is delivered, receipts come back, claims ended by others are closed, notes are shared,
// and a hub restored from a backup gets its lost entries back.
package hubsync

import (
	"context"

	"githandoff/internal/crossrepo"
	"githandoff/internal/lifecycle"
	"githandoff/internal/outbox"
	"githandoff/internal/receipt"
	"githandoff/internal/refs"
	"githandoff/internal/team"
	"githandoff/internal/work"
	"githandoff/internal/workspace"
)

// Workspace has the methods of the workspace needed for a sync.
type Workspace interface {
	AliasOf(home lifecycle.Home) string
	Home(ctx context.Context, repoID string) (lifecycle.Home, error)
	Hub(ctx context.Context, alias string) (*crossrepo.Hub, error)
	HubAt(a *crossrepo.Alias) *crossrepo.Hub
	Hubs(ctx context.Context, aliases []string) ([]*crossrepo.Hub, error)
	Inboxes() []string
	AdvanceAndGiveBack(ctx context.Context, hub *crossrepo.Hub, memory []refs.Ref) error
	MainRemote() string
	Outgoing(ctx context.Context) ([]*workspace.Item, error)
	PulledHubs(ctx context.Context, failed func(error)) []*crossrepo.Hub
	Pulls(alias string) bool
	Recover(ctx context.Context) error
	Warn(err error)
}

// Steps takes a step kept while its hub was down.
type Steps interface {
	Take(ctx context.Context, h *work.Claim, step work.Step) (*receipt.Result, error)
}

// Handler brings this repository and its hubs to agree.
type Handler struct {
	Agent     string
	Aliases   crossrepo.Aliases
	Claims    work.Claims
	Engine    *lifecycle.Engine
	Workspace Workspace
	Steps     Steps

	Outbox   *outbox.Outbox
	Receipts *receipt.Writer
	Team     *team.Team
	Work     *work.Held
}

// New makes the handler of a workspace.
func New(w *workspace.Workspace, steps Steps) *Handler {
	return &Handler{
		Agent:     w.Agent,
		Aliases:   w.Aliases,
		Claims:    w.Claims,
		Engine:    w.Engine,
		Workspace: w,
		Steps:     steps,
		Outbox:    outbox.New(w),
		Receipts:  receipt.New(w),
		Team:      team.New(w),
		Work:      w.Work(),
	}
}
