package work

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"githandoff/internal/durable"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/private"
	"githandoff/internal/record"
)

// Claim is the local record of one handoff: the claim made here, and the step waiting for its
// hub. It is written before the claim leaves the machine, so after any crash the agent able to
// show the nonce is still the holder. The record of an offer rejected while its hub was down
// has no nonce.
type Claim struct {
	ID    handoff.ID `json:"id"`
	Agent string     `json:"agent"` // inbox of the handoff
	Actor string     `json:"actor"`
	Home  string     `json:"home"` // repo id of the home
	Nonce string     `json:"nonce"`
	// Earlier are the nonces of earlier claims on the same handoff that were recorded here and
	// never seen at the home. A git that outlived its githandoff may still push one of them: then
	// that one is the claim.
	Earlier []string  `json:"earlier,omitempty"`
	Key     string    `json:"key"`
	At      time.Time `json:"at"` // time of the claim, or of its last renewal
	Lease   time.Time `json:"lease"`
	Printed bool      `json:"printed"` // whether the content was printed
	Ended   bool      `json:"ended,omitempty"`
	Lost    bool      `json:"lost,omitempty"` // whether somebody else's step ended the claim
	Token   string    `json:"token,omitempty"`
	// Principal is on whose behalf the agent acts, as Handoff-Principal says it. It is set only if
	// there is a token.
	Principal string `json:"principal,omitempty"`
	Pending   *Step  `json:"pending,omitempty"`
}

// ClaimOf returns the record of a claim about to be made.
func ClaimOf(p lifecycle.Place, r *record.Record) *Claim {
	return &Claim{
		ID: r.ID, Agent: p.Agent, Actor: r.Actor, Home: r.Home, Nonce: r.Nonce, Key: r.Key,
		At: r.At, Lease: r.Lease, Token: r.Token, Principal: r.Principal,
	}
}

// Place returns the place of the claimed handoff.
func (h *Claim) Place() lifecycle.Place { return lifecycle.Place{Agent: h.Agent, ID: h.ID} }

// Proof returns the proof of the claim for lifecycle.
func (h *Claim) Proof() lifecycle.ClaimProof {
	return lifecycle.ClaimProof{Place: h.Place(), Nonce: h.Nonce}
}

// Nonces returns the nonces of the claims recorded here, the last one at the end; none for nil.
func (h *Claim) Nonces() []string {
	if h == nil {
		return nil
	}
	return append(slices.Clone(h.Earlier), h.Nonce)
}

// Mine reports whether a claim's nonce was recorded here.
func (h *Claim) Mine(nonce string) bool { return slices.Contains(h.Nonces(), nonce) }

// Is reports whether a claim in the log was made here; false for nil. The nonce is in the log, where
// others can read it and give it to a claim of theirs, so the key has to be the same as well.
func (h *Claim) Is(claim *record.Record) bool {
	return claim != nil && h.Mine(claim.Nonce) && h.Key == claim.Key
}

// InForce reports whether this is the claim on a handoff that has not ended.
func (h *Claim) InForce(s *lifecycle.State) bool {
	return s != nil && s.Receipt == nil && h.Is(s.Claim)
}

// Forget empties the record of the claim, and keeps a waiting step.
func (h *Claim) Forget() {
	*h = Claim{ID: h.ID, Agent: h.Agent, Actor: h.Actor, Home: h.Home, Pending: h.Pending}
}

// Held reports whether a claim was made and its end has not been recorded.
func (h *Claim) Held() bool { return h.Nonce != "" && !h.Ended }

// Finished reports whether the waiting step ends this claim.
func (h *Claim) Finished() bool { return h.Pending.ends() && h.Pending.Nonce == h.Nonce }

// Step is a step that its hub could not take. It is signed when it is sent. It names the claim on
// which it is based, and is dropped if that claim was lost. A rejection is based on no claim, and
// is dropped if somebody claimed the handoff.
type Step struct {
	Event record.Event `json:"event"` // one of acknowledged, failed, progressed and released
	Nonce string       `json:"nonce"` // nonce of the claim; "" for a rejection
	// Entry is the nonce for the record of a progress. If it is in the lane, the progress was
	// taken, although nobody saw the answer. The other events need none, because they end the claim
	// that they name.
	Entry string `json:"entry,omitempty"`
	// Said are the entries of earlier steps with the same words, which may have been taken.
	Said []string `json:"said,omitempty"`

	// Commit was the commit of HEAD when the step was taken. The receipt names it among the
	// results, unless they name another one or the handoff is sealed.
	Commit string        `json:"commit,omitempty"`
	Data   string        `json:"data,omitempty"`
	Reason string        `json:"reason,omitempty"`
	Lease  time.Duration `json:"lease,omitempty"` // in nanoseconds
	At     time.Time     `json:"at"`
	// WithoutWork leaves the snapshot behind, which otherwise goes back with a failed handoff.
	WithoutWork bool `json:"without_work,omitempty"`
	// Work is the snapshot that goes back in place of the first one, with the handoff Child.
	Work  *handoff.Work `json:"work,omitempty"`
	Child handoff.ID    `json:"child,omitempty"`
}

