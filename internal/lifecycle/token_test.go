package lifecycle

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/enginetest"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/obo"
	"githandoff/internal/record"
	"githandoff/internal/sign"
)

const alice = "user:alice@example.com"

// delegation is a fixture with a person, who has a root key, and two agents that work for her.
type delegation struct {
	*fixture
	alice, fixer, qa *Engine
}

func newDelegation(t testing.TB) *delegation {
	t.Helper()
	c := &delegation{fixture: newFixture(t)}
	c.alice = c.stranger(t, "alice@example.com")
	c.Pin(t, sign.TrustEntry{
		KID: c.alice.Author.Signer.KID(), Key: c.alice.Author.Signer.Public().Text(),
		Roles: []string{sign.RoleRoot}, Principals: []string{alice}, MaxScope: []string{"repo.*"},
	})
	c.fixer, c.qa = c.agent(t, "fixer"), c.agent(t, "qa")
	return c
}

// first returns the authority of the first token in these tests.
func first() Authority { return Authority{Principal: alice, Scope: []string{"repo.write:src/*"}} }

// grant offers fixer a handoff with a first token.
func (c *delegation) grant(t testing.TB, edit ...func(*handoff.Envelope)) Place {
	t.Helper()
	env := c.envelope(t, "investigator", "fixer")
	for _, f := range edit {
		f(env)
	}
	return c.send(t, c.alice, env, first())
}

func (c *delegation) send(t testing.TB, by *Engine, env *handoff.Envelope, a Authority) Place {
	t.Helper()
	p, err := by.Author.PrepareFor(t.Context(), c.home, env, a)
	require.NoError(t, err)
	if a.Above != nil {
		above := c.load(t, by, Place{Agent: by.Author.Actor, ID: a.Above.State().ID})
		if above.Phase() == Held {
			_, err = by.Delegate(t.Context(), c.home, ClaimProof{Place: Place{Agent: by.Author.Actor, ID: above.ID}, Nonce: above.Claim.Nonce}, env.ID)
			require.NoError(t, err)
		}
	}
	_, err = by.Offer(t.Context(), c.home, p)
	require.NoError(t, err)
	return Place{Agent: p.Agent, ID: p.Record.ID}
}

func (c *delegation) verify(t testing.TB, by *Engine, p Place) *Verified {
	t.Helper()
	v, err := by.Verifier.Verify(t.Context(), c.home, c.load(t, by, p), Options{})
	require.NoError(t, err)
	return v
}

// child returns an envelope that continues the handoff of v, from one agent to another.
func (c *delegation) child(t testing.TB, v *Verified, from, to *Engine) *handoff.Envelope {
	t.Helper()
	env := c.envelope(t, from.Author.Actor, to.Author.Actor)
	next := handoff.Follow(v.Envelope(), env.CreatedAt, env.ExpiresAt)
	env.Parent, env.Lineage = next.Parent, next.Lineage
	return env
}

// passOn delegates from the handoff that fixer holds to a child for qa.
func (c *delegation) passOn(t testing.TB, p Place) Place {
	t.Helper()
	above := c.verify(t, c.fixer, p)
	return c.send(t, c.fixer, c.child(t, above, c.fixer, c.qa), Authority{Above: above})
}

func refusedAs(t testing.TB, reason string, err error) {
	t.Helper()
	require.Error(t, err)
	require.NotNil(t, fault.As(err), err)
	assert.Equal(t, fault.Reason(reason), fault.As(err).Reason, err)
}

func TestTokenGoesWithTheHandoff(t *testing.T) {
	c := newDelegation(t)
	p := c.grant(t)
	v, h, err := c.tryClaim(t.Context(), c.fixer, p, func(r *ClaimRequest) { r.Lease = MaxLease })
	require.NoError(t, err)
	token := v.Token()
	require.NotNil(t, token)
	assert.Equal(t, alice, token.Principal())
	assert.Equal(t, []string{c.fixer.Author.Signer.KID()}, token.Leaf().Confirmation.Keys)
	require.NoError(t, token.Allows("repo.write:src/a.go"))
	assert.Equal(t, enginetest.Start().Add(obo.DefaultLifetime), token.Expires())
	for _, e := range v.State().Entries {
		assert.Equal(t, token.JTI(), e.Record().Token)
		assert.Equal(t, alice+" (token)", e.Record().Principal)
	}

	c.Pass(23 * time.Hour)
	s, err := c.fixer.Renew(t.Context(), c.home, h, Renewal{Lease: 10 * time.Hour})
	require.NoError(t, err)
	assert.Equal(t, token.Expires(), s.Lease, "no longer than the token")
	c.Pass(2 * time.Hour)
	_, err = c.fixer.Renew(t.Context(), c.home, h, Renewal{Lease: time.Hour})
	refusedAs(t, "expired", err)
	_, _, err = c.fixer.Acknowledge(t.Context(), c.home, h, Outcome{})
	require.NoError(t, err, "what was done in time may be said late")
}

