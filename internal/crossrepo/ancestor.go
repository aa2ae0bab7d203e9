package crossrepo

import (
	"context"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
)

// Ancestor returns the content of the handoff that a new one follows from:
// open, sent, or kept in the archive. Of one that is over and erased only what
// its log entries say is left.
func (d *Desk) Ancestor(ctx context.Context, arg string) (*handoff.Envelope, error) {
	f, err := d.Find(ctx, arg)
	if err != nil {
		return nil, err
	}
	if len(f.State.Chain) > 0 && f.State.Receipt == nil {
		v, err := d.Engine.Verify(ctx, f.Home, f.State, lifecycle.Options{AllowExpired: true})
		if err != nil {
			return nil, err
		}
		return v.Envelope(), nil
	}
	to := f.State.To
	if f.State.Offer != nil {
		to = f.State.Offer.To // what was sent stays there when it is routed
	}
	for _, ref := range []string{refs.Archive(f.State.ID), refs.Sent(to, f.State.ID), refs.Outbox(to, f.State.ID)} {
		p, err := d.Engine.Reload(ctx, ref)
		if err == nil {
			return p.Envelope, nil
		}
		if fault.CodeOf(err) != fault.NotFound {
			return nil, err
		}
	}
	if f.State.Offer == nil {
		return nil, f.State.Verdict()
	}
	r := f.State.Offer
	return &handoff.Envelope{ID: f.State.ID, Task: r.Task, Source: handoff.Source{Agent: r.From}}, nil
}

// ChainLength counts a handoff and its ancestors, at most handoff.MaxChain: by
// the lineage as far as it reaches, then by what the log says of the oldest one
// there.
func (d *Desk) ChainLength(ctx context.Context, env *handoff.Envelope) (int, error) {
	n, oldest := 1, env.Parent
	if len(env.Lineage) > 0 {
		n, oldest = 1+len(env.Lineage), env.Lineage[0].ID
		f, err := d.Find(ctx, string(oldest))
		if err != nil || f.State.Offer == nil {
			return n, ignoreNotFound(err)
		}
		oldest = f.State.Offer.Parent
	}
	for ; oldest != "" && n < handoff.MaxChain; n++ {
		f, err := d.Find(ctx, string(oldest))
		if err != nil || f.State.Offer == nil {
			return n + 1, ignoreNotFound(err)
		}
		oldest = f.State.Offer.Parent
	}
	return n, nil
}

// ignoreNotFound: what happened at a home that is not known here cannot be
// counted.
func ignoreNotFound(err error) error {
	if fault.CodeOf(err) == fault.NotFound {
		return nil
	}
	return err
}
