package work

import (
	"time"

	"githandoff/internal/handoff"
	"githandoff/internal/record"
)

// Journal keeps the last step of each handoff that could not be taken because
// its hub was down: one JSON file a handoff, in this worktree's git dir. A step
// names the claim it stands on and is signed when it is sent, so it is worth
// nothing once the claim is lost; a rejection stands on none, and is worth nothing
// once somebody claimed.
type Journal struct {
	Dir string // <git dir>/githandoff/journal
}

// Step is one step to take later.
type Step struct {
	ID    handoff.ID   `json:"id"`
	Event record.Event `json:"event"` // acknowledged, failed, progressed, released
	Nonce string       `json:"nonce"` // of the claim; "" of a rejection
	// Of a rejection, which has no claim to say it: in whose inbox it is, who
	// rejects it, and the repo id of its home.
	Agent string `json:"agent,omitempty"`
	Actor string `json:"actor,omitempty"`
	Home  string `json:"home,omitempty"`

	// Commit is that of HEAD when the step was taken: the receipt names it among the
	// results, unless they name another one or the handoff is sealed.
	Commit string        `json:"commit,omitempty"`
	Data   string        `json:"data,omitempty"`
	Reason string        `json:"reason,omitempty"`
	Lease  time.Duration `json:"lease,omitempty"` // nanoseconds
	At     time.Time     `json:"at"`
	// WithoutWork leaves the snapshot of what failed behind, which otherwise goes back.
	WithoutWork bool `json:"without_work,omitempty"`
	// Work is the snapshot that goes back in its place, with the handoff Child.
	Work  *handoff.Work `json:"work,omitempty"`
	Child handoff.ID    `json:"child,omitempty"`
}

// Put writes a step. A step that ends the handoff is not replaced by one that
// renews it.
func (j Journal) Put(s Step) error {
	if s.Event == record.Progressed {
		if old, err := j.Get(s.ID); err != nil || old.Ends() {
			return err
		}
	}
	s.At = s.At.UTC().Truncate(time.Second)
	return j.steps().Put(s.ID, &s)
}

// Took forgets the step of a handoff, since one with this event was taken. One
// that ends the handoff outlives a renewal.
func (j Journal) Took(id handoff.ID, event record.Event) error {
	if event == record.Progressed {
		if old, err := j.Get(id); err != nil || old.Ends() {
			return err
		}
	}
	return j.Drop(id)
}

// Ends reports whether nothing is held any more once the step is taken.
func (s *Step) Ends() bool { return s != nil && s.Event != record.Progressed }

func (j Journal) steps() Shelf[Step] { return Shelf[Step](j) }

// Get returns the step of a handoff, nil where none is kept.
func (j Journal) Get(id handoff.ID) (*Step, error) { return j.steps().Get(id) }

// All lists the steps, oldest id first.
func (j Journal) All() ([]*Step, error) { return j.steps().All() }

// Drop forgets the step of a handoff.
func (j Journal) Drop(id handoff.ID) error { return j.steps().Drop(id) }