func TestTokenOfAChildIsNarrower(t *testing.T) {
	c := newDelegation(t)
	p := c.grant(t, func(e *handoff.Envelope) { e.ExpiresAt = handoff.FormatTime(c.Now().Add(2 * time.Hour)) })
	h := c.claim(t, c.fixer, p)
	c.Pass(time.Minute)
	next := c.passOn(t, p)
	v, _, err := c.tryClaim(t.Context(), c.qa, next, func(r *ClaimRequest) { r.Lease = MaxLease })
	require.NoError(t, err)
	assert.Equal(t, enginetest.Start().Add(2*time.Hour), v.Token().Expires(), "as long as the one above")
	assert.Equal(t, v.Token().Expires(), v.State().Lease)
	above := c.verify(t, c.fixer, p)
	require.Len(t, v.Links(), 2)
	assert.Equal(t, above.Links(), v.Links()[:1], "the exact bytes")

	for name, tc := range map[string]struct {
		reason string
		by     *Engine
		want   Authority
	}{
		"wider scope":       {"not_narrower", c.fixer, Authority{Above: above, Scope: []string{"repo.write"}}},
		"another action":    {"not_narrower", c.fixer, Authority{Above: above, Scope: []string{"repo.push:refs/heads/x"}}},
		"wider audience":    {"not_narrower", c.fixer, Authority{Above: above, Audience: []string{"git+https://example.com/x"}}},
		"another principal": {"principal_altered", c.fixer, Authority{Above: above, Principal: "user:bob@example.com"}},
		"not its holder":    {"issuer_not_holder", c.qa, Authority{Above: above}},
		"an agent as root":  {"untrusted_root", c.fixer, first()},
		"beyond the key":    {"not_narrower", c.alice, Authority{Principal: alice, Scope: []string{"deploy"}}},
		"for somebody else": {"principal_mismatch", c.alice, Authority{Principal: "user:bob@example.com", Scope: []string{"repo.write"}}},
	} {
		t.Run(name, func(t *testing.T) {
			env := c.child(t, above, c.fixer, c.qa)
			_, err := tc.by.Author.PrepareFor(t.Context(), c.home, env, tc.want)
			refusedAs(t, tc.reason, err)
			assert.Nil(t, env.OBO)
		})
	}

	// An ended handoff gives no authority to pass on, even to an agent that kept the bytes.
	_, _, err = c.fixer.Acknowledge(t.Context(), c.home, h, Outcome{})
	require.NoError(t, err)
	c.verify(t, c.qa, next) // the earlier child stays valid
	c.Pass(time.Hour)
	late := c.send(t, c.fixer, c.child(t, above, c.fixer, c.qa), Authority{Above: above})
	_, _, err = c.tryClaim(t.Context(), c.qa, late)
	refusedAs(t, "issuer_not_holder", err)
}

func TestDelegationHasADepthLimit(t *testing.T) {
	c := newDelegation(t)
	p := c.grant(t)
	holder, other := c.fixer, c.qa
	for n := 1; ; n++ {
		c.claim(t, holder, p)
		v := c.verify(t, holder, p)
		env := c.child(t, v, holder, other)
		if n == obo.MaxLinks {
			_, err := holder.Author.PrepareFor(t.Context(), c.home, env, Authority{Above: v})
			refusedAs(t, "depth_invalid", err)
			return
		}
		p = c.send(t, holder, env, Authority{Above: v})
		holder, other = other, holder
	}
}

