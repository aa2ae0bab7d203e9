package lifecycle

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/record"
	"githandoff/internal/sign"
)

// Step is one row of the table of steps: the keys that may take it, the phases for it, and its
// effect on the inbox ref. The trailers of its record are in the table of package record.
// Readers, writers and the guard use this one table; the page of the wire format is generated
// from it.
//
// A new step needs a row here, its trailers in package record, and a method of [Engine] to
// draft its record. batch.build makes the transaction from the row.
type Step struct {
	Event  record.Event
	Rights []Right
	Inbox  Effect
	// Note says who may, if this takes more than the state of the handoff.
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

// Steps returns the table of steps, in the order of the specification.
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
		{record.Joined, nil, Leaves, "a root key that was valid at `Handoff-At`, and that is valid now or whose `seen` (section 11) contains this entry"},
	}
}

// StepOf returns the row of an event.
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

// attempt is a step that a key would take on a handoff. at is the time at which the key must have
// had the right to.
type attempt struct {
	state *State
	key   sign.Key
	step  *record.Record
	at    time.Time
}

// by reports whether the key of the attempt belongs to a party.
func (a attempt) by(who Party) bool {
	s := a.state
	switch who {
	case TheHolder:
		return s.Claim != nil && a.key.KID() == s.Claim.Key && a.step.Claim == s.Claim.Nonce
	case TheSource:
		return maySend(a.key, s.Offer.From, a.at) == nil
	case Recipient:
		return a.checkRecipient() == nil
	case Issuer:
		return s.Offer.Token != "" && a.key.KID() == s.Offer.Key
	case Root:
		return mayDecide(a.key, a.at) == nil
	}
	return false
}

// verb returns what a step does to a handoff, for a message.
func verb(event record.Event) string {
	if event == record.Failed {
		return "fail"
	}
	return strings.TrimSuffix(string(event), "d")
}

// others returns who may take the step now, for a message: those in its row of the table whose
// moment has come. A root key stands in for the source.
func (a attempt) others() string {
	s, root := a.state, false
	var who []string
	step, _ := StepOf(a.step.Event)
	for _, right := range step.Rights {
		if !a.within(right.When) {
			continue
		}
		switch right.Who {
		case TheHolder:
			if s.Claim != nil {
				who = append(who, "its holder ("+s.Claim.Actor+")")
			}
		case TheSource:
			who, root = append(who, "its source ("+s.Offer.From+")"), true
		case Recipient:
			if s.To != handoff.Nobody {
				who = append(who, "its receiver ("+s.To+")")
			}
		case Issuer:
			if s.Offer.Token != "" {
				who = append(who, "the issuer of its token ("+s.Offer.Actor+")")
			}
		case Root:
			root = true
		}
	}
	switch {
	case root && len(who) == 0:
		return "a root key"
	case root:
		return strings.Join(who, ", ") + " or a root key"
	}
	return strings.Join(who, " or ")
}

func (a attempt) checkRecipient() error {
	return a.key.MayAct(sign.RoleRecipient, a.state.To, a.at)
}

// within reports whether the attempt is made at such a moment.
func (a attempt) within(when Moment) bool {
	s := a.state
	switch when {
	case Always:
		return true
	case Unclaimed:
		return s.Claim == nil
	case Free:
		// An ended handoff has only a token that can still be revoked.
		return s.Receipt == nil && (s.Claim == nil || a.step.At.After(s.Lease))
	case WhileHeld:
		return s.Claim != nil && a.step.Claim == s.Claim.Nonce || s.standsElsewhere(a.step)
	}
	return false
}

// The functions below judge a step by the state before it. They read nothing and change nothing.
// Those named err return the refusal.

