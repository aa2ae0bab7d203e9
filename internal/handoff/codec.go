package handoff

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"githandoff/internal/fault"
)

// Decode reads the stored bytes of an envelope and accepts exactly what Encode
// writes. The size is looked at first, then the text, then the schema, so that
// a record of a later version is told apart from a broken one. Refusals have the
// code fault.Invalid and one of the reasons too_large, malformed,
// unknown_schema, invalid_id, invalid_path, non_canonical.
func Decode(b []byte) (*Envelope, error) {
	if len(b) > MaxEnvelope {
		return nil, tooLarge("document", len(b), MaxEnvelope)
	}
	if err := checkText(b); err != nil {
		return nil, err
	}
	if err := checkSchema(b); err != nil {
		return nil, err
	}
	var e Envelope
	if err := ParseStrict(b, &e); err != nil {
		return nil, err
	}
	again, err := Encode(&e)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(b, again) {
		return nil, refuse("document", fault.NonCanonical, "not in canonical form (RFC 8785), first difference at byte %d", difference(b, again))
	}
	return &e, nil
}

// Encode validates the envelope and gives its canonical bytes.
func Encode(e *Envelope) ([]byte, error) {
	if err := e.Validate(); err != nil {
		return nil, err
	}
	wire := *e
	wire.Questions = slices.Clone(e.Questions)
	for i := range wire.Questions {
		if wire.Questions[i].Options == nil {
			wire.Questions[i].Options = []string{} // always present
		}
	}
	b, err := Canonical(&wire)
	if err != nil {
		return nil, err
	}
	if len(b) > MaxEnvelope {
		return nil, tooLarge("document", len(b), MaxEnvelope)
	}
	return b, nil
}

// checkSchema reads the schema and nothing else.
func checkSchema(b []byte) error {
	var members map[string]json.RawMessage
	if json.Unmarshal(b, &members) != nil || members == nil {
		return nil //nolint:nilerr // the strict reader says what is wrong
	}
	raw, there := members["schema"]
	if !there {
		return refuse("schema", fault.Malformed, "missing")
	}
	var schema string
	if json.Unmarshal(raw, &schema) != nil || schema == Schema {
		return nil //nolint:nilerr // likewise
	}
	refusal := fault.New(fault.Invalid, fault.UnknownSchema, "schema: %+q, this version reads %q", clip(schema), Schema)
	if name, _, _ := strings.Cut(Schema, "/"); strings.HasPrefix(schema, name+"/") {
		return refusal.WithHints(fault.Fact("upgrade githandoff: the sender's version is newer"))
	}
	return refusal
}

func difference(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// Digest is how records name the exact bytes of a blob: "sha256:" and 64
// lower-case hex digits.
func Digest(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// NewSalt makes an Envelope.Salt from 128 bits of random.
func NewSalt(random io.Reader) (string, error) {
	var bits [16]byte
	if _, err := io.ReadFull(random, bits[:]); err != nil {
		return "", fmt.Errorf("read random bits of a salt: %w", err)
	}
	return hex.EncodeToString(bits[:]), nil
}

// Counts is the value of the trailer Handoff-Counts, what can still be said of
// a handoff after its payload was erased: completed steps, pending blockers,
// decisions, expected deliverables and relevant files, in this order:
//
//	steps=3 blockers=0 decisions=2 deliverables=1 files=4
func (e *Envelope) Counts() string {
	decisions, deliverables := 0, 0
	if e.Context != nil {
		decisions = len(e.Context.Decisions)
	}
	if e.Expectations != nil {
		deliverables = len(e.Expectations.Deliverables)
	}
	return fmt.Sprintf("steps=%d blockers=%d decisions=%d deliverables=%d files=%d",
		len(e.CompletedSteps), len(e.PendingBlockers), decisions, deliverables, len(e.RelevantFiles))
}
