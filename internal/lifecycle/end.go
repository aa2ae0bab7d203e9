package lifecycle

import (
	"context"
	"errors"
	"slices"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
)

// Offer makes the handoff present at its home: the inbox ref, and its lane entry. LocalEdits
// are edits of this repository's own refs, made along with it. An id offered before is refused,
// unless the payload is the same: then Offer succeeds and changes nothing.
func (e *Engine) Offer(ctx context.Context, home Home, p *Payload, localEdits ...refs.Edit) (*State, error) {
	at := Place{Agent: p.Agent, ID: p.Record.ID}
	from := fromCopies
	if hub, ok := home.(RemoteHome); ok && hub.LooksFirst(ctx, at.ID) {
		from = afterFetch
	}
	looked := false
	return e.act(ctx, home, at, from, func(s *State, b *batch) error {
		b.tx.LocalEdits = localEdits
		if payloadLost(s, p) && !looked {
			// Inboxes are read before lanes: a payload that landed in between is not lost.
			looked = true
			if err := home.Refresh(ctx, WholeHandoffs(at)); err != nil {
				return err
			}
			now, err := e.Reader.LoadOrFetch(ctx, home, at)
			if err != nil {
				return err
			}
			*s = *now
		}
		err := e.planOffer(ctx, s, b, p)
		if err == nil && len(b.lanes) == 0 && s.Receipt == nil && !home.LaneIsFresh(at.ID) {
			err = errOfferedBefore(s, home) // the copy may be old: this refusal makes act fetch
		}
		if s.Phase() == Absent {
			b.after = &State{ID: s.ID, Agent: p.Agent, Tip: p.Commit.OID, Offer: &p.Record, Payload: p.Commit.OID, To: p.Record.To}
		}
		return err
	})
}

func (e *Engine) planOffer(ctx context.Context, s *State, b *batch, p *Payload) error {
	mine := s.Offer != nil && s.Payload == p.Commit.OID
	early := earlyOffer(s, p)
	switch {
	case fault.Is(s.chainErr, fault.MissingObject):
		return s.chainErr // without the missing object, nobody can tell whether the handoff was offered
	case mine && !payloadLost(s, p):
		return nil // the handoff was offered already, or has ended
	case !mine && early != nil:
		return denied(fault.NotYetValid, "handoff %s: %w", s.ID, early)
	case !mine && len(s.Entries) > 0:
		return errOfferedBefore(s, b.home)
	case p.Record.Key != e.Author.Signer.KID():
		// Worktrees share an outbox. The signer of the payload signs the entry as well.
		return fault.New(fault.Conflict, fault.NotSender, "handoff %s waits for %s, who sent it: only its key can offer it", p.Record.ID, p.Record.Actor).
			WithHints(fault.Run("githandoff", "--as", p.Record.Actor, "sync").Because("offers it with that key, if it is here"))
	}
	if err := p.checkMail(e.Keys); err != nil {
		return err
	}
	agent := p.Agent
	if mine {
		agent = s.To // the handoff may have been routed since its offer
	}
	// A ref unknown to the lane was left by an interrupted step.
	if s.tips[agent] != p.Commit.OID {
		b.move(b.home.Namespace().Inbox(agent, p.Record.ID), s.tips[agent], p.Commit)
		if err := b.keepWork(ctx, agent, p.Record.ID, p.Envelope.Work); err != nil {
			return err
		}
		b.tx.Objects = append(b.tx.Objects, p.Objects...)
	}
	// The entry is the payload's record, byte for byte.
	return b.entry(ctx, p.mail, p.Record, p.Commit.OID, s.LaneTip)
}

// earlyOffer says why an offer by the key of a payload does not count yet; nil if there is none. It
// may be the payload's own, made before the clock here was set back: then no other handoff has the
// id.
func earlyOffer(s *State, p *Payload) error {
	for _, e := range s.Entries {
		if r := e.Record(); e.Early && r.Event == record.Offered && r.Key == p.Record.Key {
			return e.Dispute
		}
	}
	return nil
}

