package emit

import (
	"context"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
)

// heldToken returns a handoff whose authority this worktree can pass on: it holds the handoff,
// the lease has not ended, and the token is valid now. Nil if it does not hold the id, or if the
// handoff carries no authority. The home is asked; if it is down, its last known state counts.
func (s *Handler) heldToken(ctx context.Context, id handoff.ID) (*lifecycle.Verified, error) {
	if id == "" {
		return nil, nil
	}
	h, err := s.Claims.Get(id)
	if err != nil || h == nil || h.Ended || h.Token == "" {
		return nil, err
	}
	home, err := s.Workspace.Home(ctx, h.Home)
	if err != nil {
		return nil, err
	}
	opt := lifecycle.Options{AllowExpired: true}
	switch err := home.Refresh(ctx, lifecycle.WholeHandoffs(h.Place())); {
	case fault.CodeOf(err) == fault.Unavailable:
		opt.AsKnown = true
	case err != nil:
		return nil, err
	}
	state, err := s.Engine.Reader.Load(ctx, home, h.Place())
	if err != nil {
		return nil, err
	}
	switch {
	case state.Receipt != nil:
		return nil, state.Err()
	case !h.Is(state.Claim) || state.Overdue(s.Engine.Now()):
		return nil, fault.New(fault.Conflict, fault.NotHolder, "the claim on handoff %s has ended, and its authority cannot be passed on", id).
			WithHints(fault.Run("githandoff", "resume", string(id)).Because("takes it again"))
	}
	return s.Engine.Verifier.Verify(ctx, home, state, opt)
}

// passedOn prepares a payload. If it carries on the authority of a held handoff, the log of the
// latter gets an entry first, before anything of the new one is written.
func (s *Handler) passedOn(ctx context.Context, em Request) (*lifecycle.Payload, error) {
	p, err := s.Successors.Payload(ctx, em.Home, em.Envelope, em.Authority, em.Asked, em.Seal)
	if err != nil || p.Record.Token == "" || em.Authority.Above == nil {
		return p, err
	}
	err = s.delegate(ctx, em.Authority.Above.State().ID, p.Record.ID)
	if err != nil && !em.Asked && s.Successors.WarnUnauthorized(p.Record.ID, err) {
		return s.Successors.Payload(ctx, em.Home, em.Envelope, nil, false, em.Seal)
	}
	return p, err
}

func (s *Handler) delegate(ctx context.Context, parent, child handoff.ID) error {
	h, err := s.Claims.Get(parent)
	if err != nil {
		return err
	}
	if h == nil {
		return fault.New(fault.Conflict, fault.NotHolder, "the claim on handoff %s was lost", parent)
	}
	home, err := s.Workspace.Home(ctx, h.Home)
	if err != nil {
		return err
	}
	_, err = s.Engine.Delegate(ctx, home, h.Proof(), child)
	return err
}
