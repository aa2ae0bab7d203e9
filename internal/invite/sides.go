package invite

import (
	"encoding/hex"
	"slices"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
)

const (
	offerSchema  = "githandoff-invite-offer/2"
	answerSchema = "githandoff-invite-answer/2"
)

// Grant has the roles and limits with which a key is pinned. Its members are those of an
// entry of a trust list.
type Grant struct {
	Agents     []string `json:"agents,omitempty"`
	Roles      []string `json:"roles"`
	Principals []string `json:"principals,omitempty"`
	MaxScope   []string `json:"max_scope,omitempty"`
	Until      string   `json:"until,omitempty"`
}

// Offer is the message of the inviter.
type Offer struct {
	Schema  string `json:"schema"`
	Invite  string `json:"invite"`          // id of the invitation
	Key     string `json:"key"`             // text of the inviter's public key
	Agent   string `json:"agent,omitempty"` // agent name for the joiner; empty if the joiner chooses
	Inviter Grant  `json:"inviter"`         // grant with which the joiner pins Key
	Joiner  Grant  `json:"joiner"`          // grant with which the inviter will pin the joiner's key
}

// Answer is the message of the joiner.
type Answer struct {
	Schema string `json:"schema"`
	Invite string `json:"invite"` // id of the invitation
	Key    string `json:"key"`
	Agent  string `json:"agent"`
}

// Pending is the inviter's memory of an invitation: enough to recognize the answer, and not
// enough to pass the invitation on.
type Pending struct {
	Kind    Kind      `json:"kind"`
	ID      string    `json:"id"`
	Key     string    `json:"key"` // hex key that opens the answer
	Expires time.Time `json:"expires"`
	Agent   string    `json:"agent,omitempty"`
	Joiner  Grant     `json:"joiner"`
}

// Invite makes the messages for the hub, and the inviter's memory.
func (c Code) Invite(o Offer, sign Sign) (*Messages, Pending, error) {
	o.Schema, o.Invite = offerSchema, c.ID()
	part, err := seal(c.offerKey(), o, sign)
	if err != nil {
		return nil, Pending{}, err
	}
	return &Messages{Offer: part}, Pending{
		Kind: c.Kind, ID: c.ID(), Key: hex.EncodeToString(c.answerKey()), Expires: c.Expires, Agent: o.Agent, Joiner: o.Joiner,
	}, nil
}

// Open checks an offer: it is of this invitation, whose time is not over, and its key
// signed it. Only an invitation to a team offers a root key. The name for the joiner, if there is
// one, is that of an agent.
func (c Code) Open(r *Messages, now time.Time, check Check) (*Offer, error) {
	if err := c.Current(now); err != nil {
		return nil, err
	}
	if err := r.Offer.proven(c.offerKey()); err != nil {
		return nil, err
	}
	o, err := r.Offer.offer(c.ID(), check)
	if err != nil {
		return nil, err
	}
	if c.Kind != Team && (slices.Contains(o.Inviter.Roles, "root") || len(o.Inviter.Principals) > 0) {
		return nil, fault.New(fault.Denied, fault.UntrustedRoot, "an invitation of two agents offers a root key")
	}
	if o.Agent != "" {
		if err := handoff.CheckAgent(o.Agent); err != nil {
			return nil, malformed("%w", err)
		}
	}
	return o, nil
}

// Current refuses a code whose time is over.
func (c Code) Current(now time.Time) error { return current(c.Expires, now) }

// Join adds the answer to a record.
func (c Code) Join(r *Messages, a Answer, sign Sign) (*Messages, error) {
	a.Schema, a.Invite = answerSchema, c.ID()
	part, err := seal(c.answerKey(), a, sign)
	if err != nil {
		return nil, err
	}
	return &Messages{Offer: r.Offer, Answer: part}, nil
}

// Joined reads the existing answer; nil if there is none, or none by a holder of the code.
func (c Code) Joined(r *Messages, check Check) *Answer {
	if r.Answer == nil || r.Answer.proven(c.answerKey()) != nil {
		return nil
	}
	a, err := r.Answer.answer(c.ID(), check)
	if err != nil {
		return nil
	}
	return a
}

// Open checks the answer to an invitation; nil if there is none yet. Whoever answered has the
// code and the key in the answer, and takes the name given by the invitation.
func (p Pending) Open(r *Messages, now time.Time, check Check) (*Answer, error) {
	if err := current(p.Expires, now); err != nil {
		return nil, err
	}
	if r.Answer == nil {
		return nil, nil
	}
	key, err := hex.DecodeString(p.Key)
	if err != nil {
		return nil, malformed("%w", err)
	}
	if err := r.Answer.proven(key); err != nil {
		return nil, err
	}
	a, err := r.Answer.answer(p.ID, check)
	if err != nil {
		return nil, err
	}
	if err := handoff.CheckAgent(a.Agent); err != nil {
		return nil, malformed("%w", err)
	}
	if p.Agent != "" && a.Agent != p.Agent {
		return nil, fault.New(fault.Denied, fault.AudienceMismatch, "%s answered the invitation of %s", a.Agent, p.Agent)
	}
	return a, nil
}