// OfferedBy reports whether a key signed an offer in the lane, also one that does not count here: it may
// count for others.
func OfferedBy(s *State, kid sign.KID) bool {
	return slices.ContainsFunc(s.Entries, func(e *Entry) bool {
		return e.Record().Event == record.Offered && e.signature != nil && e.signature.err == nil && e.signature.key.KID() == kid
	})
}

// Route moves an undecided handoff into the inbox of an agent; the payload stays as its sender
// signed it. Only a root key decides. Data goes into the record and its lane entry. If the
// handoff is in the inbox already, Route succeeds; if it went to another agent, the result is a
// conflict naming that agent.
func (e *Engine) Route(ctx context.Context, home Home, p Place, to, data string) (*State, error) {
	return e.act(ctx, home, p, afterFetch, func(s *State, b *batch) error {
		if err := s.Err(); err != nil {
			return err
		}
		switch s.To {
		case handoff.Nobody:
		case to:
			return nil
		default:
			return s.ErrRouted()
		}
		v, err := e.Verifier.Verify(ctx, home, s, Options{AllowExpired: true})
		if err != nil {
			return err
		}
		if v.token != nil && v.token.Leaf().Actor.Subject != to {
			return denied(fault.AudienceMismatch, "the token of handoff %s is for %s, not for %s", s.ID, v.token.Leaf().Actor.Subject, to).
				WithHints(fault.Run("githandoff", "reroute", string(s.ID), "--to", to).Because("sends it on; its principal issues another token"))
		}
		if err := e.Author.MayDecide(); err != nil {
			return err
		}
		return b.take(ctx, s, record.Routed, func(r *record.Record) { r.To, r.Data = to, data })
	})
}

// ErrRouted returns the conflict naming the agent that has the handoff.
func (s *State) ErrRouted() error {
	return fault.New(fault.Conflict, fault.Routed, "handoff %s is already with %s", s.ID, s.To).
		WithHints(fault.See("reroute").Because("sends it on to another agent"))
}

// Outcome is the content of a receipt.
type Outcome struct {
	Data string // results as one line of JSON
	Next handoff.ID
	// SkillsMissing are mandatory skills not recorded as invoked in the payload: printable
	// ASCII, separated by ", ".
	SkillsMissing string
	// Sealed means the handoff is sealed, so its receipt has neither Data nor SkillsMissing.
	Sealed     bool
	LocalEdits []refs.Edit // edits of this repository's own refs, made in the same transaction
	Force      bool        // withdraw the handoff even if a key unknown here may have ended it
	// Child is offered at the same home in the same transaction: the return handoff of a
	// failure, or a reroute within the home.
	Child *Payload
}

// Acknowledge ends a held handoff: the work was done. If it was acknowledged before,
// Acknowledge succeeds again and repeated is true.
func (e *Engine) Acknowledge(ctx context.Context, home Home, h ClaimProof, o Outcome) (s *State, repeated bool, err error) {
	s, err = e.act(ctx, home, h.Place, fromCopies, func(s *State, b *batch) error {
		if s.Receipt != nil && s.Receipt.Event == record.Acknowledged && s.Receipt.Claim == h.Nonce && s.Receipt.Key == e.Author.Signer.KID() {
			repeated = true
			return b.dropAll(ctx, s, "")
		}
		repeated = false
		if err := e.Author.checkHeld(s, h); err != nil {
			return err
		}
		if err := e.Verifier.checkNotRevoked(ctx, home, s); err != nil {
			return err
		}
		return e.planEnd(ctx, b, s, record.Acknowledged, o)
	})
	e.Verifier.Used.note(s)
	return s, repeated, err
}

