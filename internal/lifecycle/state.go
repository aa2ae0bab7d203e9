package lifecycle

import (
	"context"
	"errors"
	"slices"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/record"
	"githandoff/internal/refs"
)

// Phase is where a handoff stands at its home.
type Phase string

// The phases. Unfinished is what a killed git can leave: an inbox ref whose
// lane entry is missing. The clone that took the step settles it (Intents).
const (
	Absent     Phase = "absent"
	Open       Phase = "offered"
	Held       Phase = "claimed"
	Ended      Phase = "ended"
	Disputed   Phase = "disputed"
	Unfinished Phase = "unfinished"
)

// State is what a home says about one handoff. Its entries were judged; its
// payload was not looked at.
type State struct {
	ID      handoff.ID
	Agent   string // inbox that it stands in; "" where none
	Tip     string // object id of the inbox ref; "" where none
	LaneTip string // object id of the lane; "" where none
	Chain   []Link // payload commit first
	Entries []*Entry

	Offer        *record.Record // of the entry that offered it
	Payload      string         // object id of the payload commit, as the lane names it
	To           string         // inbox that it belongs in by now
	Claim        *record.Record // of the entry that it is held by; nil while open
	Lease        time.Time      // end of the claim
	Receipt      *record.Record // of the entry that ended it
	Revoked      *record.Record // of the entry that revoked it, and with it its token
	Dispute      error          // first entry that does not count
	UndecidedEnd *Entry         // first one that would be a receipt, by a key that nobody here decided about
	Early        error          // first entry that does not count yet, or was overtaken

	newest time.Time        // of what counts
	named  []naming         // children that holders named
	links  map[string]*Link // of Chain, by nonce
}

// Link is one commit of an inbox ref.
type Link struct {
	OID    string
	Commit *record.Commit
}

// Phase says where the handoff stands.
func (s *State) Phase() Phase {
	switch {
	case s.Receipt != nil:
		return Ended
	case s.Dispute != nil:
		return Disputed
	case s.Offer == nil && (s.Tip == "" || s.Early != nil):
		return Absent
	case s.Offer == nil || s.unlogged() != nil:
		return Unfinished
	case s.Claim != nil:
		return Held
	default:
		return Open
	}
}

// unlogged returns the last commit of the inbox ref if the lane has no entry
// for it.
func (s *State) unlogged() *record.Record {
	if len(s.Chain) == 0 {
		return nil
	}
	last := s.Chain[len(s.Chain)-1].Commit.Record
	for _, e := range s.Entries {
		if e.Record().Nonce == last.Nonce {
			return nil
		}
	}
	return last
}

// counts reports whether the lane has an entry for a commit of the inbox ref that
// counts.
func (s *State) counts(r *record.Record) bool {
	return slices.ContainsFunc(s.Entries, func(e *Entry) bool { return e.Dispute == nil && e.Record().Nonce == r.Nonce })
}

// Took reports whether the holder of a claim has taken a step of this kind
// already: whoever repeats it did not hear so.
func (s *State) Took(event record.Event, nonce string) bool {
	return s != nil && nonce != "" && slices.ContainsFunc(s.Entries, func(e *Entry) bool {
		return e.Dispute == nil && e.Record().Event == event && e.Record().Claim == nonce
	})
}

// Rejected reports whether the handoff was ended by this key as an offer that it
// did not want.
func (s *State) Rejected(kid string) bool {
	r := s.Receipt
	return r != nil && r.Event == record.Failed && r.Claim == "" && r.Key == kid
}

// Overdue reports whether the claim ran out.
func (s *State) Overdue(now time.Time) bool { return s.Claim != nil && now.After(s.Lease) }

// maxChain bounds the commits of one inbox ref: a claim, then a progress commit
// at most every few seconds for as long as a lease chain lasts.
const maxChain = 4096

