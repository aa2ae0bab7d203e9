package work

import (
	"context"
	"slices"

	"githandoff/internal/fault"
	"githandoff/internal/lifecycle"
	"githandoff/internal/obo"
)

// Live is a claim of this agent whose token is good now, as far as this clone
// knows.
type Live struct {
	Claim *Claim
	Token *obo.VerifiedToken
}

// WithToken lists the claims of this agent in this worktree with a token. Nothing about them
// was checked.
func (w *Held) WithToken() ([]*Claim, error) {
	held, err := w.Claims.Held()
	return slices.DeleteFunc(held, func(h *Claim) bool { return h.Actor != w.Agent || h.Token == "" }), err
}

// Live returns the claim of an id, or the only claim held if there is no id. It asks no hub.
// Refusals have the code fault.Policy: no claim, several, a lease in the past, a token ended or
// revoked.
func (w *Held) Live(ctx context.Context, arg string) (*Live, error) {
	held, err := w.WithToken()
	if err != nil {
		return nil, err
	}
	if arg != "" {
		held = slices.DeleteFunc(held, func(h *Claim) bool { return !h.ID.Matches(arg) })
	}
	if len(held) > 1 {
		held = slices.DeleteFunc(held, (*Claim).Finished) // these end as soon as their hub takes the step
	}
	if len(held) > 1 {
		if held, err = w.stillLive(ctx, held); err != nil {
			return nil, err
		}
	}
	switch len(held) {
	case 0:
		if w.Agent == "" {
			return nil, errNoAuthority(fault.NoIdentity, "this worktree has no agent").WithHints(noAgent())
		}
		return nil, errNoAuthority(fault.NothingHeld, "%s holds nothing here that carries authority", w.Agent).
			WithHints(fault.Run("githandoff", "resume").Because("takes a handoff"))
	case 1:
		return w.LiveClaim(ctx, held[0])
	}
	return nil, errNoAuthority(fault.AmbiguousID, "%s holds %d handoffs that carry authority: %s", w.Agent, len(held), ShortIDs(held)).
		WithHints(each(held, func(id string) fault.Hint {
			return fault.Run("githandoff", "obo", "show", id).Because("shows what one of them allows")
		})...)
}

// stillLive leaves out the claims that allow nothing any more, as far as this clone knows: somebody
// else ended them, or their lease or token is over. If there is no other, all are kept.
func (w *Held) stillLive(ctx context.Context, held []*Claim) ([]*Claim, error) {
	var live []*Claim
	for _, h := range held {
		switch _, err := w.LiveClaim(ctx, h); {
		case err == nil:
			live = append(live, h)
		case fault.CodeOf(err) != fault.Policy:
			return nil, err
		}
	}
	if len(live) == 0 {
		return held, nil
	}
	return live, nil
}

// LiveClaim is like Live for one claim.
func (w *Held) LiveClaim(ctx context.Context, h *Claim) (*Live, error) {
	home, err := w.Workspace.Home(ctx, h.Home)
	if err != nil {
		return nil, asNoAuthority(err)
	}
	s, err := w.Verifier.Reader.Load(ctx, home, h.Place())
	if err != nil {
		return nil, asNoAuthority(err)
	}
	st := &Standing{Claim: h, Home: home, State: s, Over: endOf(s, h)}
	switch {
	case s.Receipt != nil:
		return nil, asNoAuthority(s.Err())
	case st.Over != nil:
		return nil, asNoAuthority(LostClaim(st))
	case s.Phase() == lifecycle.Disputed:
		return nil, asNoAuthority(s.Err())
	case s.Claim == nil && s.Early != nil:
		return nil, errNoAuthority(fault.NotYetValid, "handoff %s: %w", h.ID, s.Early)
	case !h.Is(s.Claim), st.moved():
		if !h.Printed && s.Claim == nil {
			return nil, errNoAuthority(fault.NotHolder, "the claim on handoff %s was interrupted", h.ID).
				WithHints(fault.Run("githandoff", "resume").Because("makes it again"),
					fault.Run("githandoff", "release", string(h.ID)).Because("gives it up"))
		}
		return nil, errNoAuthority(fault.NotHolder, "handoff %s is no longer where %s held it", h.ID, h.Actor).
			WithHints(fault.Run("githandoff", "sync").Because("fetches its outcome"))
	}
	v, err := w.Verifier.Verify(ctx, home, s, lifecycle.Options{AllowExpired: true, AsKnown: true, UnknownStands: true})
	switch {
	case s.Overdue(w.Verifier.Keys.Now()) && (err == nil || fault.CodeOf(err) == fault.Unavailable):
		return nil, errNoAuthority(fault.Expired, "the lease of handoff %s is over", h.ID).
			WithHints(fault.Run("githandoff", "progress", string(h.ID)).Because("renews the lease"),
				fault.Run("githandoff", "release", string(h.ID)).Because("gives the claim back"))
	case err != nil: // also after the lease, which cannot be renewed without authority
		return nil, asNoAuthority(lifecycle.ToRecipient(err, h.ID))
	case v.Token() == nil:
		return nil, errNoAuthority(fault.NothingHeld, "handoff %s carries no authority", h.ID)
	}
	return &Live{Claim: h, Token: v.Token()}, nil
}

func errNoAuthority(reason fault.Reason, format string, args ...any) *fault.Error {
	return fault.New(fault.Policy, reason, format, args...)
}

// asNoAuthority gives an error the code of a refused action, because a handoff with an error allows
// nothing. The error of a hub that is down keeps its code.
func asNoAuthority(err error) error {
	f := fault.As(err)
	if f == nil || f.Code == fault.Unavailable {
		return err
	}
	no := *f
	no.Code = fault.Policy
	return &no
}
