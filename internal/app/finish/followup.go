package finish

import (
	"context"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/receipt"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/successor"
	"githandoff/internal/work"
	"githandoff/internal/workspace"
)

// followUpResult is the key of the reply in the receipt's results.
const followUpResult = "follow_up"

// Reply is a handoff to the sender of one about to be acknowledged.
type Reply struct {
	Draft  *handoff.Envelope
	To     string // target of the reply
	ID     handoff.ID
	Parent handoff.ID
	Seal   bool
}

// followUp sends a handoff to the sender of the held one, and names it in the results of step. It
// is sent before the receipt is written: after the receipt nobody holds the handoff. Repeated, it
// has the same id.
func (f *Handler) followUp(ctx context.Context, h *work.Claim, step *work.Step, summary string) (handoff.ID, error) {
	home, err := f.Workspace.Home(ctx, h.Home)
	if err != nil {
		return "", err
	}
	s, err := f.stateInForce(ctx, home, h)
	if err != nil || s == nil {
		return "", err
	}
	v, err := f.Engine.Verifier.Verify(ctx, home, s, lifecycle.Options{AllowExpired: true, Lapsed: true})
	if err != nil {
		return "", err
	}
	id, sent, err := f.replyID(ctx, h, s.Claim)
	if err == nil && !sent {
		err = f.Reply(ctx, f.replyTo(home, v, id, summary))
		if fault.Is(err, fault.Replayed) {
			err = fault.As(err).WithHints(withoutReply(h.ID))
		}
	}
	if err != nil {
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

// replyID returns the id of the reply, and whether the reply was sent before. Versions before
// 2026-11-29 derived the id without the secret of the clone. A handoff of somebody else may have
// that id, and does not count.
func (f *Handler) replyID(ctx context.Context, h *work.Claim, claim *record.Record) (id handoff.ID, sent bool, err error) {
	id = handoff.DeriveID(claim.At, string(h.ID), claim.Nonce, followUpResult)
	if sent, err = f.sentBefore(ctx, h, id); sent || err != nil && !fault.Is(err, fault.Replayed) {
		return id, sent, err
	}
	if id, err = f.Successors.ID(h.ID, claim, followUpResult); err != nil {
		return "", false, err
	}
	sent, err = f.sentBefore(ctx, h, id)
	return id, sent, err
}

// sentBefore reports whether the reply with this id was sent, or waits for its hub. If somebody
// else knows the secret of this clone, a handoff of theirs may have the id: the receipt must not name
// that one.
func (f *Handler) sentBefore(ctx context.Context, h *work.Claim, id handoff.ID) (bool, error) {
	found, err := f.Workspace.Find(ctx, string(id), workspace.Never)
	if fault.CodeOf(err) == fault.NotFound {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	offer := found.State.Offer
	if offer == nil && found.Item != nil && found.Item.Kind == refs.KindOutbox {
		offer = found.Item.Record
	}
	switch {
	case offer == nil:
		return false, nil
	case offer.Key == f.Engine.Author.Signer.KID() && offer.Parent == h.ID:
		return true, nil
	}
	return false, fault.New(fault.Conflict, fault.Replayed, "the handoff %s, which would go back to the sender, was offered by %s before", id, offer.Actor).
		WithHints(withoutReply(h.ID))
}

func withoutReply(id handoff.ID) fault.Hint {
	return fault.Run("githandoff", "ack", string(id)).Because("acknowledges without a snapshot")
}

// stateInForce returns the state of the claimed handoff, nil if it has a receipt or if the claim was
// lost: then nothing is sent, and the step itself says so.
func (f *Handler) stateInForce(ctx context.Context, home lifecycle.Home, h *work.Claim) (*lifecycle.State, error) {
	p := h.Place()
	if err := home.Refresh(ctx, lifecycle.WholeHandoffs(p)); err != nil && fault.CodeOf(err) != fault.Unavailable {
		return nil, err
	}
	s, err := f.Engine.Reader.Load(ctx, home, p)
	switch {
	case err != nil:
		return nil, err
	case !h.InForce(s):
		return nil, nil
	}
	return s, nil
}

func (f *Handler) replyTo(home lifecycle.Home, v *lifecycle.Verified, id handoff.ID, summary string) *Reply {
	from := v.Envelope()
	r := &Reply{To: from.Source.Agent, ID: id, Parent: from.ID, Seal: v.Sealed(), Draft: &handoff.Envelope{
		Task: from.Task, Status: handoff.StatusComplete, Summary: summary,
		Goal: "Look at the state of what was acknowledged: " + successor.FirstLine(from.Goal, from.Summary),
	}}
	if alias := f.Workspace.AliasOf(home); alias != "" {
		r.To += "@" + alias
	}
	return r
}
