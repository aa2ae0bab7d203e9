package outbox

import (
	"cmp"
	"context"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
)

// DeliverChild is like [Outbox.Deliver] for a handoff whose id may be known already: the receipt of a
// reroute names the child before its home has it. If somebody else offered another one there under this
// id, the child goes on under a new one, and p becomes the payload with that id.
func (o *Outbox) DeliverChild(ctx context.Context, home lifecycle.Home, p *lifecycle.Payload) error {
	taken := o.Deliver(ctx, home, p)
	if !fault.Is(taken, fault.Replayed) {
		return taken
	}
	again, err := o.renamed(ctx, home, p)
	if err != nil || again == nil {
		return cmp.Or(err, taken)
	}
	o.Workspace.Warn(fault.New(fault.Conflict, fault.Replayed, "%w: %s goes on as %s", taken, p.Record.ID, again.Record.ID))
	*p = *again
	return o.Deliver(ctx, home, p)
}

// renamed puts a child into the outbox under a new id, in the place of the former one; nil if it
// cannot. A token is for one id, a sealed text may be closed to its sender, and of an offer by the key
// of the child itself nobody can tell which of the two is meant.
func (o *Outbox) renamed(ctx context.Context, home lifecycle.Home, p *lifecycle.Payload) (*lifecycle.Payload, error) {
	author := o.Engine.Author
	if p.Record.Parent == "" || p.Record.Token != "" || p.Sealed || author.Signer == nil || p.Record.Key != author.Signer.KID() {
		return nil, nil
	}
	at := lifecycle.Place{Agent: p.Agent, ID: p.Record.ID}
	s, err := o.Engine.Reader.Load(ctx, home, at)
	if err != nil || lifecycle.OfferedBy(s, p.Record.Key) {
		return nil, err
	}
	env := *p.Envelope
	if env.ID, err = handoff.NewID(o.Engine.Now().UTC(), author.Random); err != nil {
		return nil, err
	}
	if env.Salt, err = handoff.RandomHex(author.Random); err != nil {
		return nil, err
	}
	again, err := author.Prepare(ctx, home, &env, p.Record.Principal)
	if err != nil {
		return nil, err
	}
	edits := append(again.KeptWork(), refs.Edit{Ref: refs.Outbox(again.Agent, env.ID), New: again.Commit.OID},
		refs.Edit{Ref: refs.Outbox(at.Agent, at.ID), Old: p.Commit.OID})
	for _, e := range p.KeptWork() {
		edits = append(edits, refs.Edit{Ref: e.Ref, Old: e.New})
	}
	return again, o.Engine.Repo.Apply(ctx, refs.Transaction{Edits: edits, Objects: again.Objects})
}
