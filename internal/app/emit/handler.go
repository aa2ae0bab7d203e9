// Package emit sends handoffs: it makes a handoff durable in this repository, and then present at
// its home. It also finds the parts a new handoff takes over from its parent: the content, the
// length of its chain and the authority.
package emit

import (
	"context"
	"time"

	"githandoff/internal/annotate"
	"githandoff/internal/crossrepo"
	"githandoff/internal/lifecycle"
	"githandoff/internal/outbox"
	"githandoff/internal/sign"
	"githandoff/internal/successor"
	"githandoff/internal/team"
	"githandoff/internal/teampolicy"
	"githandoff/internal/work"
	"githandoff/internal/workcopy"
	"githandoff/internal/workspace"
)

// Workspace has the methods of the workspace needed to emit.
type Workspace interface {
	AliasOf(home lifecycle.Home) string
	Find(ctx context.Context, arg string, ask workspace.Asking) (*workspace.View, error)
	Home(ctx context.Context, repoID string) (lifecycle.Home, error)
	Hub(ctx context.Context, alias string) (*crossrepo.Hub, error)
	HubOfSetting(ctx context.Context, setting, alias string) (*crossrepo.Hub, error)
	Load(ctx context.Context, it *workspace.Item) error
	MainRemote() string
	Warn(err error)
}

// RootSigner is a root key to sign in place of the agent's key.
type RootSigner struct {
	Signer sign.Signer
	Actor  string // author of the commits that Signer signs
}

// Handler makes handoffs of drafts and sends them: for emit, capture and the hooks.
type Handler struct {
	Claims    work.Claims
	Engine    *lifecycle.Engine
	Local     *lifecycle.LocalHome
	Workspace Workspace

	Work       *work.Held
	Notes      *annotate.Notes
	Outbox     *outbox.Outbox
	Policy     *teampolicy.Reader
	Published  *team.Team
	Successors *successor.Maker
	As         func(RootSigner) *Handler // returns a handler of the same workspace that signs with a root key
	Source     string                    // agent in whose name handoffs are sent

	Keystore sign.Keystore
	Quiet    bool // give no advice
	Say      func(format string, args ...any)

	// Snapshot takes the snapshot of a handoff, names it in the envelope, and returns its
	// objects; none without a snapshot.
	Snapshot workcopy.Taker

	// Invited pins the keys that answered an invitation at a hub.
	Invited func(ctx context.Context, alias string) error

	// Expected is the end of an open invitation of an agent; the zero time if there is
	// none.
	Expected func(agent string) time.Time
}

// New makes the handler of a workspace. Send and the advice need the other fields, which the caller sets.
func New(w *workspace.Workspace) *Handler {
	return &Handler{
		Claims:     w.Claims,
		Engine:     w.Engine,
		Local:      w.Local,
		Workspace:  w,
		Work:       w.Work(),
		Notes:      annotate.New(w),
		Outbox:     outbox.New(w),
		Policy:     teampolicy.New(w),
		Published:  team.New(w),
		Successors: successor.New(w),
		As:         func(r RootSigner) *Handler { return New(w.As(r.Signer, r.Actor)) },
		Source:     w.Source(),
	}
}
