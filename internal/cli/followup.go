package cli

import (
	"context"

	"githandoff/internal/app/emit"
	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/receipt"
	"githandoff/internal/successor"
	"githandoff/internal/work"
	"githandoff/internal/workspace"
)

// followUpResult is the key of the receipt's results that names what went back.
const followUpResult = "follow_up"

// followUp sends the state of this work tree to the sender of the handoff that is held, in a
// handoff of its own, and names that one in the results of step. It is sent before the
// receipt is written: after the receipt nobody holds the handoff. Repeated, it has the same
// id. Without --snapshot nothing is sent.
func (c *finishCommand) followUp(ctx context.Context, d *workspace.Workspace, h *work.Claim, step *work.Step) (handoff.ID, error) {
	if !c.snap.take {
		return "", nil
	}
	home, err := d.Home(ctx, h.Home)
	if err != nil {
		return "", err
	}
	s, err := c.standing(ctx, d, home, h)
	if err != nil || s == nil {
		return "", err
	}
	v, err := d.Engine.Verifier.Verify(ctx, home, s, lifecycle.Options{AllowExpired: true, Lapsed: true})
	if err != nil {
		return "", err
	}
	id := handoff.DeriveID(s.Claim.At, string(h.ID), s.Claim.Nonce, followUpResult)
	switch _, err := d.Find(ctx, string(id), workspace.Never); {
	case fault.CodeOf(err) == fault.NotFound:
		if err := c.sendBack(ctx, d, home, v, id); err != nil {
			return "", err
		}
	case err != nil:
		return "", err
	}
	results := receipt.DecodeResults(step.Data)
	if results == nil {
		results = receipt.Results{}
	}
	results[followUpResult] = string(id)
	step.Data, err = results.Encode()
	return id, err
}

// standing is the state of the claimed handoff, nil if it has a receipt or if the claim was
// lost: then nothing is sent, and the step itself says so.
func (c *finishCommand) standing(ctx context.Context, d *workspace.Workspace, home lifecycle.Home, h *work.Claim) (*lifecycle.State, error) {
	p := h.Proof().Place
	if err := home.Refresh(ctx, crossrepo.WholeHandoff(p)); err != nil && fault.CodeOf(err) != fault.Unavailable {
		return nil, err
	}
	s, err := d.Engine.Reader.Load(ctx, home, p)
	switch {
	case err != nil:
		return nil, err
	case s.Receipt != nil || s.Claim == nil || !h.Mine(s.Claim.Nonce):
		return nil, nil
	}
	return s, nil
}

// sendBack sends the handoff. If its hub is down it is kept, as the receipt will be.
func (c *finishCommand) sendBack(ctx context.Context, d *workspace.Workspace, home lifecycle.Home, v *lifecycle.Verified, id handoff.ID) error {
	from := v.Envelope()
	to := from.Source.Agent
	draft := &handoff.Envelope{
		Task: from.Task, Status: handoff.StatusComplete, Summary: c.summary,
		Goal: "Look at the state of what was acknowledged: " + successor.FirstLine(from.Goal, from.Summary),
	}
	send := senderOf(c.app, d)
	send.Snapshot = c.snap.taker(c.app, d)
	o := &emit.Options{To: to, Here: true, ID: id, Parent: string(from.ID), TTL: lifecycle.DefaultTTL, Seal: v.Sealed(), Wanted: emit.Wanted{None: true}}
	if alias := d.AliasOf(home); alias != "" {
		o.To += "@" + alias
	}
	done, err := send.Send(ctx, draft, o)
	if done != nil && fault.CodeOf(err) == fault.Unavailable {
		c.Warn(err)
		return nil
	}
	return err
}
