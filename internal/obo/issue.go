package obo

import (
	"cmp"
	"strings"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
)

// Params has the contents of a new token. Lists may be in any order.
type Params struct {
	JTI    string // from NewJTI; the envelope names it
	Issuer string // key id of the issuer
	Agent  string // agent that receives the token
	Keys   []string

	Handoff handoff.ID
	Digest  string // digest of the stored envelope blob; see handoff.Digest

	IssuedAt  time.Time
	ExpiresAt time.Time

	// Attenuate replaces an empty one by the parent's.
	Principal string
	Audience  []string
	Scope     []string
}

// Issue makes a token of depth 0 for the principal's root key to sign; MaxLinks-1 more may follow it.
// The caller's trust says whether this key may; see [CoversAll] for its limits. Invalid claims are
// refused as by Encode.
func Issue(p Params) ([]byte, error) {
	c := p.claims()
	c.MaxDepth = MaxLinks - 1
	return Encode(c)
}

// Attenuate makes a token to follow the one with the given bytes, verified by the caller, for a
// key in the parent's cnf to sign. It refuses the same faults as verification: not_narrower,
// depth_invalid, issuer_not_holder, principal_altered, expired.
func Attenuate(parent []byte, p Params) ([]byte, error) {
	above, err := Decode(parent)
	if err != nil {
		return nil, err
	}
	if p.IssuedAt.Unix() >= above.ExpiresAt {
		return nil, deny(fault.Expired, "its parent token ended at %s", stamp(above.ExpiresAt))
	}
	c := p.claims()
	c.Subject = cmp.Or(c.Subject, above.Subject)
	c.ParentHash = hashOf(parent)
	if len(p.Audience) == 0 {
		c.Audience = above.Audience
	}
	if len(p.Scope) == 0 {
		c.Scope = above.Scope
	}
	c.MaxDepth = max(above.MaxDepth-1, 0)
	token, err := Encode(c)
	if err != nil {
		return nil, err
	}
	if err := follows(above, parent, c); err != nil {
		return nil, err
	}
	return token, nil
}

func (p Params) claims() *Claims {
	return &Claims{
		Type: Type, JTI: p.JTI, Issuer: p.Issuer, Subject: p.Principal,
		Actor: Actor{Subject: p.Agent}, Confirmation: Confirmation{Keys: sortedSet(p.Keys)},
		Audience: sortedSet(p.Audience), Scope: sortedSet(p.Scope),
		IssuedAt: p.IssuedAt.Unix(), ExpiresAt: p.ExpiresAt.Unix(),
		Handoff: HandoffRef{ID: p.Handoff, SHA256: strings.TrimPrefix(p.Digest, digestPrefix)},
	}
}

const digestPrefix = "sha256:"

func stamp(seconds int64) string { return handoff.FormatTime(time.Unix(seconds, 0)) }
