package lifecycle

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/gitobj"
	"githandoff/internal/handoff"
	"githandoff/internal/record"
	"githandoff/internal/refs"
)

// Phase is the phase of a handoff at its home.
type Phase string

// The phases. The lane decides: a commit on an inbox ref changes nothing without a lane entry.
const (
	Absent   Phase = "absent"
	Open     Phase = "offered"
	Held     Phase = "claimed"
	Ended    Phase = "ended"
	Disputed Phase = "disputed"
)

// State is the state of a handoff at its home. Its entries were judged; its payload was not
// read.
type State struct {
	ID      handoff.ID
	Agent   string // inbox in which the handoff is; "" if none
	Tip     string // object id of the inbox ref; "" if none
	LaneTip string // object id of the lane; "" if none
	Chain   []Link // payload commit first, up to the last commit named in the lane
	Entries []*Entry

	Offer        *record.Record // record of its offer
	Payload      string         // object id of the payload commit, from the lane
	To           string         // inbox in which the handoff belongs now
	Claim        *record.Record // record of the holder's claim; nil while open
	Lease        time.Time      // end of the holder's lease
	Receipt      *record.Record // record of the entry that ended it
	Revoked      *record.Record // record of the entry that revoked it and its token
	Dispute      error          // first invalid entry
	UndecidedEnd *Entry         // first receipt that nobody here decided about
	elsewhere    *Entry         // claim that counts where other keys are trusted, or its newest renewal or release; nil for none
	Early        error          // first entry that is not valid yet, or was overtaken

	parent     bool              // loaded to judge its child's offer, so its own offer may not be that of a return handoff
	chainErr   error             // why commits of the inbox ref are not in Chain
	otherChain []Link            // commits of an inbox ref that does not lead to the payload
	tips       map[string]string // ids of inbox refs by agent; only inboxes already read
	newest     time.Time         // time of the newest valid entry
	named      []naming          // children that holders named
	howToLog   fault.Hint        // hint for an unlogged offer
	links      map[mark][]*Link  // commits of Chain by their marks; see [Reader.marked]
}

// Link is one commit of an inbox ref.
type Link struct {
	OID    string
	Commit *record.Commit
}

// mark tells the records of a handoff apart. A nonce alone does not: everybody can read it in the log,
// and give it to a record with another key.
type mark struct{ nonce, key string }

func markOf(r *record.Record) mark { return mark{r.Nonce, r.Key} }

// Phase returns the current phase of the handoff.
func (s *State) Phase() Phase {
	switch {
	case s.Receipt != nil:
		return Ended
	case s.Dispute != nil:
		return Disputed
	case s.Offer == nil:
		return Absent
	case s.Claim != nil:
		return Held
	default:
		return Open
	}
}

// Unlogged reports whether the inbox ref leads to a commit without a lane entry. The step was
// cut off before it reached the lane, or the lane was read before it did.
func (s *State) Unlogged() bool { return s.Tip != "" && s.Tip != s.base() }

// base returns the commit below the next step: the last one of the inbox ref named in the lane; ""
// if there is none.
func (s *State) base() string {
	if len(s.Chain) == 0 {
		return ""
	}
	return s.Chain[len(s.Chain)-1].OID
}

// Delivered reports whether an inbox ref of the handoff leads to its payload. A ref in the
// inbox of undecided handoffs does so until it has been routed.
func (s *State) Delivered() bool {
	return len(s.Chain) > 0 && (s.Agent == s.To || s.Agent == handoff.Nobody)
}

// Last returns the record of the receipt, or else of the newest step that counts; nil for
// neither.
func (s *State) Last() *record.Record {
	if s.Receipt != nil {
		return s.Receipt
	}
	for _, e := range slices.Backward(s.Entries) {
		if e.Dispute == nil {
			return e.Record()
		}
	}
	return nil
}

// Took reports whether the holder of a claim has already taken a step of this kind. A caller
// repeating the step did not see the answer.
func (s *State) Took(event record.Event, nonce, key string) bool {
	return s != nil && nonce != "" && slices.ContainsFunc(s.Entries, func(e *Entry) bool {
		r := e.Record()
		return e.Dispute == nil && r.Event == event && r.Claim == nonce && r.Key == key
	})
}

