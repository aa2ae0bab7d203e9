package obo

import (
	"slices"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
)

// SignedToken is one token with its detached signature: obo/<i>.json and obo/<i>.sig.
type SignedToken struct {
	Token []byte
	Sig   []byte
}

// Keys answers for the keys pinned by the verifier. Its refusals are those of the chain,
// *fault.Error values with their reason.
type Keys interface {
	// Verify checks the one signature in armored over message (an SSHSIG in the namespace), and
	// returns the kid of the pinned key that made it.
	Verify(namespace string, message, armored []byte) (kid string, err error)

	// ValidAt says why the key was not valid at a time; nil if it was.
	ValidAt(kid string, at time.Time) error

	// Root says what a key with the role root may grant. It returns an error for any other key.
	Root(kid string) (RootPowers, error)
}

// RootPowers limit the first tokens of a root key.
type RootPowers struct {
	Principals []string   // principals that the key speaks for
	Limits     [][]string // max_scope lists; a scope must be within each
}

// VerifyContext has the facts a chain is compared with. All but Principal and Ancestors are
// required.
type VerifyContext struct {
	Now    time.Time
	Keys   Keys
	HomeIs func(repoID string) bool // whether the home answers to this repo id

	// From the verified envelope and its record.
	Handoff   handoff.ID
	Digest    string       // digest of the stored envelope blob; see handoff.Digest
	JTI       string       // JTI in the envelope's member obo
	Agent     string       // agent in whose inbox the handoff is
	Ancestors []handoff.ID // parent, its parent and so on, as far as the lineage goes
	Principal string       // principal in a Handoff-Principal with "(token)"; "" if there is none

	// Revoked looks at the home for an entry, by root or by the issuer, that revokes the token. An
	// error is status_unknown.
	Revoked func(*Claims) (bool, error)
}

// VerifyChain verifies a chain, root first, and stops at the first failure, in the order given
// in the package comment.
func VerifyChain(links []SignedToken, ctx VerifyContext) (*VerifiedToken, error) {
	if len(links) < 1 || len(links) > MaxLinks {
		return nil, deny(fault.DepthInvalid, "a chain of %d tokens, want 1 to %d", len(links), MaxLinks)
	}
	for _, l := range links {
		if len(l.Token) > MaxToken || len(l.Sig) > MaxSignature {
			return nil, fault.New(fault.Invalid, fault.TooLarge, "token: %d bytes and %d of signature, limits %d and %d",
				len(l.Token), len(l.Sig), MaxToken, MaxSignature)
		}
	}
	chain := make([]*Claims, 0, len(links))
	for range links {
		c, err := ctx.link(links, chain)
		if err != nil {
			return nil, err
		}
		chain = append(chain, c)
	}
	for _, c := range chain {
		if err := ctx.checkStatus(c); err != nil {
			return nil, err
		}
	}
	return &VerifiedToken{leaf: chain[len(chain)-1].clone()}, nil
}

// link verifies the next link after above, whose links are verified already.
func (ctx *VerifyContext) link(links []SignedToken, above []*Claims) (*Claims, error) {
	i := len(above)
	c, err := ctx.open(links[i], i == 0)
	if err != nil {
		return nil, err
	}
	var grant RootPowers
	if i == 0 {
		if grant, err = ctx.Keys.Root(c.Issuer); err != nil {
			return nil, untrustedRoot(err)
		}
	}
	if slices.ContainsFunc(above, func(other *Claims) bool { return other.JTI == c.JTI }) {
		return nil, malformed("jti", "the id of another token of this chain")
	}
	if err := ctx.checkPlace(c, len(links)-1-i); err != nil {
		return nil, err
	}
	if i > 0 {
		err = follows(above[i-1], links[i-1].Token, c)
	} else {
		err = ctx.checkRoot(c, grant)
	}
	if err != nil {
		return nil, err
	}
	return c, ctx.checkTime(c)
}