// Fail ends a handoff without success: by its holder or, without a claim that its home has seen, by a recipient
// who rejects the offer.
func (e *Engine) Fail(ctx context.Context, home Home, h ClaimProof, o Outcome) (*State, error) {
	rejects := false
	s, err := e.act(ctx, home, h.Place, fromCopies, func(s *State, b *batch) error {
		rejects = h.Nonce == "" && s.Claim == nil && s.Receipt == nil
		err := s.Err()
		if !rejects {
			err = e.Author.checkHeld(s, h)
		}
		if errors.Is(err, ErrUnseen) {
			rejects, err = true, nil
		}
		if err != nil {
			return err
		}
		return e.planEnd(ctx, b, s, record.Failed, o)
	})
	if !rejects { // a rejected offer was not verified: its token may belong to another handoff
		e.Verifier.Used.note(s)
	}
	return s, err
}

// Withdraw ends a handoff with the given receipt (rerouted, revoked, expired). The table of
// steps says who may. An ended handoff can still be revoked, once, if it carried a token: for
// the sake of the tokens below it.
func (e *Engine) Withdraw(ctx context.Context, home Home, p Place, event record.Event, o Outcome) (*State, error) {
	from := afterFetch
	if home.LaneIsFresh(p.ID) {
		from = fromCopies
	}
	s, err := e.act(ctx, home, p, from, func(s *State, b *batch) error {
		switch s.Phase() {
		case Disputed:
			if err := e.Author.checkDecided(s); err != nil && !o.Force {
				return err
			}
			now, err := e.releaseElsewhere(ctx, home, p)
			if err != nil {
				return err
			}
			*s = *now
		case Ended:
			if err := checkRevocable(s, event); err != nil {
				return err
			}
		}
		return e.planEnd(ctx, b, s, event, o)
	})
	e.Verifier.Used.note(s)
	return s, err
}

func (e *Engine) planEnd(ctx context.Context, b *batch, s *State, event record.Event, o Outcome) error {
	if s.Offer == nil {
		return s.Err()
	}
	rec, err := e.Author.draft(s, event, func(r *record.Record) {
		r.Next = o.Next
		if !o.Sealed {
			r.Data, r.SkillsMissing = o.Data, o.SkillsMissing
		}
		r.Counts, r.Status = s.Offer.Counts, s.Offer.Status
		r.Parent, r.Principal = s.Offer.Parent, s.Offer.Principal
		switch {
		case s.elsewhere != nil:
			r.Claim = "" // others know another claim
		case s.Claim != nil && s.Receipt == nil:
			r.Duration = record.Duration(r.At.Sub(s.Claim.At))
		}
	})
	if err != nil {
		if s.Claim != nil && s.Receipt == nil && fault.Is(err, fault.UntrustedKey) {
			return fault.As(errHeld(s)).WithHints(e.Author.HowToBreak(s))
		}
		return err
	}
	if err := b.build(ctx, s, rec); err != nil {
		return err
	}
	b.tx.LocalEdits = o.LocalEdits
	if o.Child == nil {
		return nil
	}
	child, err := e.Reader.Load(ctx, b.home, Place{Agent: o.Child.Agent, ID: o.Child.Record.ID})
	if err != nil {
		return err
	}
	return e.planOffer(ctx, child, b, o.Child)
}

// Sweep deletes the inbox refs of those of some handoffs that have ended, in one transaction: a killed git left
// them, or they came back with a backup. Anybody may.
func (e *Engine) Sweep(ctx context.Context, home Home, places ...Place) error {
	r := &rounds{home: home, spec: WholeHandoffs(places...)}
	for {
		b := &batch{engine: e, home: home}
		for _, p := range places {
			s, err := e.Reader.LoadOrFetch(ctx, home, p)
			if err == nil && s.Phase() == Ended {
				err = b.dropAll(ctx, s, "")
			}
			if err != nil {
				return err
			}
		}
		t := b.transaction()
		if len(t.Edits) == 0 {
			return nil
		}
		_, err := e.apply(ctx, home, t)
		stale, ok := errors.AsType[*refs.StaleError](err)
		if !ok {
			return err
		}
		if err := r.retryMoved(ctx, t.Edits, stale); err != nil {
			return err
		}
	}
}