// Progressed reports whether the holder of a claim has taken one of the renewals with these
// nonces.
func (s *State) Progressed(claim string, nonces ...string) bool {
	return s != nil && slices.ContainsFunc(s.Entries, func(e *Entry) bool {
		r := e.Record()
		return e.Dispute == nil && r.Event == record.Progressed && r.Claim == claim && slices.Contains(nonces, r.Nonce)
	})
}

// Shows reports whether the lane has an entry with a nonce, such as that of a claim.
func Shows(s *State, nonce string) bool {
	return slices.ContainsFunc(s.Entries, func(e *Entry) bool { return e.Record().Nonce == nonce })
}

// Rejected reports whether this key ended the handoff as an unwanted offer.
func (s *State) Rejected(kid string) bool {
	r := s.Receipt
	return r != nil && r.Event == record.Failed && r.Claim == "" && r.Key == kid
}

// Routed returns the record of the decision that gave a handoff to its agent; nil if it was
// sent to this agent at once.
func (s *State) Routed() *record.Record {
	for _, e := range slices.Backward(s.Entries) {
		if e.Dispute == nil && e.Record().Event == record.Routed {
			return e.Record()
		}
	}
	return nil
}

// Overdue reports whether the claim ran out.
func (s *State) Overdue(now time.Time) bool { return s.Claim != nil && now.After(s.Lease) }

// Reader reads the state of a handoff at its home, and judges each entry by the table of
// steps. It needs no key.
type Reader struct {
	Repo  *refs.Repo
	Keys  *Keys
	Lanes *Lanes
	Ahead Ahead

	chain []Link // the one that was read last, complete: a command reads it again before and after each of its steps
}

// maxChain bounds the commits of one inbox ref: a claim, then a progress commit
// at most every few seconds for as long as a lease chain lasts.
const maxChain = 4096

// Load reads the state of a handoff at a home from the copies here. It looks in the inbox of p.Agent
// first, and in the one of undecided handoffs as well.
func (rd *Reader) Load(ctx context.Context, home Home, p Place) (*State, error) {
	s := &State{ID: p.ID, tips: map[string]string{}}
	if err := rd.readInboxes(ctx, home.Namespace(), s, p.Agent); err != nil {
		return nil, err
	}
	tipOf := rd.Repo.Resolve
	if hub, ok := home.(RemoteHome); ok {
		tipOf = hub.LaneTip
	}
	var err error
	if s.LaneTip, err = tipOf(ctx, home.Namespace().Lane(p.ID)); err != nil {
		return nil, err
	}
	if err := rd.replay(ctx, home, s); err != nil {
		return nil, err
	}
	s.cutChain()
	if s.Phase() == Absent && s.Unlogged() {
		if s.howToLog, err = rd.howToLog(ctx, home, s); err != nil {
			return nil, err
		}
	}
	// The lane says where the handoff is. A ref may still be in the inbox it left, or in one it
	// never reached.
	if s.Agent != s.To && s.Phase() != Ended && s.To != "" && s.To != p.Agent {
		there, err := rd.Load(ctx, home, Place{Agent: s.To, ID: p.ID})
		if err != nil {
			return nil, err
		}
		maps.Copy(there.tips, s.tips)
		if there.Tip != "" || s.Tip == "" {
			return there, nil
		}
		s.tips = there.tips
	}
	return s, nil
}

// howToLog returns the hint for an unlogged offer: the clone that sent it delivers it again. In a clone
// that is its own home, an offer that was cut off is finished before any hint is given, so the log was
// lost.
func (rd *Reader) howToLog(ctx context.Context, home Home, s *State) (fault.Hint, error) {
	if IsLocal(home) {
		return fault.Run("githandoff", "audit").Because("says what else the log has lost"), nil
	}
	for _, ref := range []string{refs.Sent(s.Agent, s.ID), refs.Outbox(s.Agent, s.ID)} {
		switch tip, err := rd.Repo.Resolve(ctx, ref); {
		case err != nil:
			return fault.Hint{}, err
		case tip != "":
			return fault.Run("githandoff", "sync").Because("finishes it"), nil
		}
	}
	return fault.Fact("githandoff sync in the clone of its sender finishes it"), nil
}

