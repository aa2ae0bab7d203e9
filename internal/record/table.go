package record

import (
	"fmt"
	"strings"
)

// Event is a step of a handoff.
type Event string

// The events. The five from Acknowledged to Expired are receipts: they end it.
const (
	Offered      Event = "offered"
	Routed       Event = "routed"
	Claimed      Event = "claimed"
	Progressed   Event = "progressed"
	Released     Event = "released"
	Acknowledged Event = "acknowledged"
	Failed       Event = "failed"
	Rerouted     Event = "rerouted"
	Revoked      Event = "revoked"
	Expired      Event = "expired"
	Joined       Event = "joined"
)

// Receipt reports whether the event ends a handoff.
func (e Event) Receipt() bool {
	switch e {
	case Acknowledged, Failed, Rerouted, Revoked, Expired:
		return true
	}
	return false
}

// Need says whether an event has a trailer.
type Need int

// The needs. A trailer with Never makes a message malformed.
const (
	Never Need = iota
	May
	Must
)

// steps are the trailers of each event after the first eleven, in wire order. A "!"
// stands behind one that must be there. Handoff-Payload is left out: it is in each
// lane entry and nowhere else.
var steps = map[Event]string{
	Offered:      "Task Parent Counts! Status! On-Failure Principal Token",
	Routed:       "Task Data Principal Token",
	Claimed:      "Lease! Claim Task Principal Token",
	Progressed:   "Lease! Claim! Next Task Data Principal Token",
	Released:     "Claim! Task Principal Token",
	Acknowledged: "Claim! Task Parent Counts! Status! Duration! Data Principal Token Skills-Missing",
	Failed:       "Claim Next Task Parent Counts! Status! Duration Data Principal Token",
	Rerouted:     "Claim Next! Task Parent Counts! Status! Duration Data Principal Token",
	Revoked:      "Claim Task Parent Counts! Status! Duration Data Principal Token",
	Expired:      "Claim Task Parent Counts! Status! Duration Data Principal Token",
	Joined:       "Task Token",
}

// Events are all events, in the order of the specification.
func Events() []Event {
	return []Event{Offered, Routed, Claimed, Progressed, Released, Acknowledged, Failed, Rerouted, Revoked, Expired, Joined}
}

// Needs says whether records of an event have a trailer. Handoff-Payload depends on
// where the record stands, not on the event.
func (e Event) Needs(name string) Need {
	if i := find(name, 0); i >= 0 && i < required {
		return Must
	}
	short := strings.TrimPrefix(name, prefix)
	for word := range strings.FieldsSeq(steps[e]) {
		if word == short {
			return May
		}
		if word == short+"!" {
			return Must
		}
	}
	return Never
}

const prefix = "Handoff-"

// checkTrailers holds the trailers that are there against the table, and against
// each other.
func (r *Record) checkTrailers() error {
	for i := range trailers {
		key, value := trailers[i].key, trailers[i].value(r)
		if key == "Handoff-Payload" { // see checkPlace
			continue
		}
		switch need := r.Event.Needs(key); {
		case need == Must && value == "":
			return fmt.Errorf("trailer %s is missing in %q", key, clip(string(r.Event)))
		case need == Never && value != "":
			return fmt.Errorf("trailer %s does not belong to %q", key, clip(string(r.Event)))
		}
	}
	own := r.Event == Offered || r.Event.Receipt() || r.Event == Joined
	switch {
	case r.Duration != "" && r.Claim == "":
		return fmt.Errorf("Handoff-Duration without a claim")
	case r.Next == r.ID:
		return fmt.Errorf("Handoff-Next is the handoff itself")
	case r.Parent == r.ID:
		return fmt.Errorf("Handoff-Parent is the handoff itself")
	case strings.HasSuffix(r.Principal, " (token)") && r.Token == "":
		return fmt.Errorf("Handoff-Principal names a token, and there is none")
	case !own && (r.Principal == "") != (r.Token == ""):
		return fmt.Errorf("a step has Handoff-Principal with Handoff-Token, and none without it")
	}
	return nil
}

// EmptyTree is the tree of every lane entry.
const EmptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

// checkPlace holds the record against the commit around it: a lane entry, or a
// commit of an inbox ref.
func (c *Commit) checkPlace() error {
	r := c.Record
	if c.Tree == EmptyTree {
		switch {
		case r.Payload == "":
			return fmt.Errorf("a lane entry without Handoff-Payload")
		case r.Event == Joined && len(c.Parents) != 2, r.Event != Joined && len(c.Parents) > 1:
			return fmt.Errorf("a lane entry %q with %d parents", r.Event, len(c.Parents))
		}
		return nil
	}
	switch {
	case r.Payload != "":
		return fmt.Errorf("Handoff-Payload in a commit of an inbox ref")
	case r.Event == Joined || r.Event.Receipt():
		return fmt.Errorf("%q has a tree, and is a lane entry only", r.Event)
	case r.Event == Offered && len(c.Parents) > 0:
		return fmt.Errorf("a payload commit with a parent")
	case r.Event != Offered && (len(c.Parents) != 1 || c.Parents[0] != r.Previous):
		return fmt.Errorf("%q is not on top of the commit that Handoff-Previous names", r.Event)
	}
	return nil
}