// checkStep applies the table of steps to a step after the offer. A retired or expired key
// takes none, not even as the holder.
func checkStep(s *State, key sign.Key, r *record.Record) error {
	at := s.notBefore(r.At)
	for _, t := range []time.Time{r.At, at} {
		if err := key.ValidAt(t); err != nil {
			return err
		}
	}
	if r.Lease.Sub(r.At) > MaxLease {
		return errMisstep(s, r, "its lease is longer than "+MaxLease.String())
	}
	a := attempt{state: s, key: key, step: r, at: at}
	if r.Event == record.Claimed {
		if err := a.checkRecipient(); err != nil {
			return err
		}
		if s.Claim == nil && r.Claim != "" || s.Claim != nil && r.Claim != s.Claim.Nonce {
			return errMisstep(s, r, "it stands on another claim")
		}
	}
	step, known := StepOf(r.Event)
	if !known {
		return fmt.Errorf("no step %q", r.Event)
	}
	for _, right := range step.Rights {
		if a.by(right.Who) && a.within(right.When) {
			return nil
		}
	}
	return errMisstep(s, r, "its key may not")
}

// checkStory says why a step has no offer, or contradicts it; nil if it does neither. Only the
// common trailers of its steps stay when a handoff ends, so only its sender may set them.
func checkStory(s *State, r *record.Record) error {
	offer := s.Offer
	switch {
	case offer == nil:
		return denied(fault.Disputed, "%s by %s before it was offered", r.Event, r.Actor)
	case r.Payload != s.Payload, r.Digest != offer.Digest, r.From != offer.From, r.Token != offer.Token:
		return denied(fault.DigestMismatch, "%s by %s names another payload", r.Event, r.Actor)
	case r.Token != "" && r.Principal != offer.Principal:
		return denied(fault.PrincipalAltered, "%s by %s is on behalf of %q, the offer of %q", r.Event, r.Actor, r.Principal, offer.Principal)
	case r.Home != offer.Home, r.Task != offer.Task, !r.Expires.Equal(offer.Expires), r.Event != record.Routed && r.To != s.To:
		return denied(fault.HandoffMismatch, "%s by %s and the offer differ", r.Event, r.Actor)
	case !r.Event.Receipt():
		return nil
	case r.Counts != offer.Counts, r.Status != offer.Status, r.Parent != offer.Parent, r.Principal != offer.Principal:
		return denied(fault.HandoffMismatch, "%s by %s and the offer differ", r.Event, r.Actor)
	case r.Claim != "" && (s.Claim == nil || r.Claim != s.Claim.Nonce):
		return errMisstep(s, r, "it stands on another claim")
	case r.Duration != "" && (s.Receipt != nil || r.Duration != record.Duration(r.At.Sub(s.Claim.At))):
		return denied(fault.HandoffMismatch, "%s by %s: %s is not the time since the claim", r.Event, r.Actor, r.Duration)
	}
	return nil
}

// maySend lets a sender offer under its own names, and a root key under any name.
func maySend(key sign.Key, from string, at time.Time) error {
	if mayDecide(key, at) == nil {
		return nil
	}
	return key.MayAct(sign.RoleSender, from, at)
}

// mayDecide refuses every key but a root key.
func mayDecide(key sign.Key, at time.Time) error { return key.MayAct(sign.RoleRoot, "", at) }

// checkDate refuses an entry older by its own date, by more than [ClockSkew], than the newest
// valid entry or the handoff's id.
func checkDate(s *State, r *record.Record) error {
	floor, what := s.newest, "the entry below it"
	if born := r.ID.Time(); born.After(floor) {
		floor, what = born, "its id"
	}
	if !r.At.Before(floor.Add(-ClockSkew)) {
		return nil
	}
	return denied(fault.Disputed, "%s by %s is dated %s, before %s (%s) (key %s)",
		r.Event, r.Actor, handoff.FormatTime(r.At), what, handoff.FormatTime(floor), r.Key)
}

// isOfferAgain reports whether an entry repeats the offer: a hub that lost the inbox ref but
// not its log is given the same payload again. Only nonce and time may differ.
func isOfferAgain(s *State, r *record.Record) bool {
	again := *r
	again.Nonce, again.At = s.Offer.Nonce, s.Offer.At
	return again.Actor == s.Offer.Actor && bytes.Equal(again.Message(), s.Offer.Message())
}