// Load reads the state of a handoff in a space. The agent says in whose inbox
// to look first; a handoff that waits for a decision is found there as well.
func (e *Engine) Load(ctx context.Context, home Home, p Place) (*State, error) {
	s := &State{ID: p.ID}
	space := home.Space()
	inboxes := []string{p.Agent}
	if p.Agent != refs.Nobody {
		inboxes = append(inboxes, refs.Nobody)
	}
	for _, agent := range inboxes {
		if agent == "" {
			continue
		}
		o, err := e.Repo.Read(ctx, space.Inbox(agent, p.ID), record.MaxCommit)
		if err != nil {
			return nil, err
		}
		if o == nil {
			continue
		}
		s.Agent, s.Tip = agent, o.OID
		if s.Chain, err = e.readChain(ctx, p.ID, o); err != nil {
			return nil, err
		}
		break
	}
	var err error
	if wary, ok := home.(Wary); ok {
		if err := wary.Refused(space.Lane(p.ID)); err != nil {
			return nil, err
		}
	}
	if s.LaneTip, err = e.Repo.Resolve(ctx, space.Lane(p.ID)); err != nil {
		return nil, err
	}
	if s.Entries, err = e.laneEntries(ctx, s.LaneTip, p.ID); err != nil {
		return nil, err
	}
	e.replay(ctx, home, s)
	// The lane knows better where it went; a copy in the inbox that it left may
	// still be there.
	if s.Agent != s.To && s.Phase() != Ended && s.To != "" && s.To != p.Agent && s.To != refs.Nobody {
		there, err := e.Load(ctx, home, Place{Agent: s.To, ID: p.ID})
		if err != nil || there.Tip != "" || s.Tip == "" {
			return there, err
		}
	}
	return s, nil
}

// readChain reads the commits below the tip of an inbox ref down to the orphan
// payload commit.
func (e *Engine) readChain(ctx context.Context, id handoff.ID, tip *refs.Object) ([]Link, error) {
	var chain []Link
	for o := tip; ; {
		if o == nil || o.Type != "commit" {
			return nil, denied(fault.MalformedObject, "a commit of the handoff is missing")
		}
		c, err := record.ParseCommit(o.Body)
		if err != nil {
			return nil, denied(fault.MalformedObject, "commit %s: %w", o.OID, err)
		}
		if c.Record.ID != id {
			return nil, denied(fault.HandoffMismatch, "commit %s in the inbox of %s speaks of %s", o.OID, id, c.Record.ID)
		}
		if len(c.Parents) > 1 || len(chain) == maxChain {
			return nil, denied(fault.MalformedObject, "commit %s: more parents or more commits than a handoff has", o.OID)
		}
		chain = append([]Link{{OID: o.OID, Commit: c}}, chain...)
		if len(c.Parents) == 0 {
			return chain, nil
		}
		if o, err = e.Repo.Read(ctx, c.Parents[0], record.MaxCommit); err != nil {
			return nil, err
		}
	}
}

// Verdict turns the phase into the refusal that a step on it meets; nil for
// open and held.
func (s *State) Verdict() error {
	switch s.Phase() {
	case Absent:
		if s.Early != nil {
			return fault.New(fault.Denied, fault.NotYetValid, "handoff %s: %w", s.ID, s.Early)
		}
		return fault.New(fault.NotFound, fault.UnknownHandoff, "handoff %s is not there", s.ID)
	case Ended:
		return fault.New(fault.Conflict, fault.Replayed, "handoff %s was %s by %s at %s",
			s.ID, s.Receipt.Event, s.Receipt.Actor, handoff.FormatTime(s.Receipt.At))
	case Disputed:
		var cause *fault.Error
		why := s.Dispute.Error()
		if errors.As(s.Dispute, &cause) {
			if s.Offer == nil { // nothing counts: what is wrong is the offer itself
				named := denied(cause.Reason, "handoff %s: %s", s.ID, cause.Message)
				named.Hints = cause.Hints
				return named
			}
			why = string(cause.Reason) + ": " + cause.Message
			if len(cause.Hints) > 0 {
				return denied(fault.Disputed, "handoff %s is disputed: %s", s.ID, why).WithHints(cause.Hints...)
			}
		}
		return denied(fault.Disputed, "handoff %s is disputed: %s", s.ID, why).
			WithHints(fault.Run("githandoff", "audit").Because("names the entry that is disputed; a person with a root key can end it"))
	case Unfinished:
		return fault.New(fault.Conflict, fault.Unfinished, "handoff %s: its last step was cut off before it was logged", s.ID).
			WithHints(fault.Run("githandoff", "sync").Because("finishes it, in the clone where that step was taken"))
	}
	return nil
}
