package invite

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
)

// MaxMessages bounds the messages of an invitation, in bytes: two public keys and their
// signatures.
const MaxMessages = 192 << 10

// Messages is the content of an invitation's ref.
type Messages struct {
	Offer  *Part `json:"offer"`
	Answer *Part `json:"answer,omitempty"`
}

// Part is one side's message.
type Part struct {
	Document  string `json:"document"`
	MAC       string `json:"mac"`
	Signature string `json:"signature"`
}

// Sign signs bytes with the speaker's key, in Namespace.
type Sign func(message []byte) (armored []byte, err error)

// Check says why a text is not the public key behind a signature, in Namespace, over exactly
// these bytes; nil if it is.
type Check func(key string, message, armored []byte) error

// ParseMessages reads the messages of an invitation. It verifies nothing.
func ParseMessages(b []byte) (*Messages, error) {
	if len(b) > MaxMessages {
		return nil, fault.New(fault.Denied, fault.TooLarge, "an invitation of %d bytes, limit %d", len(b), MaxMessages)
	}
	var r Messages
	if err := parse(b, &r); err != nil {
		return nil, err
	}
	if r.Offer == nil {
		return nil, malformed("it offers nothing")
	}
	return &r, nil
}

// Bytes returns the one spelling of a record.
func (r *Messages) Bytes() ([]byte, error) { return handoff.Canonical(r) }

// parse reads canonical JSON.
func parse(b []byte, dst any) error {
	if err := handoff.ParseStrict(b, dst); err != nil {
		return malformed("%w", err)
	}
	again, err := handoff.Canonical(dst)
	if err != nil {
		return malformed("%w", err)
	}
	if !bytes.Equal(again, b) {
		return malformed("it is not in canonical form")
	}
	return nil
}

func malformed(format string, args ...any) *fault.Error {
	f := fault.New(fault.Denied, fault.Malformed, format, args...)
	f.Message = "the invitation at the hub is malformed: " + f.Message
	return f
}

// seal makes a part of a document.
func seal(key []byte, document any, sign Sign) (*Part, error) {
	b, err := handoff.Canonical(document)
	if err != nil {
		return nil, err
	}
	signature, err := sign(b)
	if err != nil {
		return nil, err
	}
	return &Part{Document: string(b), MAC: hex.EncodeToString(mac(key, b)), Signature: string(signature)}, nil
}

func mac(key, message []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write(message)
	return h.Sum(nil)
}

// proven checks the MAC of a part: its writer has the code.
func (p *Part) proven(key []byte) error {
	got, err := hex.DecodeString(p.MAC)
	if err != nil || !hmac.Equal(got, mac(key, []byte(p.Document))) {
		return fault.New(fault.Denied, fault.InviteForged, "the hub's record of this invitation was written without its code").
			WithHints(fault.Fact("someone with write access to the hub put it there; nothing was trusted"))
	}
	return nil
}

// offer reads an offer, see read.
func (p *Part) offer(id string, check Check) (*Offer, error) {
	o := new(Offer)
	return o, p.read(o, offerSchema, &o.Invite, id, &o.Key, check)
}

// answer reads an answer, see read.
func (p *Part) answer(id string, check Check) (*Answer, error) {
	a := new(Answer)
	return a, p.read(a, answerSchema, &a.Invite, id, &a.Key, check)
}

// read decodes a document of the invitation with the given id, and checks its key's signature. A
// holder of two codes could seal a document of one invitation for the other.
func (p *Part) read(dst any, schema string, of *string, id string, key *string, check Check) error {
	if err := ofSchema(p.Document, schema); err != nil {
		return err
	}
	if err := parse([]byte(p.Document), dst); err != nil {
		return err
	}
	if *of != id {
		return fault.New(fault.Denied, fault.InviteForged, "the hub's record of this invitation was signed for another one").
			WithHints(fault.Fact("somebody who has this code put it there; nothing was trusted"))
	}
	return check(*key, []byte(p.Document), []byte(p.Signature))
}

// ofSchema requires a schema before anything else is decoded: another version of githandoff has
// other members.
func ofSchema(document, want string) error {
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal([]byte(document), &head); err != nil || head.Schema == want {
		return nil //nolint:nilerr // the caller parses the document and reports the error
	}
	return malformed("it is of the schema %q, not %q", head.Schema, want).
		WithHints(fault.Fact("the other side has another version of githandoff: update the older one, then make a new invitation"))
}

// Shown reads the messages of an invitation without its code, and checks their signatures by the
// keys in them. The answer is nil if there is none.
func (r *Messages) Shown(id string, check Check) (*Offer, *Answer, error) {
	offer, err := r.Offer.offer(id, check)
	if err != nil || r.Answer == nil {
		return offer, nil, err
	}
	answer, err := r.Answer.answer(id, check)
	return offer, answer, err
}
