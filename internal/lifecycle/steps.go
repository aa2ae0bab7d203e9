package lifecycle

import (
	"time"

	"githandoff/internal/record"
	"githandoff/internal/sign"
)

// Step is one row of the table of steps: the keys that may take it, the phases in which
// they may, and the effect on the inbox ref. The trailers of its record are in the table of
// package record. Readers, writers and the guard use this one table; the page of the wire
// format is generated from it.
//
// A new step is a row here, its trailers in package record, and a method of [Engine]
// that drafts its record. batch.build makes the transaction from the row.
type Step struct {
	Event  record.Event
	Rights []Right
	Inbox  Effect
	// Note says who may, where that takes more than the state of the handoff.
	Note string
}

// Right lets somebody take a step at some time.
type Right struct {
	Who  Party
	When Moment
}

// Party is who takes a step. The words stand in the page of the wire format.
type Party string

// The parties.
const (
	TheHolder Party = "the holder"
	TheSource Party = "the source"
	Recipient Party = "a recipient of the inbox (`Handoff-To`)"
	Issuer    Party = "who issued its token"
	Root      Party = "a root key"
)

// Moment is when a right holds.
type Moment string

// The moments.
const (
	Always    Moment = ""
	Unclaimed Moment = "while nobody holds it"
	Free      Moment = "while nobody holds it or the lease is over"
	WhileHeld Moment = "while it is held; `Handoff-Claim` names the claim"
)

// Effect is the effect of a step on the inbox ref of its handoff.
type Effect string

// The effects.
const (
	Makes   Effect = "made"
	Moves   Effect = "moved"
	Carries Effect = "moved into the inbox of `Handoff-To`"
	Deletes Effect = "deleted"
	Leaves  Effect = "left as it is"
)

// Steps is the table of steps, in the order of the specification.
func Steps() []Step {
	return []Step{
		{record.Offered, nil, Makes, "a sender under the name `Handoff-From`; a root key; or, with `Handoff-Parent`, " +
			"the recipient whose `failed` is the receipt of the parent at this home, by the same key, with this id in `Handoff-Next`: " +
			"then `Handoff-To` is the agent in `Handoff-On-Failure` of the parent's offer, or else in its `Handoff-From`, " +
			"and the parent was offered by a sender or a root key"},
		{record.Routed, []Right{{Root, Unclaimed}}, Carries, ""},
		{record.Claimed, []Right{{Recipient, Free}}, Moves, "`Handoff-Claim` must be the nonce of the claim that is taken over, absent if there is none"},
		{record.Progressed, []Right{{TheHolder, Always}}, Moves, ""},
		{record.Released, []Right{{TheHolder, Always}, {TheSource, WhileHeld}}, Moves, ""},
		{record.Acknowledged, []Right{{TheHolder, Always}}, Deletes, ""},
		{record.Failed, []Right{{TheHolder, Always}, {Recipient, Unclaimed}, {Root, Always}}, Deletes, ""},
		{record.Rerouted, []Right{{TheHolder, Always}, {TheSource, Free}, {Root, Always}}, Deletes, ""},
		{record.Revoked, []Right{{TheSource, Free}, {Issuer, Always}, {Root, Always}}, Deletes, ""},
		{record.Expired, []Right{{TheSource, Free}, {Root, Always}}, Deletes, ""},
		{record.Joined, nil, Leaves, "a root key that is valid now, or was when this clone wrote down what it had seen (`seen`) and had this entry by then"},
	}
}

// StepOf is the row of an event.
func StepOf(event record.Event) (Step, bool) {
	for _, s := range Steps() {
		if s.Event == event {
			return s, true
		}
	}
	return Step{}, false
}

// Moves reports whether a step puts a commit on the inbox ref.
func (s Step) Moves() bool { return s.Inbox == Makes || s.Inbox == Moves || s.Inbox == Carries }

// asking is a key that wants to take a step on a handoff, and since when it must have
// been allowed to.
type asking struct {
	state *State
	key   sign.Key
	step  *record.Record
	at    time.Time
}

// may reports whether a right lets the key take the step.
func (a asking) may(r Right) bool { return a.is(r.Who) && a.holds(r.When) }

func (a asking) is(who Party) bool {
	s := a.state
	switch who {
	case TheHolder:
		return s.Claim != nil && a.key.KID() == s.Claim.Key && a.step.Claim == s.Claim.Nonce
	case TheSource:
		return maySend(a.key, &record.Record{From: s.Offer.From, At: a.at}) == nil
	case Recipient:
		return a.recipient() == nil
	case Issuer:
		return issuedBy(s, a.key)
	case Root:
		return root(a.key, &record.Record{At: a.at}) == nil
	}
	return false
}

func (a asking) recipient() error { return a.key.MayAct(sign.RoleRecipient, a.state.To, a.at) }

func (a asking) holds(when Moment) bool {
	s := a.state
	switch when {
	case Always:
		return true
	case Unclaimed:
		return s.Claim == nil
	case Free:
		// Of a handoff that ended only its token is left to be taken back.
		return s.Receipt == nil && (s.Claim == nil || a.step.At.After(s.Lease))
	case WhileHeld:
		return s.Claim != nil && a.step.Claim == s.Claim.Nonce
	}
	return false
}