// Each token is signed by a trusted key, but the tokens do not fit together.
func TestTokensThatDoNotFit(t *testing.T) {
	type parts struct {
		env   handoff.Envelope
		rec   record.Record
		links []obo.SignedToken
	}
	for name, tc := range map[string]struct {
		reason string
		bend   func(p *parts)
	}{
		"left out of the tree":      {"handoff_mismatch", func(p *parts) { p.links = nil }},
		"not in the trailers":       {"handoff_mismatch", func(p *parts) { p.rec = record.Record{} }},
		"another in the trailers":   {"handoff_mismatch", func(p *parts) { p.rec.Token = "obo_" + strings.Repeat("0", 32) }},
		"another in the envelope":   {"handoff_mismatch", func(p *parts) { p.env.OBO = &handoff.OBORef{JTI: "obo_" + strings.Repeat("0", 32), Path: "obo/0.json"} }},
		"at another path":           {"handoff_mismatch", func(p *parts) { p.env.OBO = &handoff.OBORef{JTI: p.env.OBO.JTI, Path: "obo/1.json"} }},
		"declared":                  {"principal_mismatch", func(p *parts) { p.rec.Principal = alice + " (declared)" }},
		"for another principal":     {"principal_mismatch", func(p *parts) { p.rec.Principal = "user:bob@example.com (token)" }},
		"twice":                     {"handoff_mismatch", func(p *parts) { p.links = append(p.links, p.links[0]) }},
		"one byte off":              {"signature_invalid", func(p *parts) { p.links[0].Token = []byte(strings.Replace(string(p.links[0].Token), "src", "SRC", 1)) }},
		"no signature":              {"unsigned", func(p *parts) { p.links[0].Sig = nil }},
		"larger than a token is":    {"too_large", func(p *parts) { p.links[0].Token = make([]byte, obo.MaxToken+1) }},
		"with another text":         {"handoff_mismatch", func(p *parts) { p.env.Goal = "Do something else" }},
		"with another handoff's id": {"handoff_mismatch", func(p *parts) { p.env.ID = handoff.DeriveID(enginetest.Start(), "another") }},
	} {
		t.Run(name, func(t *testing.T) {
			c := newDelegation(t)
			good, err := c.alice.Author.PrepareFor(t.Context(), c.home, c.envelope(t, "investigator", "fixer"), first())
			require.NoError(t, err)
			p := &parts{env: *good.Envelope, rec: record.Record{Token: good.Record.Token, Principal: good.Record.Principal}}
			for _, o := range good.Objects {
				switch {
				case o.Type != "blob":
				case strings.Contains(string(o.Body), obo.Type):
					p.links = []obo.SignedToken{{Token: o.Body}}
				case strings.Contains(string(o.Body), "SIGNATURE"):
					p.links[0].Sig = o.Body
				}
			}
			tc.bend(p)
			assert.Equal(t, tc.reason, c.offerBent(t, c.alice, &p.env, p.rec, p.links))
		})
	}

	t.Run("signed by another key than the payload", func(t *testing.T) {
		c := newDelegation(t)
		good, err := c.alice.Author.PrepareFor(t.Context(), c.home, c.envelope(t, "investigator", "fixer"), first())
		require.NoError(t, err)
		bob := c.person(t, "bob@example.com")
		rec := record.Record{Token: good.Record.Token, Principal: good.Record.Principal}
		links := []obo.SignedToken{{Token: good.Objects[1].Body, Sig: good.Objects[2].Body}}
		reason := c.offerBent(t, bob, good.Envelope, rec, links)
		assert.Equal(t, "status_unknown", reason, "no log has the offer that its issuer made")
		s := c.load(t, c.fixer, Place{Agent: "fixer", ID: good.Record.ID})
		_, err = c.fixer.Verifier.Verify(t.Context(), c.home, s, Options{UnknownStands: true})
		refusedAs(t, "handoff_mismatch", err)
	})
}

// offerBent offers a payload made of the given parts, and returns the reason with which its claim is refused.
func (c *delegation) offerBent(t *testing.T, by *Engine, env *handoff.Envelope, rec record.Record, links []obo.SignedToken) string {
	t.Helper()
	raw, err := handoff.Encode(env)
	require.NoError(t, err)
	bent, err := by.Author.prepare(t.Context(), c.home, env, raw, rec, links)
	require.NoError(t, err)
	_, err = by.Offer(t.Context(), c.home, bent)
	require.NoError(t, err)
	_, _, err = c.tryClaim(t.Context(), c.fixer, Place{Agent: "fixer", ID: bent.Record.ID})
	require.Error(t, err)
	require.NotNil(t, fault.As(err), err)
	return string(fault.As(err).Reason)
}

