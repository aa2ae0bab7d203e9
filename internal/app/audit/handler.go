// Package audit reads every lane, checks every signature, judges every entry, and
// compares what the lanes say with the inbox refs that are there.
package audit

import (
	"context"
	"strings"
	"time"

	"githandoff/internal/crossrepo"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/workspace"
)

// Workspace has the methods of the workspace that audit needs.
type Workspace interface {
	All(ctx context.Context) workspace.HomeList
	Home(ctx context.Context, repoID string) (lifecycle.Home, error)
	Hubs(ctx context.Context, aliases []string) ([]*crossrepo.Hub, error)
	Unread(err error)
}

// Handler audits the lanes of this repository and of its hubs.
type Handler struct {
	Engine    *lifecycle.Engine
	Workspace Workspace
}

// New makes the handler of a workspace.
func New(w *workspace.Workspace) *Handler {
	return &Handler{Engine: w.Engine, Workspace: w}
}

// Filter chooses entries of a log. A zero field keeps all.
type Filter struct {
	Since, Until time.Time // an entry of Until itself is left out
	Agent        string    // the sender, the receiver or the signer
	Task         string
	Principal    string // such as user:alice@example.com
}

// Keeps reports whether the entry of a record is chosen.
func (f Filter) Keeps(r *record.Record) bool {
	switch {
	case !f.Since.IsZero() && r.At.Before(f.Since), !f.Until.IsZero() && !r.At.Before(f.Until):
		return false
	case f.Agent != "" && r.From != f.Agent && r.To != f.Agent && r.Actor != f.Agent:
		return false
	case f.Task != "" && r.Task != f.Task:
		return false
	}
	return f.Principal == "" || strings.HasPrefix(r.Principal, f.Principal+" ")
}
