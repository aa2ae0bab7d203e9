package workspace

import (
	"cmp"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
)

// View is a handoff with its home and state.
type View struct {
	Home  lifecycle.Home
	State *lifecycle.State
	Item  *Item // nil if no ref leads to the handoff any more

	// Unread says why the hub gave no lane, where no entry of the handoff is known here: only the
	// hub can tell whether it was logged.
	Unread error

	at lifecycle.Place // place where the handoff was found, for a step on it
}

// Word returns the state of the handoff in one word: the event that ended it, "queued" or "sent" if
// only this clone knows it, otherwise its phase.
func (v *View) Word() string {
	switch s := v.State; {
	case s.Receipt != nil:
		return string(s.Receipt.Event)
	case s.Phase() == lifecycle.Absent && v.Item != nil:
		return map[string]string{refs.KindOutbox: "queued", refs.KindSent: "sent"}[v.Item.Kind]
	}
	return string(v.State.Phase())
}

// WordAt is like [View.Word] at a time: an offer for nobody is "undecided", one past its expiry
// "expired", and a claim past its lease "overdue".
func (v *View) WordAt(now time.Time) string {
	s, word := v.State, v.Word()
	switch s.Phase() {
	case lifecycle.Open:
		switch {
		case Undecided(s):
			return "undecided"
		case now.After(s.Offer.Expires):
			return "expired"
		}
	case lifecycle.Held:
		if now.After(s.Lease) {
			return "overdue, " + word
		}
	}
	return word
}

// Queued reports whether a handoff waits in the outbox, and its home does not have it.
func (v *View) Queued() bool {
	return v.State.Phase() == lifecycle.Absent && v.Item != nil && v.Item.Kind == refs.KindOutbox
}

// ErrQueued refuses a step on a handoff in the outbox: steps are taken at its home, which does not have it yet.
func (v *View) ErrQueued() error {
	if !v.Queued() {
		return nil
	}
	id := v.State.ID
	return fault.New(fault.Conflict, fault.Undelivered, "handoff %s waits in the outbox: nobody has it yet", id).
		WithHints(fault.Run("githandoff", "sync").Because("delivers it"),
			fault.Run("githandoff", "revoke", string(id)).Because("takes it back"))
}

// Undecided reports whether an offer waits for a decision.
func Undecided(s *lifecycle.State) bool {
	return s.Phase() == lifecycle.Open && cmp.Or(s.To, s.Offer.To) == handoff.Nobody
}