func TestClaimNeedsAKeyThatTheTokenNames(t *testing.T) {
	c := newDelegation(t)
	p := c.grant(t)
	second := c.agent(t, "fixer") // pinned after the token was issued
	_, _, err := c.tryClaim(t.Context(), second, p)
	refusedAs(t, "holder_binding_failed", err)
	s := c.load(t, c.fixer, p)
	assert.Equal(t, Open, s.Phase(), "nothing was written")

	// If a client claims nevertheless, no reader accepts the claim.
	c.forge(t, second, s, record.Claimed)
	_, err = c.fixer.Verifier.Verify(t.Context(), c.home, c.load(t, c.fixer, p), Options{})
	refusedAs(t, "holder_binding_failed", err)
}

// A step must name the token and the principal of the offer.
func TestStepsKeepToTheToken(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		edit   func(*record.Record)
	}{
		"no token":          {"digest_mismatch", func(r *record.Record) { r.Token, r.Principal = "", "" }},
		"another token":     {"digest_mismatch", func(r *record.Record) { r.Token = "obo_" + strings.Repeat("0", 32) }},
		"another principal": {"principal_altered", func(r *record.Record) { r.Principal = "user:bob@example.com (token)" }},
	} {
		t.Run(name, func(t *testing.T) {
			c := newDelegation(t)
			p := c.grant(t)
			c.forge(t, c.fixer, c.load(t, c.fixer, p), record.Claimed, tc.edit)
			refusedAs(t, tc.reason, c.load(t, c.fixer, p).Dispute)
		})
	}
}

func TestRevocation(t *testing.T) {
	c := newDelegation(t)
	p := c.grant(t)
	h := c.claim(t, c.fixer, p)
	next := c.passOn(t, p)
	below := c.claim(t, c.qa, next)

	// The agent that issued the token can revoke it while the handoff is held. No other agent can.
	_, err := c.qa.Withdraw(t.Context(), c.home, p, record.Revoked, Outcome{})
	refusedAs(t, "claimed", err)
	s, err := c.fixer.Withdraw(t.Context(), c.home, next, record.Revoked, Outcome{})
	require.NoError(t, err)
	assert.Equal(t, record.Revoked, s.Receipt.Event)
	_, err = c.qa.Renew(t.Context(), c.home, below, Renewal{Lease: time.Hour})
	refusedAs(t, "not_holder", err)

	// The parent of another child ends, and is revoked after its end.
	next = c.passOn(t, p)
	below = c.claim(t, c.qa, next)
	_, _, err = c.fixer.Acknowledge(t.Context(), c.home, h, Outcome{})
	require.NoError(t, err)
	_, err = c.fixer.Withdraw(t.Context(), c.home, p, record.Revoked, Outcome{})
	refusedAs(t, "untrusted_key", err)
	s, err = c.alice.Withdraw(t.Context(), c.home, p, record.Revoked, Outcome{})
	require.NoError(t, err)
	assert.Equal(t, record.Acknowledged, s.Receipt.Event, "it stays what it was")
	assert.Equal(t, record.Revoked, s.Revoked.Event)
	assert.Empty(t, s.Revoked.Duration)
	require.NoError(t, s.Dispute)
	_, err = c.alice.Withdraw(t.Context(), c.home, p, record.Revoked, Outcome{})
	refusedAs(t, "replayed", err)

	_, err = c.qa.Renew(t.Context(), c.home, below, Renewal{Lease: time.Hour})
	refusedAs(t, "revoked", err)
	_, _, err = c.qa.Acknowledge(t.Context(), c.home, below, Outcome{})
	refusedAs(t, "revoked", err)
	v, err := c.qa.Verifier.Verify(t.Context(), c.home, c.load(t, c.qa, next), Options{Lapsed: true})
	require.NoError(t, err)
	assert.Nil(t, v.Token())
	refusedAs(t, "revoked", v.Lapse())
	_, err = c.qa.Author.PrepareFor(t.Context(), c.home, c.child(t, v, c.qa, c.fixer), Authority{Above: v})
	refusedAs(t, "issuer_not_holder", err)
	_, err = c.qa.Fail(t.Context(), c.home, below, Outcome{})
	require.NoError(t, err)
}

// A handoff without a token has only one receipt.
func TestNoSecondReceiptWithoutAToken(t *testing.T) {
	c := newDelegation(t)
	p := c.offer(t, c.qa, "fixer")
	h := c.claim(t, c.fixer, p)
	_, _, err := c.fixer.Acknowledge(t.Context(), c.home, h, Outcome{})
	require.NoError(t, err)
	_, err = c.alice.Withdraw(t.Context(), c.home, p, record.Revoked, Outcome{})
	refusedAs(t, "replayed", err)
}