// ends reports whether the step ends the claim.
func (s *Step) ends() bool { return s != nil && s.Event != record.Progressed }

// MergeInto adds to a new step what the waiting one has, because one step of a handoff can wait: the
// same step without other words takes over the words of the waiting one, and its snapshot. If another
// step takes its place, MergeInto returns the waiting one, which is not sent.
func (h *Claim) MergeInto(s *Step) (unsent *Step) {
	was := h.Pending
	switch {
	case was == nil || was.Nonce != s.Nonce,
		!was.ends() && was.Data == "",              // a renewal without words
		was.ends() && s.Event == record.Progressed: // a renewal does not replace an end, see Keep
		return nil
	case s.Event != was.Event || s.Data != "" && s.Data != was.Data:
		return was
	case was.ends():
		s.Data = was.Data
		if s.Work == nil && !s.WithoutWork {
			s.Work, s.Child = was.Work, was.Child
		}
	case was.Entry == "" || was.Entry != s.Entry: // another renewal with the same words
		s.Data, s.Said = was.Data, was.Entries()
	}
	return nil
}

// nameProgress names a progress that an earlier version kept without a name. The name follows from
// the step. So if a sync is killed between its push and the record of it, the next sync finds the
// progress in the lane.
func nameProgress(h *Claim) {
	s := h.Pending
	if s == nil || s.Event != record.Progressed || s.Entry != "" {
		return
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{"githandoff step", s.Nonce, s.At.UTC().Format(time.RFC3339Nano), s.Data}, "\x00")))
	s.Entry = hex.EncodeToString(sum[:16])
}

// Entries returns the names under which the lane may have what a progress says.
func (s *Step) Entries() []string {
	ids := slices.Clone(s.Said)
	if s.Entry != "" {
		ids = append(ids, s.Entry)
	}
	return ids
}

// Keep records a step to be taken later. A renewal does not replace a final step.
func (h *Claim) Keep(s Step) {
	if s.Event == record.Progressed && h.Pending.ends() {
		return
	}
	s.At = s.At.UTC().Truncate(time.Second)
	h.Pending = &s
}

// DropKept forgets the waiting step, since one with this event was taken. A final step outlives a
// renewal.
func (h *Claim) DropKept(event record.Event) {
	if event != record.Progressed || !h.Pending.ends() {
		h.Pending = nil
	}
}

// Documents keeps one JSON document a handoff, <dir>/<id>.json, each replaced whole
// and synced.
type Documents[T any] struct {
	Dir string

	amend func(*T) // changes each document read; may be nil
}

// Path returns the file of the document of id.
func (d Documents[T]) Path(id handoff.ID) string { return filepath.Join(d.Dir, string(id)+".json") }

// Put writes the document of id.
func (d Documents[T]) Put(id handoff.ID, v *T) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return private.WriteFile(d.Path(id), append(b, '\n'))
}

// Get returns the document of id; nil if there is none. It refuses members unknown to this version,
// which would be lost when the document is written again.
func (d Documents[T]) Get(id handoff.ID) (*T, error) {
	b, err := private.ReadState(d.Path(id))
	if err != nil {
		return nil, fmt.Errorf("read the record of %s: %w", id, err)
	}
	if b == nil {
		return nil, nil
	}
	v := new(T)
	if err := handoff.ParseStrict(b, v); err != nil {
		aside := fault.Run("mv", d.Path(id), d.Path(id)+".broken").Because("sets it aside; its record of %s is lost", id)
		if json.Valid(b) && !errors.Is(err, handoff.ErrUnknown) { // with other members than ours
			err = fmt.Errorf("%w: %w", handoff.ErrUnknown, err)
		}
		f := fault.New(fault.Invalid, fault.Malformed, "read %s: %w", d.Path(id), err)
		return nil, f.WithHints(append(f.Hints, aside)...)
	}
	if d.amend != nil {
		d.amend(v)
	}
	return v, nil
}

// IDs lists the ids of the documents, oldest first.
func (d Documents[T]) IDs() ([]handoff.ID, error) {
	names, err := os.ReadDir(d.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list %s: %w", d.Dir, err)
	}
	var ids []handoff.ID
	for _, n := range names {
		if id, err := handoff.ParseID(strings.TrimSuffix(n.Name(), ".json")); err == nil {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// All returns the documents, oldest id first.
func (d Documents[T]) All() ([]*T, error) {
	ids, err := d.IDs()
	if err != nil {
		return nil, err
	}
	var all []*T
	for _, id := range ids {
		v, err := d.Get(id)
		if err != nil {
			return nil, err
		}
		if v != nil { // nil if another process has dropped the document
			all = append(all, v)
		}
	}
	return all, nil
}

// Drop removes the document of id, if there is one.
func (d Documents[T]) Drop(id handoff.ID) error {
	if err := durable.Remove(d.Path(id)); err != nil {
		return fmt.Errorf("remove the record of %s: %w", id, err)
	}
	return nil
}
