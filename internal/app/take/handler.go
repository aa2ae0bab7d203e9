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
	DeferWarnings(do func() error) error
	FetchLogged(ctx context.Context, home lifecycle.Home, arg string) (handoff.ID, error)
	HintOtherHubs(read ...lifecycle.Home) []fault.Hint
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

// search is one search of a resume: its request, and the state of the offers and homes that it has tried.
type search struct {
	*Handler
	Request
	askNobody bool    // ask no hub about offers that only look held
	warnings  []error // of offers and homes

	// Offers.
	skipped    map[handoff.ID]bool // offers that are not tried again
	unlogged   handoff.ID          // the last offer that no log mentions
	unfit      error               // error of Request.Fits for the last offer that it refused
	lost       int                 // number of claims in which others were faster
	ended      []*workspace.Item   // ended handoffs that still have an inbox ref
	refused    int                 // number of refused offers
	refusedIDs []handoff.ID        // ids of the first refused offers
	hints      []fault.Hint        // hints of the refusals, each once

	// Homes.
	passedOver map[lifecycle.Home]bool // homes that do not answer, or that refuse every claim
	down       error                   // first error of a failed home

	// Crowds.
	crowded   bool         // a crowd takes from the inboxes of this agent
	looks     []*crowdLook // looks at hubs that have more to fetch
	unchanged handoff.ID   // offer that needs no fetch: the hub lists it as it is here
}

// remaining returns the homes that are not passed over.
func (t *search) remaining(homes []lifecycle.Home) []lifecycle.Home {
	return slices.DeleteFunc(slices.Clone(homes), func(home lifecycle.Home) bool { return t.passedOver[home] })
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
		t.warnings = append(t.warnings, err)
	}
	if fault.CodeOf(err) == fault.Unavailable && !errors.Is(err, crossrepo.ErrReadInPart) || refusesKey(err, t.Engine.Author.Signer.KID()) {
		t.passedOver[home] = true
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

// mostRefusals bounds the refusals with a warning of their own: somebody with push access must
// not flood the readers of a hub.
const mostRefusals = 20

// offerRefused notes why an offer is refused. This resume does not try it again.
func (t *search) offerRefused(it *workspace.Item, err error) {
	id := it.Place.ID
	it.Record, it.Tip = nil, nil // refused offers may be many: free their memory
	t.skipped[id] = true
	if f := fault.As(err); f != nil && slices.Contains([]fault.Reason{fault.StatusUnknown, fault.AudienceMismatch, fault.Rollback}, f.Reason) {
		t.hints = fault.AddHints(t.hints, f.Hints...)
	}
	if errors.Is(err, handoff.ErrUnknown) {
		t.hints = fault.AddHints(t.hints, handoff.ErrUnknown.Hint)
		if !strings.Contains(err.Error(), string(id)) {
			err = fault.About("handoff "+string(id), err)
		}
	}
	if t.refused++; t.refused <= mostRefusals {
		t.warnings = append(t.warnings, err)
	}
	if len(t.refusedIDs) < fault.MaxHints {
		t.refusedIDs = append(t.refusedIDs, id)
	}
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