// open looks at the signature before it decodes anything.
func (ctx *VerifyContext) open(l SignedToken, root bool) (*Claims, error) {
	kid, err := ctx.Keys.Verify(Namespace, l.Token, l.Sig)
	if root && fault.Is(err, fault.UntrustedKey) {
		return nil, untrustedRoot(err)
	}
	if err != nil {
		return nil, err
	}
	c, err := Decode(l.Token)
	if err != nil {
		return nil, err
	}
	if c.Issuer != kid {
		return nil, deny(fault.SignatureInvalid, "signed by %s, not by its issuer %s", kid, c.Issuer)
	}
	// A token needs a key valid then and now.
	for _, at := range []time.Time{time.Unix(c.IssuedAt, 0).UTC(), ctx.Now} {
		if err := ctx.Keys.ValidAt(kid, at); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func untrustedRoot(err error) error {
	return deny(fault.UntrustedRoot, "%w", err).
		WithHints(fault.Fact("a person decides whether that key is a root here: ask whoever keeps the trust of this repository"))
}

// checkPlace compares a token with the home, and with the handoff for which it must be: the current
// one if below is 0, or else the ancestor that many generations up. For an ancestor that is no
// longer in the lineage, only par_hash counts.
func (ctx *VerifyContext) checkPlace(c *Claims, below int) error {
	if !slices.ContainsFunc(c.Audience, ctx.HomeIs) {
		return deny(fault.AudienceMismatch, "%s is not for this repository", c.JTI)
	}
	switch {
	case below == 0 && (c.Handoff.ID != ctx.Handoff || digestPrefix+c.Handoff.SHA256 != ctx.Digest || c.JTI != ctx.JTI):
		return deny(fault.HandoffMismatch, "%s is not the one of handoff %s", c.JTI, ctx.Handoff)
	case below == 0 && c.Actor.Subject != ctx.Agent:
		return deny(fault.AudienceMismatch, "%s is for agent %s, not %s", c.JTI, c.Actor.Subject, ctx.Agent)
	case below == 1 && len(ctx.Ancestors) == 0, below > 0 && below <= len(ctx.Ancestors) && c.Handoff.ID != ctx.Ancestors[below-1]:
		return deny(fault.HandoffMismatch, "%s is for handoff %s, not for the ancestor of %s", c.JTI, c.Handoff.ID, ctx.Handoff)
	}
	return nil
}

// checkRoot compares the first token with the powers of its key.
func (ctx *VerifyContext) checkRoot(c *Claims, grant RootPowers) error {
	for _, limit := range grant.Limits {
		if s, found := uncovered(limit, c.Scope); found {
			return deny(fault.NotNarrower, "scope %q is not within the max_scope of key %s", s, c.Issuer)
		}
	}
	switch {
	case c.ParentHash != "":
		return deny(fault.ParHashMismatch, "the first token of a chain names a parent token")
	case !slices.Contains(grant.Principals, c.Subject):
		return deny(fault.PrincipalMismatch, "key %s is not trusted to speak for %s", c.Issuer, c.Subject)
	case ctx.Principal != "" && c.Subject != ctx.Principal:
		return deny(fault.PrincipalMismatch, "on behalf of %s, but the record says %s", c.Subject, ctx.Principal)
	}
	return nil
}

func (ctx *VerifyContext) checkTime(c *Claims) error {
	switch now := ctx.Now.Unix(); {
	case c.IssuedAt > now+int64(ClockSkew/time.Second):
		return deny(fault.NotYetValid, "%s begins at %s", c.JTI, stamp(c.IssuedAt))
	case now >= c.ExpiresAt:
		return deny(fault.Expired, "%s ended at %s", c.JTI, stamp(c.ExpiresAt))
	}
	return nil
}

func (ctx *VerifyContext) checkStatus(c *Claims) error {
	revoked, err := ctx.Revoked(c)
	switch {
	case err != nil:
		return deny(fault.StatusUnknown, "was %s revoked? %w", c.JTI, err)
	case revoked:
		return deny(fault.Revoked, "%s was revoked", c.JTI)
	}
	return nil
}

// follows says whether child may follow the parent with these bytes: it only takes away, and a
// holder of the parent made it.
func follows(parent *Claims, parentBytes []byte, child *Claims) error {
	if err := narrows(parent, child); err != nil {
		return err
	}
	switch {
	case child.MaxDepth >= parent.MaxDepth:
		return deny(fault.DepthInvalid, "%d more may follow it; its parent has %d, and it must have fewer", child.MaxDepth, parent.MaxDepth)
	case child.ParentHash != hashOf(parentBytes):
		return deny(fault.ParHashMismatch, "its par_hash is not that of its parent token")
	case !slices.Contains(parent.Confirmation.Keys, child.Issuer):
		return deny(fault.IssuerNotHolder, "issued by %s, which does not hold its parent token", child.Issuer)
	case child.Subject != parent.Subject:
		return deny(fault.PrincipalAltered, "on behalf of %s, but its parent token is on behalf of %s", child.Subject, parent.Subject)
	}
	return nil
}

func narrows(parent, child *Claims) error {
	if s, found := uncovered(parent.Scope, child.Scope); found {
		return deny(fault.NotNarrower, "scope %q is not within its parent token", s)
	}
	for _, id := range child.Audience {
		if !slices.Contains(parent.Audience, id) {
			return deny(fault.NotNarrower, "audience %s is not in its parent token", id)
		}
	}
	switch {
	case child.ExpiresAt > parent.ExpiresAt:
		return deny(fault.NotNarrower, "it ends at %s, after its parent token (%s)", stamp(child.ExpiresAt), stamp(parent.ExpiresAt))
	case child.IssuedAt < parent.IssuedAt-int64(ClockSkew/time.Second):
		return deny(fault.NotNarrower, "it begins at %s, before its parent token (%s)", stamp(child.IssuedAt), stamp(parent.IssuedAt))
	}
	return nil
}
