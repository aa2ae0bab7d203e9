// Package take finds a handoff for the agent of this worktree and claims it. Handoffs already
// held by the agent come first.
package take

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"githandoff/internal/annotate"
	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/sign"
	"githandoff/internal/work"
	"githandoff/internal/workspace"
)

// Workspace has the methods of the workspace needed for claims.
type Workspace interface {
	All(ctx context.Context) workspace.HomeList
	AskAgain()
	FetchLogged(ctx context.Context, home lifecycle.Home, arg string) (handoff.ID, error)
	HintOtherHubs(read ...lifecycle.Home) []fault.Hint
	HoldWarnings() (tell func(err error))
	Home(ctx context.Context, repoID string) (lifecycle.Home, error)
	InboxItems(ctx context.Context, homes ...lifecycle.Home) ([]*workspace.Item, error)
	Inboxes() []string
	Load(ctx context.Context, it *workspace.Item) error
	Recover(ctx context.Context) error
	Sources(ctx context.Context) (homes []lifecycle.Home, down error)
	Strayed(ctx context.Context, it *workspace.Item) bool
	Warn(err error)
}

// Handler claims handoffs for the agent of this worktree.
type Handler struct {
	Agent     string
	Claims    work.Claims
	Engine    *lifecycle.Engine
	Local     *lifecycle.LocalHome
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
		Workspace: w,
		Notes:     annotate.New(w),
		Work:      w.Work(),
	}
}

// Request says what an agent wants to take.
type Request struct {
	Arg          string // id or its last characters; empty for the held handoff, or else for any offer
	Next         bool   // without Arg: pass over the held handoff
	Lease        time.Duration
	Peek         bool // show a handoff without a claim
	OnlyLocal    bool // take only from this repository's own home: no hub is asked
	AllowExpired bool
	// Fits, if any, refuses a handoff of no use to the caller, before it is claimed. Without Arg
	// the next one is tried.
	Fits func(*lifecycle.Verified) error
	// Again, if any, reports whether it mended an error, so that a second search may find more.
	Again func(error) bool
}

// unfit marks an error of Request.Fits.
type unfit struct{ error }

func (u unfit) Unwrap() error { return u.error }

func (q *Request) checkFit(v *lifecycle.Verified) error {
	if q.Fits == nil {
		return nil
	}
	if err := q.Fits(v); err != nil {
		return unfit{err}
	}
	return nil
}

// search is one search of a resume. Its methods find what is held, or the handoff that was asked for; a
// [choice] finds an offer.
type search struct {
	*Handler
	Request
	problems   []error          // of offers and homes: warnings, unless another search follows, which meets them again
	passedOver []lifecycle.Home // homes that do not answer, or that refuse every claim
	down       error            // first error of a failed home
}

// remaining returns the homes that are not passed over.
func (t *search) remaining(homes []lifecycle.Home) []lifecycle.Home {
	return slices.DeleteFunc(slices.Clone(homes), func(home lifecycle.Home) bool { return slices.Contains(t.passedOver, home) })
}

// homeFailed notes the error, if any, of reading a home or writing to it. home is nil if no alias
// leads to it. The offers of a home that is not available are passed over, so that this agent gets those of
// other homes. If nothing is claimed, the first error is the error of the command. The others are
// warnings.
func (t *search) homeFailed(home lifecycle.Home, err error) {
	switch {
	case err == nil:
		return
	case t.down == nil:
		t.down = err
	default:
		t.problems = append(t.problems, err)
	}
	if fault.CodeOf(err) == fault.Unavailable && !errors.Is(err, crossrepo.ErrReadInPart) || refusesKey(err, t.Engine.Author.Signer.KID()) {
		t.passedOver = append(t.passedOver, home)
	}
}

// refusesKey reports whether a guard refused a claim since it does not trust the key of this agent. It
// would refuse the other claims as well.
func refusesKey(err error, own sign.KID) bool {
	return errors.Is(err, crossrepo.ErrGuard) && fault.Is(err, fault.UntrustedKey) && strings.Contains(err.Error(), own)
}

// ignoreUnavailable notes the error of a home that is not available, and returns nil. It returns any other
// error, which ends the command.
func (t *search) ignoreUnavailable(home lifecycle.Home, err error) error {
	if fault.CodeOf(err) != fault.Unavailable {
		return err
	}
	t.homeFailed(home, err)
	return nil
}

// Result is a handoff readable by this agent: claimed, or peeked at. Close it with Printed once
// its content has reached the reader, or with Abandon.
type Result struct {
	Verified *lifecycle.Verified
	Home     lifecycle.Home
	Claim    *work.Claim // as recorded here; nil after a peek
	Again    bool        // this worktree held the handoff before, and had shown it

	claims work.Claims
	unlock func()
}

// Printed records the output of the content. Until then the next resume shows the same handoff
// again. The claim moves to the worktree where the work goes on, if claims are those of another one.
func (g *Result) Printed(ctx context.Context, claims work.Claims) error {
	defer g.unlock()
	moves := claims != g.claims
	if g.Claim == nil || g.Claim.Printed && !moves {
		return nil
	}
	g.Claim.Printed = true
	if moves {
		return g.claims.HandOver(ctx, g.Claim, claims)
	}
	return g.claims.Update(ctx, g.Claim.ID, func(stored *work.Claim) error {
		stored.Printed = stored.Held()
		return nil
	})
}

// Abandon lets go of the lock and nothing else.
func (g *Result) Abandon() { g.unlock() }