// readInboxes reads the possible inbox refs of a handoff: the one of the agent, and the one of
// undecided handoffs. The chain is that of the first one that exists.
func (rd *Reader) readInboxes(ctx context.Context, namespace refs.Namespace, s *State, agent string) error {
	for _, agent := range []string{agent, handoff.Nobody} {
		if _, read := s.tips[agent]; read || agent == "" {
			continue
		}
		o, err := rd.Repo.Read(ctx, namespace.Inbox(agent, s.ID), record.MaxCommit)
		large := fault.Is(err, fault.TooLarge) // an object that is too large is no commit of githandoff, and is not read
		if err != nil && !large {
			return err
		}
		if o == nil {
			s.tips[agent] = ""
			continue
		}
		s.tips[agent] = o.OID
		if s.Tip != "" {
			continue
		}
		s.Agent, s.Tip = agent, o.OID
		if large {
			s.chainErr = err
			continue
		}
		if s.Chain, s.chainErr, err = rd.readChain(ctx, s.ID, o); err != nil {
			return err
		}
	}
	return nil
}

// Err returns the refusal of a step in this phase; nil for open and held.
func (s *State) Err() error {
	switch s.Phase() {
	case Absent:
		if s.Early != nil {
			return denied(fault.NotYetValid, "handoff %s: %w", s.ID, s.Early)
		}
		if s.chainErr != nil {
			return s.chainErr
		}
		if s.Unlogged() {
			return fault.New(fault.Conflict, fault.Unfinished, "handoff %s: its offer was cut off before it was logged", s.ID).
				WithHints(s.howToLog)
		}
		return fault.New(fault.NotFound, fault.UnknownHandoff, "handoff %s is not there", s.ID)
	case Ended:
		return s.endedErr(fault.Replayed)
	case Disputed:
		why, hints := s.Dispute.Error(), []fault.Hint(nil)
		if cause := fault.As(s.Dispute); cause != nil {
			if s.Offer == nil { // the offer itself is invalid
				named := denied(cause.Reason, "handoff %s: %s", s.ID, cause.Message)
				named.Hints = cause.Hints
				return named
			}
			why, hints = string(cause.Reason)+": "+cause.Message, cause.Hints
		}
		if len(hints) == 0 || errors.Is(s.Dispute, handoff.ErrUnknown) { // anybody can write what looks like a newer form
			hints = append(slices.Clone(hints), fault.Run("githandoff", "audit").Because("names the entry that is disputed; a person with a root key can end it"))
		}
		return denied(fault.Disputed, "handoff %s is disputed: %s", s.ID, why).WithHints(hints...)
	}
	return nil
}

// endedErr returns the refusal of a step on an ended handoff.
func (s *State) endedErr(reason fault.Reason) error {
	f := fault.New(fault.Conflict, reason, "handoff %s was %s by %s at %s",
		s.ID, s.Receipt.Event, s.Receipt.Actor, handoff.FormatTime(s.Receipt.At))
	if s.Receipt.Next == "" {
		return f
	}
	return f.WithHints(fault.Run("githandoff", "history", string(s.ID)).Because("shows the handoff in which the work goes on"))
}

// LoadOrFetch is like Load, but fetches what the copies here lack of the handoff: the inbox into which
// it was routed, which the lane names, or objects that are lost here.
func (rd *Reader) LoadOrFetch(ctx context.Context, home Home, p Place) (*State, error) {
	s, err := rd.Load(ctx, home, p)
	if fault.Is(err, fault.MissingObject) || err == nil && fault.Is(s.chainErr, fault.MissingObject) {
		if BringLost(ctx, home, p) {
			s, err = rd.Load(ctx, home, p)
		}
	}
	if err != nil || s.Agent == s.To || s.To == "" || s.To == p.Agent || s.Phase() == Ended {
		return s, err
	}
	p.Agent = s.To
	if err := home.Refresh(ctx, FetchSpec{Places: []Place{p}}); err != nil {
		return nil, err
	}
	there, err := rd.Load(ctx, home, p)
	if err == nil && there.Tip == "" && s.Tip != "" {
		return s, nil
	}
	return there, err
}

