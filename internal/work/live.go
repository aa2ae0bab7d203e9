package work

import (
	"context"
	"slices"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/obo"
)

// Live is a claim of this agent whose token is good now, as far as this clone
// knows.
type Live struct {
	Claim *Claim
	Token *obo.VerifiedToken
}

// WithToken lists the claims of this agent in this worktree that came with a
// token. Nothing about them was checked.
func (w *Held) WithToken() ([]*Claim, error) {
	held, err := w.Claims.All()
	return slices.DeleteFunc(held, func(h *Claim) bool { return h.Actor != w.Agent || h.Token == "" }), err
}

// Live returns the claim that an id, or none where exactly one is held, means. It
// asks no hub. Refusals have the code fault.Policy: no claim, several, a lease that
// is over, a token that ended or was revoked.
func (w *Held) Live(ctx context.Context, arg string) (*Live, error) {
	held, err := w.WithToken()
	if err != nil {
		return nil, err
	}
	if arg != "" {
		held = slices.DeleteFunc(held, func(h *Claim) bool { return !h.ID.Matches(arg) })
	}
	if len(held) > 1 {
		held = slices.DeleteFunc(held, (*Claim).Finished) // their end only waits for its hub
	}
	switch len(held) {
	case 0:
		if w.Agent == "" {
			return nil, errNoAuthority(fault.NoIdentity, "this worktree has no agent").WithHints(fault.See("init").Because("--as names the agent that works here"))
		}
		return nil, errNoAuthority(fault.NothingHeld, "%s holds nothing here that carries authority", w.Agent).
			WithHints(fault.Run("githandoff", "resume").Because("takes a handoff"))
	case 1:
		return w.LiveClaim(ctx, held[0])
	}
	return nil, errNoAuthority(fault.AmbiguousID, "%s holds %d handoffs that carry authority: %s", w.Agent, len(held), ShortIDs(held)).
		WithHints(handoff.Which(idsOf(held)...)...)
}

// LiveClaim is Live for one claim.
func (w *Held) LiveClaim(ctx context.Context, h *Claim) (*Live, error) {
	home, err := w.Workspace.Home(ctx, h.Home)
	if err != nil {
		return nil, asNoAuthority(err)
	}
	s, err := w.Verifier.Reader.Load(ctx, home, h.Proof().Place)
	if err != nil {
		return nil, asNoAuthority(err)
	}
	st := &Standing{Holder: h, Home: home, State: s, Over: endOf(s, h)}
	switch {
	case s.Receipt != nil:
		return nil, asNoAuthority(s.Err())
	case st.Over != nil:
		return nil, asNoAuthority(LostClaim(st))
	case s.Claim == nil || !h.Mine(s.Claim.Nonce), st.Moved():
		return nil, errNoAuthority(fault.NotHolder, "handoff %s is no longer where %s held it", h.ID, h.Actor).
			WithHints(fault.Run("githandoff", "sync").Because("fetches its outcome"))
	case s.Overdue(w.Verifier.Keys.Now()):
		return nil, errNoAuthority(fault.Expired, "the lease of handoff %s is over", h.ID).
			WithHints(fault.Run("githandoff", "progress", string(h.ID)).Because("renews the lease"),
				fault.Run("githandoff", "release", string(h.ID)).Because("gives the claim back"))
	}
	v, err := w.Verifier.Verify(ctx, home, s, lifecycle.Options{AllowExpired: true, AsKnown: true, UnknownStands: true})
	if err != nil {
		return nil, asNoAuthority(err)
	}
	if v.Token() == nil {
		return nil, errNoAuthority(fault.NothingHeld, "handoff %s carries no authority", h.ID)
	}
	return &Live{Claim: h, Token: v.Token()}, nil
}

func errNoAuthority(reason fault.Reason, format string, args ...any) *fault.Error {
	return fault.New(fault.Policy, reason, format, args...)
}

// asNoAuthority: whatever is wrong with a handoff, it allows nothing.
func asNoAuthority(err error) error {
	f := fault.As(err)
	if f == nil || f.Code == fault.Unavailable {
		return err
	}
	no := *f
	no.Code = fault.Policy
	return &no
}
