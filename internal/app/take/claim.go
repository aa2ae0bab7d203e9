package take

import (
	"context"
	"errors"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/work"
	"githandoff/internal/workspace"
)

// peek reads one handoff and claims nothing. The caller has fetched it.
func (t *search) peek(ctx context.Context, home lifecycle.Home, p lifecycle.Place) (*Result, error) {
	s, err := t.Engine.Reader.Load(ctx, home, p)
	if err != nil {
		return nil, err
	}
	v, err := t.Engine.Verifier.Verify(ctx, home, s, lifecycle.Options{AllowExpired: t.AllowExpired})
	if err == nil {
		err = t.checkFit(v)
	}
	return &Result{Verified: v, Home: home}, err
}

// attempt claims an offer. If others were faster, the hub is asked again, and the look brings
// everything for the next choice. In a crowd the offer is given up instead. looked reports whether the
// next choice needs no look: the hub was asked again, or the home is this repository.
func (t *choice) attempt(ctx context.Context, it *workspace.Item) (g *Result, looked bool, err error) {
	req := lifecycle.ClaimRequest{Place: it.Place}
	hub, ok := it.Home.(*crossrepo.Hub)
	switch {
	case !ok:
		g, err = t.claim(ctx, it.Home, req)
		return g, true, err
	case t.crowded: // the next offer costs less than to ask who was faster
		req.NoRetry = true
		g, err = t.claim(ctx, hub, req)
	default:
		stop := hub.FetchAlong(t.inboxesAndLog())
		g, err = t.claim(ctx, hub, req)
		looked = stop()
	}
	switch {
	case errors.Is(err, crossrepo.ErrOvertaken): // the copy is of an offer that others took
		err = errors.Join(err, refs.ApplyUnlessMoved(ctx, t.Engine.Repo, []refs.Edit{{Ref: it.Ref, Old: it.Commit}}))
	case fault.CodeOf(err) == fault.Conflict:
		err = errors.Join(err, t.forgetLost(ctx, it))
	}
	return g, looked, err
}

// claim claims one handoff, which the caller has refreshed from its home. req has the place, and
// the options of the caller.
func (t *search) claim(ctx context.Context, home lifecycle.Home, req lifecycle.ClaimRequest) (*Result, error) {
	if t.Peek {
		return t.peek(ctx, home, req.Place)
	}
	held, err := t.Claims.Get(req.Place.ID)
	if err != nil {
		return nil, err
	}
	if held != nil && held.Ended {
		held = nil
	}
	c := &claiming{t, home, req, held}
	if err := c.check(ctx); err != nil {
		return nil, err
	}
	shown := held != nil && held.Printed
	v, err := c.take(ctx)
	if err == nil && v.State().Overdue(t.Engine.Now()) {
		v, err = c.renew(ctx, v)
	}
	if err == nil {
		err = c.follow(ctx, v.State())
	}
	if err != nil {
		return nil, err
	}
	t.Notes.Add(v.Envelope(), v.Sealed(), home, v.State().Claim)
	t.Notes.Try(ctx)
	return &Result{Verified: v, Home: home, Claim: c.held, Again: shown && c.held.Printed}, nil
}

// claiming is a claim on its way to its home.
type claiming struct {
	*search
	home lifecycle.Home
	req  lifecycle.ClaimRequest
	held *work.Claim // the record here of an earlier claim in force, or of this one once take made it; nil for none
}

// errHeldHere refuses a handoff that this worktree holds if another one is wanted. It looks free
// once its lease has long been over, or if its hub lost the commit of the claim.
var errHeldHere = errors.New("this worktree holds it already")

// check refuses a claim that is not wanted, and one at a hub where nothing can end.
func (c *claiming) check(ctx context.Context) error {
	if c.Next && !c.req.ByID && c.held != nil && c.held.Printed {
		switch s, err := c.Engine.Reader.Load(ctx, c.home, c.req.Place); {
		case err != nil:
			return err
		case c.held.InForce(s):
			return errHeldHere
		}
	}
	if hub, ok := c.home.(*crossrepo.Hub); ok && c.held == nil {
		return hub.CheckDeletes()
	}
	return nil
}

// take records the claim and makes it. If a claim in force is recorded, nothing changes. The record of
// a claim that the hub refused is dropped.
func (c *claiming) take(ctx context.Context) (*lifecycle.Verified, error) {
	req := c.req
	req.Lease, req.AllowExpired, req.Fits, req.Nonces = c.Lease, c.AllowExpired, c.checkFit, c.held.Nonces()
	req.Record = func(r *record.Record) error {
		return c.Claims.Update(ctx, req.Place.ID, func(stored *work.Claim) error {
			next := work.ClaimOf(req.Place, r)
			if stored.Held() {
				next.Earlier = append(stored.Earlier, stored.Nonce)
			}
			next.Pending = stored.Pending
			c.held, *stored = next, *next
			return nil
		})
	}
	v, err := c.Engine.Claim(ctx, c.home, req)
	if errors.Is(err, crossrepo.ErrGuard) || errors.Is(err, refs.ErrRefused) {
		if ferr := c.forgetRefused(ctx, req.Place.ID); ferr != nil { // the record would stand in the way of a push
			err = errors.Join(err, ferr)
		}
	}
	return v, err
}

// renew renews the lease of an overdue claim of ours, if it still may: a handoff that is shown to
// an agent as held must be held.
func (c *claiming) renew(ctx context.Context, v *lifecycle.Verified) (*lifecycle.Verified, error) {
	s := v.State()
	holding := lifecycle.ClaimProof{Place: lifecycle.Place{Agent: s.Agent, ID: s.ID}, Nonce: s.Claim.Nonce}
	renewed, err := c.Engine.Renew(ctx, c.home, holding, lifecycle.Renewal{Lease: c.Lease})
	switch code := fault.CodeOf(err); {
	case code == fault.Unavailable, code == fault.Denied, code == fault.Policy:
		c.Workspace.Warn(fault.New(code, fault.As(err).Reason, "the lease of handoff %s ended at %s and is not renewed: %w", s.ID, handoff.FormatTime(s.Lease), err))
		return v, nil
	case err != nil:
		return nil, err
	case !c.held.InForce(renewed):
		return nil, fault.New(fault.Conflict, fault.NotHolder, "the claim on handoff %s was lost", s.ID)
	}
	if v, err = c.Engine.Verifier.Verify(ctx, c.home, renewed, lifecycle.Options{AllowExpired: true}); err != nil {
		return nil, lifecycle.ToRecipient(err, s.ID)
	}
	return v, c.checkFit(v)
}

// follow brings the record in line with the claim in force: an earlier claim arrived after all, or the
// lease was renewed.
func (c *claiming) follow(ctx context.Context, s *lifecycle.State) error {
	if c.held.Nonce == s.Claim.Nonce && c.held.Lease.Equal(s.Lease) {
		return nil
	}
	nonce, at := s.Claim.Nonce, s.Chain[len(s.Chain)-1].Commit.Record.At
	c.held.Nonce, c.held.At, c.held.Lease = nonce, at, s.Lease
	return c.Claims.Update(ctx, c.held.ID, func(stored *work.Claim) error {
		stored.Nonce, stored.At, stored.Lease = nonce, at, s.Lease
		return nil
	})
}