// BringLost fetches all of a handoff of which objects are lost here. It reports whether it is worth
// reading them again.
func BringLost(ctx context.Context, home Home, p Place) bool {
	spec := WholeHandoffs(p)
	spec.Lost = true
	return home.Refresh(ctx, spec) == nil
}

// readChain reads the commits below the tip of an inbox ref, down to the orphan payload commit.
// A malformed commit, or one about another handoff, is left out with everything on top of it:
// anybody with push access can put it there, and the lane does not name it. chainErr says why a
// commit was left out.
func (rd *Reader) readChain(ctx context.Context, id handoff.ID, tip *refs.Object) (chain []Link, chainErr, err error) {
	var above []Link // newest first
	for n, o := 0, tip; ; n++ {
		if o == nil {
			return nil, refs.Missing("a commit of handoff " + string(id)), nil
		}
		if o.Type != "commit" {
			return nil, denied(fault.MalformedObject, "a commit of the handoff is a %s", o.Type), nil
		}
		if n == maxChain {
			return nil, denied(fault.MalformedObject, "commit %s: too many commits for one handoff", o.OID), nil
		}
		if endsAt(rd.chain, o.OID, id) && n+len(rd.chain) <= maxChain {
			slices.Reverse(above)
			rd.chain = slices.Concat(rd.chain, above)
			return rd.chain, chainErr, nil
		}
		c, err := record.ParseCommit(o.Body)
		switch {
		case err != nil:
			above, chainErr = nil, denied(fault.MalformedObject, "commit %s: %w", o.OID, err)
		case c.Record.ID != id:
			above, chainErr = nil, denied(fault.HandoffMismatch, "commit %s in the inbox of %s is about %s", o.OID, id, c.Record.ID)
		case len(c.Parents) > 1:
			above, chainErr = nil, denied(fault.MalformedObject, "commit %s: too many parents for a handoff", o.OID)
		default:
			above = append(above, Link{OID: o.OID, Commit: c})
		}
		parent := gitobj.FirstParent(o.Body)
		if parent == "" {
			slices.Reverse(above)
			rd.chain = above
			return above, chainErr, nil
		}
		o, err = rd.Repo.Read(ctx, parent, record.MaxCommit)
		if fault.Is(err, fault.TooLarge) {
			return nil, denied(fault.MalformedObject, "commit %s: %w", parent, err), nil
		}
		if err != nil {
			return nil, nil, err
		}
	}
}

// endsAt reports whether the newest commit of a chain is this one, of this handoff.
func endsAt(chain []Link, oid string, id handoff.ID) bool {
	if len(chain) == 0 {
		return false
	}
	newest := chain[len(chain)-1]
	return newest.OID == oid && newest.Commit.Record.ID == id
}

// cutChain keeps only the commits of the chain that the lane names. A commit above them is an
// interrupted step, or a stranger's: the next step overwrites it, under the old values of both
// refs. A chain that does not lead to the payload in the lane is not one of this handoff.
func (s *State) cutChain() {
	n := len(s.Chain)
	for n > 0 && s.Chain[n-1].OID != s.Payload && !s.logged(s.Chain[n-1].Commit) {
		n--
	}
	if n == 0 || s.Payload != "" && s.Chain[0].OID != s.Payload {
		s.otherChain, s.Chain = s.Chain, nil
		return
	}
	s.Chain = s.Chain[:n]
}

// logged reports whether the lane has an entry for a commit of the inbox ref.
func (s *State) logged(c *record.Commit) bool {
	return slices.ContainsFunc(s.Entries, func(e *Entry) bool { return e.Record().Nonce == c.Record.Nonce && sameRecord(c, e.Commit) })
}
