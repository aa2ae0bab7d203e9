package cli

import (
	"context"
	"fmt"

	"githandoff/internal/agents"
	"githandoff/internal/app/agenthook"
	"githandoff/internal/app/finish"
	"githandoff/internal/app/pushcheck"
	"githandoff/internal/app/take"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/private"
	"githandoff/internal/work"
	"githandoff/internal/workspace"
)

// session implements agenthook.Worktree with the answers of other use cases.
type session struct {
	*agenthook.Local
	app       *app
	workspace *workspace.Workspace

	taken *take.Result // handoff that Take claimed
	shown bool         // the answer holds the text of taken
}

func newSession(a *app, ws *workspace.Workspace) *session {
	return &session{Local: agenthook.NewLocal(ws, a.Now), app: a, workspace: ws}
}

func (s *session) Peek(ctx context.Context, id handoff.ID) (string, error) {
	items, err := s.Items(ctx, id)
	if err != nil {
		return "", err
	}
	if len(items) == 0 {
		return "", fmt.Errorf("handoff %s is not in the inbox", id)
	}
	it := items[0]
	v, err := s.workspace.Shown(ctx, it.Home, it.Place)
	if err != nil {
		return "", err
	}
	claim, err := s.workspace.Claims.Get(id)
	if err == nil && claim != nil {
		var st *work.Standing
		if st, err = s.workspace.Work().Standing(ctx, claim); err == nil && st.Over != nil {
			claim = nil // somebody else ended it
		}
	}
	if err != nil {
		return "", err
	}
	b, err := promptOf(s.app, s.workspace, &take.Result{Verified: v, Home: it.Home, Claim: claim}, false)
	return string(b), err
}

// Check is like "obo check", but allows everything to an agent that holds no token.
func (s *session) Check(ctx context.Context, scopes []string) error {
	held, err := s.workspace.Work().WithToken()
	if err != nil {
		return err
	}
	return pushcheck.AnyAllows(ctx, s.workspace.Work(), held, scopes)
}

// Facts keeps its scratch where agents in a sandbox cannot write.
func (s *session) Facts(ctx context.Context, held []agents.Handoff) error {
	dir, err := private.Dir(s.app.Getenv, private.State)
	if err != nil {
		return err
	}
	return s.WriteFacts(ctx, dir, held)
}

// signing returns a workspace of the same repository with a signing key. A hook cannot ask for a
// passphrase.
func (s *session) signing(ctx context.Context) (*workspace.Workspace, error) {
	ws, err := s.app.workspace(ctx, signs)
	if err == nil {
		ws.OnWarn = func(error) {}
	}
	return ws, err
}

func (s *session) Take(ctx context.Context) (*agenthook.Taken, error) {
	ws, err := s.signing(ctx)
	if err != nil {
		return nil, err
	}
	// Another session of this worktree may have taken one by now. Without Next, this session is
	// given the same one, not a second.
	g, err := take.New(ws).Resume(ctx, take.Request{OnlyLocal: true, Lease: lifecycle.DefaultLease})
	if fault.CodeOf(err) == fault.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s.taken = g
	text, err := promptOf(s.app, ws, g, false)
	if err != nil {
		return nil, err
	}
	offer := g.Verified.Offer()
	h := s.Named(g.Claim.ID, offer.From, offer.Task)
	h.Lease = g.Claim.Lease
	return &agenthook.Taken{Handoff: h, Text: string(text), Again: g.Again, Shown: func() { s.shown = true }}, nil
}

// answered is called when the client has the answer. If the text of a claim did not get there,
// the next "githandoff resume" prints it.
func (s *session) answered(ctx context.Context) {
	switch {
	case s == nil || s.taken == nil:
	case s.shown:
		_ = s.taken.Printed(ctx, s.workspace.Claims)
	default:
		s.taken.Abandon()
	}
}

func (s *session) Release(ctx context.Context, id handoff.ID) error {
	ws, err := s.signing(ctx)
	if err != nil {
		return err
	}
	return finish.New(ws).GiveBack(ctx, id, s.app.Now().UTC())
}
