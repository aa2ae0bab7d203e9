package workspace

import (
	"context"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/sign"
)

// As is the same workspace with another key: what a person signs at an agent's place
// of work. The agent stays the source.
func (d *Workspace) As(signer sign.Signer, actor string) *Workspace {
	engine := *d.Engine
	engine.Signer, engine.Actor = signer, actor
	other := *d
	other.Engine = &engine
	return &other
}

// HeldToken returns a handoff whose authority this worktree can pass on: it
// holds it, by a lease that is not over, and the token is good now. Nil where
// it holds nothing of that id, or what it holds gives none. The home is asked;
// one that is down is believed as it was last seen.
func (d *Workspace) HeldToken(ctx context.Context, id handoff.ID) (*lifecycle.Verified, error) {
	if id == "" {
		return nil, nil
	}
	h, err := d.Claims.Get(id)
	if err != nil || h == nil || h.Ended || h.Token == "" {
		return nil, err
	}
	home, err := d.Home(ctx, h.Home)
	if err != nil {
		return nil, err
	}
	opt := lifecycle.Options{AllowExpired: true}
	switch err := home.Refresh(ctx, crossrepo.WantAll(h.Holding().Place)); {
	case fault.CodeOf(err) == fault.Unavailable:
		opt.AsKnown = true
	case err != nil:
		return nil, err
	}
	s, err := d.Engine.Load(ctx, home, h.Holding().Place)
	if err != nil {
		return nil, err
	}
	switch {
	case s.Receipt != nil:
		return nil, s.Verdict()
	case s.Claim == nil || !h.Mine(s.Claim.Nonce) || s.Overdue(d.Engine.Now()):
		return nil, fault.New(fault.Conflict, fault.NotHolder, "the claim on handoff %s is over, and with it the authority to pass on", id).
			WithHints(fault.Run("githandoff", "resume", id.Short()).Because("takes it again"))
	}
	return d.Engine.Verify(ctx, home, s, opt)
}

// authorized prepares a payload, sealed for its receiver if what it follows from
// is or that was asked for, that carries authority, if that is given. What
// was asked for is refused where it cannot be; what only follows from what is
// held goes without, and says so.
func (d *Workspace) authorized(ctx context.Context, home lifecycle.Home, env *handoff.Envelope, a *lifecycle.Authority, asked, sealed bool) (*lifecycle.Payload, error) {
	engine := d.Engine
	if sealed {
		engine = engine.Sealing()
	}
	if a != nil {
		p, err := engine.PrepareFor(ctx, home, env, *a)
		if err == nil || asked || !d.without(env.ID, err) {
			return p, err
		}
	}
	return engine.Prepare(ctx, home, env, d.Principal())
}

// passedOn prepares a payload, and where it carries on the authority of a handoff
// that is held here, lets that one's log say so first. Nothing of the new one is
// written anywhere before.
func (d *Workspace) passedOn(ctx context.Context, em Emission) (*lifecycle.Payload, error) {
	p, err := d.authorized(ctx, em.Home, em.Envelope, em.Authority, em.Asked, em.Seal)
	if err != nil || p.Record.Token == "" || em.Authority.Above == nil {
		return p, err
	}
	err = d.delegate(ctx, em.Authority.Above.State().ID, p.Record.ID)
	if err != nil && !em.Asked && d.without(p.Record.ID, err) {
		return d.authorized(ctx, em.Home, em.Envelope, nil, false, em.Seal)
	}
	return p, err
}

func (d *Workspace) delegate(ctx context.Context, parent, child handoff.ID) error {
	h, err := d.Claims.Get(parent)
	if err != nil {
		return err
	}
	if h == nil {
		return fault.New(fault.Conflict, fault.NotHolder, "the claim on handoff %s was lost", parent)
	}
	home, err := d.Home(ctx, h.Home)
	if err != nil {
		return err
	}
	_, err = d.Engine.Delegate(ctx, home, h.Holding(), child)
	return err
}

// without warns that a handoff goes without the authority that it could not be
// given; false if the error is about something else.
func (d *Workspace) without(id handoff.ID, err error) bool {
	switch f := fault.As(err); fault.CodeOf(err) {
	case fault.Denied, fault.Invalid, fault.Usage, fault.Conflict:
		d.Warn(fault.New(f.Code, f.Reason, "handoff %s goes without authority: %w", id.Short(), err))
		return true
	}
	return false
}

// heir is the authority of a child of v: a token that follows, if this worktree
// holds v, or a first one by a root key of its principal. Nil where v has none.
func (d *Workspace) heir(v *lifecycle.Verified, held bool) (*lifecycle.Authority, error) {
	token := v.Token()
	switch {
	case v.Lapse() != nil:
		return nil, v.Lapse()
	case token == nil:
		return nil, nil
	case held:
		return &lifecycle.Authority{Above: v}, nil
	case d.Engine.SpeaksFor(token.Principal()):
		again := v.Again()
		return &again, nil
	}
	id := v.Envelope().ID
	return nil, fault.New(fault.Denied, fault.IssuerNotHolder, "handoff %s carries authority of %s, which %s cannot pass on", id, token.Principal(), d.Engine.Actor).
		WithHints(fault.Fact("ask %s, who lent it, to reroute it", token.Principal()),
			fault.Run("githandoff", "revoke", id.Short()).Because("takes it back; then emit again with --parent"))
}
