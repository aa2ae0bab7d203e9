package handoff

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"githandoff/internal/fault"
)

// Decode reads the stored bytes of an envelope and accepts exactly what Encode writes. The
// size is looked at first, then the text, then the schema, to tell a record of a later version
// from a broken one. Refusals have the code fault.Invalid and one of the reasons too_large,
// malformed, unknown_schema, invalid_id, invalid_path, non_canonical.
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
			wire.Questions[i].Options = []string{} // the member is always present
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

// ErrUnknown is the cause of a refusal of a form, such as a member, that this version does not know.
var ErrUnknown = &fault.Cause{
	Err:  errors.New("unknown to this version"),
	Hint: fault.Fact("a newer version of githandoff may have written it: with that one it can be read"),
}

// checkSchema reads the schema and nothing else.
func checkSchema(b []byte) error {
	var members map[string]json.RawMessage
	if json.Unmarshal(b, &members) != nil || members == nil {
		return nil //nolint:nilerr // the strict reader reports the error
	}
	raw, there := members["schema"]
	if !there {
		return refuse("schema", fault.Malformed, "missing")
	}
	var schema string
	if json.Unmarshal(raw, &schema) != nil || schema == Schema {
		return nil //nolint:nilerr // the strict reader reports the error
	}
	refusal := fault.New(fault.Invalid, fault.UnknownSchema, "schema: %+q, this version reads %q", Clip(schema, maxShown), Schema)
	refusal.Err = ErrUnknown
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

// Digest returns how records name the exact bytes of a blob: "sha256:" and 64
// lower-case hex digits.
func Digest(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// RandomHex draws 128 random bits, in 32 hex digits: a salt, a nonce, the rest of a name.
func RandomHex(random io.Reader) (string, error) {
	var bits [16]byte
	if _, err := io.ReadFull(random, bits[:]); err != nil {
		return "", fmt.Errorf("read random bits: %w", err)
	}
	return hex.EncodeToString(bits[:]), nil
}

// Counts returns the value of the trailer Handoff-Counts, the facts left of a handoff after its
// payload was erased: completed steps, pending blockers, decisions, expected deliverables and
// relevant files, in this order:
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

// Canonical gives the RFC 8785 bytes of v, anything encoding/json takes. It refuses values
// ParseStrict would not read back: invalid UTF-8, NaN, numbers a double does not keep, more
// than MaxDepth levels.
func Canonical(v any) ([]byte, error) {
	// encoding/json would write U+FFFD for a bad byte and say nothing.
	if err := checkUTF8(v); err != nil {
		return nil, err
	}
	var plain bytes.Buffer
	enc := json.NewEncoder(&plain)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fault.New(fault.Invalid, fault.Malformed, "encode JSON: %w", err)
	}
	tree, err := parseTree(plain.Bytes(), 0)
	if err != nil {
		return nil, err
	}
	return appendValue(make([]byte, 0, plain.Len()), tree), nil
}

// appendValue writes what parseTree reads.
func appendValue(b []byte, v any) []byte {
	switch t := v.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		return strconv.AppendBool(b, t)
	case string:
		return appendString(b, t)
	case float64:
		return appendNumber(b, t)
	case []any:
		b = append(b, '[')
		for i, elem := range t {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendValue(b, elem)
		}
		return append(b, ']')
	default:
		object := t.(map[string]any)
		b = append(b, '{')
		// By UTF-16 code units (RFC 8785, 3.2.3): code points beyond U+FFFF begin with a
		// surrogate and so come before U+E000 to U+FFFF.
		byUTF16 := func(a, b string) int { return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b))) }
		for i, name := range slices.SortedFunc(maps.Keys(object), byUTF16) {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendString(b, name), ':')
			b = appendValue(b, object[name])
		}
		return append(b, '}')
	}
}

// appendString escapes only where it must (RFC 8785, 3.2.2.2).
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\b':
			b = append(b, '\\', 'b')
		case '\t':
			b = append(b, '\\', 't')
		case '\n':
			b = append(b, '\\', 'n')
		case '\f':
			b = append(b, '\\', 'f')
		case '\r':
			b = append(b, '\\', 'r')
		default:
			if c < 0x20 {
				b = append(b, '\\', 'u', '0', '0', hexDigit[c>>4], hexDigit[c&15])
			} else {
				b = append(b, c)
			}
		}
	}
	return append(b, '"')
}

// appendNumber writes a double as ECMAScript does (RFC 8785, 3.2.2.3): the
// fewest digits that read back the same, plain from 1e-6 up to 1e21.
func appendNumber(b []byte, f float64) []byte {
	if f == 0 {
		return append(b, '0') // also for -0
	}
	if abs := math.Abs(f); abs >= 1e-6 && abs < 1e21 {
		return strconv.AppendFloat(b, f, 'f', -1, 64)
	}
	b = strconv.AppendFloat(b, f, 'e', -1, 64)
	// Go pads the exponent to two digits: 1e-07.
	if n := len(b); b[n-2] == '0' && (b[n-3] == '-' || b[n-3] == '+') {
		b = append(b[:n-2], b[n-1])
	}
	return b
}