// isOvertaken reports whether an entry after the receipt is a withdrawal by a key allowed to
// withdraw. Its author did not see the receipt, or did not trust the receipt's key yet. The
// entry changes nothing, and it is no finding.
func isOvertaken(s *State, key sign.Key, r *record.Record) bool {
	withdrawal := r.Event == record.Revoked || r.Event == record.Expired || r.Event == record.Rerouted
	return withdrawal && s.Offer != nil && r.Payload == s.Payload && r.Digest == s.Offer.Digest && r.From == s.Offer.From &&
		maySend(key, s.Offer.From, s.notBefore(r.At)) == nil
}

// errMisstep returns the refusal of a step not allowed by the state.
func errMisstep(s *State, r *record.Record, why string) error {
	held := ""
	if s.Claim != nil {
		held = fmt.Sprintf(", held by %s", s.Claim.Actor)
	}
	return denied(fault.Disputed, "%s by %s: %s%s", r.Event, r.Actor, why, held)
}

// checkClaimable says why a handoff cannot be claimed now; nil if it can.
func checkClaimable(s *State, now time.Time, byID bool) error {
	if err := s.Err(); err != nil {
		return err
	}
	if s.Claim == nil {
		return nil
	}
	until := s.Lease
	if !byID {
		until = until.Add(s.term())
	}
	if now.After(until) {
		return nil
	}
	return errHeld(s)
}

// checkRevocable says why an ended handoff cannot be withdrawn. Its token, if it had one, can
// still be revoked, once.
func checkRevocable(s *State, event record.Event) error {
	switch {
	case event != record.Revoked || s.Offer == nil || s.Offer.Token == "":
		return s.Err()
	case s.Revoked != nil:
		return fault.New(fault.Conflict, fault.Replayed, "handoff %s was revoked by %s at %s", s.ID, s.Revoked.Actor, handoff.FormatTime(s.Revoked.At))
	}
	return nil
}

// errHeld returns the conflict naming the holder of a handoff, or the reason why it has none.
func errHeld(s *State) error {
	if s.Claim == nil {
		if err := s.Err(); err != nil {
			return err
		}
		return errNotHeld(s)
	}
	return fault.New(fault.Conflict, fault.Claimed, "handoff %s is held by %s until %s",
		s.ID, s.Claim.Actor, handoff.FormatTime(s.Lease)).
		WithHints(fault.Run("githandoff", "resume", "--next").Because("takes another one"))
}

// errNotHeld returns the conflict of a step without the claim it needs.
func errNotHeld(s *State) error {
	return fault.New(fault.Conflict, fault.NotHolder, "nobody holds handoff %s", s.ID).
		WithHints(fault.Run("githandoff", "resume", string(s.ID)).Because("takes it"))
}

func errOfferedBefore(s *State, home Home) error {
	return fault.New(fault.Conflict, fault.Replayed, "handoff %s was offered at %s before", s.ID, home.ID())
}

// payloadLost reports whether this payload is open by its lane, but no inbox ref of the handoff
// leads to it.
func payloadLost(s *State, p *Payload) bool {
	return s.Offer != nil && s.Payload == p.Commit.OID && !s.Delivered() && (s.Phase() == Open || s.Phase() == Held)
}

// checkNames refuses a commit with a name or mail address not among those of its signing key.
// Handoffs made before mailSince bear the user.email of the person who ran the agent, so only their
// names are judged. The time in an id is not after any entry of its handoff, so a new entry of
// a new handoff cannot date itself out of the rule.
func checkNames(key sign.Key, c *record.Commit) error {
	mailSince := time.Date(2026, time.November, 22, 6, 25, 0, 0, time.UTC)
	mail := c.Email
	if c.Record.ID.Time().Before(mailSince) {
		mail = sign.Mail(c.Record.Actor)
	}
	return key.Named(c.Record.Actor, mail)
}
