package lifecycle

import (
	"context"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/refs"
)

// Offer makes the handoff present at its home: the inbox ref, and the entry that says so.
// LocalEdits are edits of this repository's own refs that belong to it. An id that was offered
// before is refused, unless the payload is the same: then Offer succeeds and changes
// nothing.
func (e *Engine) Offer(ctx context.Context, home Home, p *Payload, localEdits ...refs.Edit) (*State, error) {
	at := Place{Agent: p.Agent, ID: p.Record.ID}
	first, looked := true, false
	scout, ok := home.(Scout)
	known := !ok || !scout.LooksFirst(ctx, at.ID)
	return e.act(ctx, home, at, known, func(s *State, b *batch) error {
		b.tx.LocalEdits = localEdits
		if payloadLost(s, p) && !looked {
			// Inboxes are read before lanes: what landed in between is not lost.
			looked = true
			if err := home.Refresh(ctx, FetchSpec{Places: []Place{at}, Lanes: []handoff.ID{at.ID}}); err != nil {
				return err
			}
			now, err := e.Reader.Locate(ctx, home, at)
			if err != nil {
				return err
			}
			*s = *now
		}
		err := e.planOffer(ctx, s, b, p)
		if err == nil && len(b.order) == 0 && first && s.Receipt == nil {
			err = errOfferedBefore(s, home) // says a copy that may be old: look again
		}
		if s.Phase() == Absent {
			b.after = &State{ID: s.ID, Agent: p.Agent, Tip: p.Commit.OID, Offer: &p.Record, Payload: p.Commit.OID, To: p.Record.To}
		}
		first = false
		return err
	})
}

func (e *Engine) planOffer(ctx context.Context, s *State, b *batch, p *Payload) error {
	mine := s.Offer != nil && s.Payload == p.Commit.OID
	switch {
	case mine && !payloadLost(s, p):
		return nil // there already, or over
	case !mine && len(s.Entries) > 0:
		return errOfferedBefore(s, b.home)
	case p.Record.Key != e.Author.Signer.KID():
		// Worktrees share an outbox. Who made the payload signs the entry as well.
		return fault.New(fault.Conflict, fault.NotSender, "handoff %s waits for %s, who sent it: only its key can offer it", p.Record.ID, p.Record.Actor).
			WithHints(fault.Run("githandoff", "--as", p.Record.Actor, "sync").Because("offers it with that key, if it is here"))
	}
	agent := p.Agent
	if mine {
		agent = s.To // it may have been routed since
	}
	// A ref that the lane does not know was left by a step that was cut off.
	if s.tips[agent] != p.Commit.OID {
		b.move(b.home.Namespace().Inbox(agent, p.Record.ID), s.tips[agent], p.Commit)
		if err := b.keepWork(ctx, agent, p.Record.ID, p.Envelope.Work); err != nil {
			return err
		}
		b.tx.Objects = append(b.tx.Objects, p.Objects...)
	}
	return b.entry(ctx, p.Record, p.Commit.OID, s.LaneTip)
}
