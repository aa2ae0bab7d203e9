package obo

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"slices"
	"strings"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
)

const (
	// Type is the only value of Claims.Type known to this version.
	Type   = family + "1"
	family = "githandoff-obo/" // begins the type in each version

	// Namespace is that of SSHSIG signatures over tokens.
	Namespace = "obo@githandoff"
)

// Limits.
const (
	MaxToken     = 16384 // size of one token, in bytes
	MaxSignature = 16384 // size of a token's armored signature, in bytes
	MaxLinks     = 4     // tokens in a chain
	maxKeys      = 16    // keys in cnf
	maxAudience  = 16    // repo ids in aud
	MaxScopes    = 64

	// MaxLifetime bounds exp - iat; DefaultLifetime is the lifetime of a token that nothing ends sooner.
	MaxLifetime     = 7 * 24 * time.Hour
	DefaultLifetime = 24 * time.Hour

	// ClockSkew is how far two clocks may be apart.
	ClockSkew = 5 * time.Minute
)

// Claims are the claims of a token. All members but ParentHash are always present.
type Claims struct {
	Type         string       `json:"typ"`
	JTI          string       `json:"jti"` // see NewJTI
	Issuer       string       `json:"iss"` // key id of the issuer, who signs the token
	Subject      string       `json:"sub"` // the principal, user:alice@example.com
	Actor        Actor        `json:"act"`
	Confirmation Confirmation `json:"cnf"`
	Audience     []string     `json:"aud"`   // repo ids, sorted
	Scope        []string     `json:"scope"` // see Scope; sorted
	IssuedAt     int64        `json:"iat"`   // Unix seconds, like ExpiresAt
	ExpiresAt    int64        `json:"exp"`   // first second at which the token is not valid
	Handoff      HandoffRef   `json:"handoff"`
	MaxDepth     int          `json:"del_max_depth"`      // number of tokens that may follow in the chain
	ParentHash   string       `json:"par_hash,omitempty"` // hex SHA-256 of the parent's bytes
}

// Actor is the agent acting for the principal (RFC 8693, section 4.1).
type Actor struct {
	Subject string `json:"sub"` // an agent's name
}

// Confirmation lists keys. The actor must prove one of them (RFC 7800): a pool of workers may
// share an inbox.
type Confirmation struct {
	Keys []string `json:"kids"` // 1 to MaxKeys, sorted
}

// HandoffRef names the one handoff of a token.
type HandoffRef struct {
	ID     handoff.ID `json:"id"`
	SHA256 string     `json:"sha256"` // hex digest of the stored envelope blob
}

// Decode reads the bytes of a token and accepts only the output of Encode. It checks the
// form and verifies nothing. Refusals have the code fault.Invalid and the reason too_large,
// malformed or non_canonical.
func Decode(b []byte) (*Claims, error) {
	if len(b) > MaxToken {
		return nil, fault.New(fault.Invalid, fault.TooLarge, "token: %d bytes, limit %d", len(b), MaxToken)
	}
	if err := checkType(b); err != nil {
		return nil, err
	}
	var c Claims
	if err := handoff.ParseStrict(b, &c); err != nil {
		return nil, fault.New(fault.Invalid, fault.Malformed, "token: %w", err)
	}
	again, err := Encode(&c)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(b, again) {
		return nil, fault.New(fault.Invalid, fault.NonCanonical, "token: not in canonical form (RFC 8785)")
	}
	return &c, nil
}

// checkType tells a foreign token from a broken one. No message repeats any part of the token,
// because it may be somebody's secret.
func checkType(b []byte) error {
	var members map[string]any
	if handoff.ParseStrict(b, &members) == nil && members["typ"] == Type {
		return nil
	}
	if typ, _ := members["typ"].(string); strings.HasPrefix(typ, family) {
		return fault.New(fault.Invalid, fault.Malformed, "token: its type is %w, which reads %s", handoff.ErrUnknown, Type)
	}
	return fault.New(fault.Invalid, fault.Malformed, "token: not a JSON object of type %s", Type).
		WithHints(fault.Fact("tokens of other systems are refused; a person issues one with githandoff emit --on-behalf-of"))
}

// Encode validates the claims and returns the bytes to sign.
func Encode(c *Claims) ([]byte, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	b, err := handoff.Canonical(c)
	if err != nil {
		return nil, err
	}
	if len(b) > MaxToken {
		return nil, fault.New(fault.Invalid, fault.TooLarge, "token: %d bytes, limit %d", len(b), MaxToken)
	}
	return b, nil
}

// NewJTI makes the name of a token: "obo_" and 32 hex digits of 128 random bits. It is needed
// before the token: the envelope contains this name, and the token the digest of the envelope.
func NewJTI(random io.Reader) (string, error) {
	digits, err := handoff.RandomHex(random)
	return "obo_" + digits, err
}

func hashOf(token []byte) string {
	sum := sha256.Sum256(token)
	return hex.EncodeToString(sum[:])
}

// clone returns a copy of c with lists of its own.
func (c *Claims) clone() Claims {
	d := *c
	d.Confirmation.Keys = slices.Clone(c.Confirmation.Keys)
	d.Audience = slices.Clone(c.Audience)
	d.Scope = slices.Clone(c.Scope)
	return d
}
