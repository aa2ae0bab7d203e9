package attack

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/handoff"
	"githandoff/internal/obo"
	"githandoff/internal/record"
	"githandoff/internal/sign"
)

const alice = "user:alice@example.com"

// newTokenFixture returns a fixture in which fixer trusts alice and planner.
func newTokenFixture(t testing.TB) *fixture {
	t.Helper()
	f := newFixture(t)
	f.trust(t, "alice", "--role", "root", "--principal", alice, "--max-scope", "repo.*")
	f.trust(t, "planner")
	return f
}

// link is one token of a chain as an attacker makes it. The zero value is genuine.
type link struct {
	claims func(*obo.Claims)
	bytes  func([]byte) []byte // before it is signed
	after  func([]byte) []byte // when it is signed
	sig    func([]byte) []byte
	by     sign.Signer // the signer, who is also the issuer
}

// mint signs the token of a handoff that follows the ones above it.
func (s *fixture) mint(t testing.TB, l link, by sign.Signer, agent, holder, jti string, f forged, above []obo.SignedToken) obo.SignedToken {
	t.Helper()
	if l.by == nil {
		l.by = by
	}
	now := time.Now().Unix()
	claims := obo.Claims{
		Type: obo.Type, JTI: jti, Issuer: l.by.KID(), Subject: alice, Actor: obo.Actor{Subject: agent},
		Confirmation: obo.Confirmation{Keys: []string{holder}}, Audience: []string{s.home}, Scope: []string{"repo.write:src/*"},
		IssuedAt: now, ExpiresAt: now + 3600, MaxDepth: 3 - len(above),
		Handoff: obo.HandoffRef{ID: f.id, SHA256: strings.TrimPrefix(f.rec.Digest, "sha256:")},
	}
	if len(above) > 0 {
		claims.ParentHash = hash(above[len(above)-1].Token)
		claims.ExpiresAt = now + 1800
	}
	if l.claims != nil {
		l.claims(&claims)
	}
	token, err := handoff.Canonical(&claims)
	require.NoError(t, err)
	if l.bytes != nil {
		token = l.bytes(token)
	}
	sig, err := l.by.Sign(t.Context(), obo.Namespace, token)
	require.NoError(t, err)
	if l.after != nil {
		token = l.after(token)
	}
	if l.sig != nil {
		sig = l.sig(sig)
	}
	return obo.SignedToken{Token: token, Sig: sig}
}

func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// give forges a handoff with a token of its own, below those above it.
func (s *fixture) give(t testing.TB, by sign.Signer, from, agent string, above *given, l link, f forgery) *given {
	t.Helper()
	holder, err := s.keys.Load(agent)
	require.NoError(t, err)
	g := &given{jti: "obo_" + nonce(t)}
	var links []obo.SignedToken
	if above != nil {
		links = above.links
	}
	bend, rec, chain := f.envelope, f.record, f.chain
	f.by = by
	f.envelope = func(e *handoff.Envelope) {
		e.Source.Agent, e.Target.Agent = from, &agent
		e.OBO = &handoff.OBORef{JTI: g.jti, Path: fmt.Sprintf("obo/%d.json", len(links))}
		if above != nil {
			e.Parent = above.id
			e.Lineage = []handoff.Ancestor{{ID: above.id, Agent: agent}}
		}
		if bend != nil {
			bend(e)
		}
	}
	f.record = func(r *record.Record) {
		r.To, r.Token, r.Principal = agent, g.jti, alice+" (token)"
		if by == s.alice {
			r.Actor = strings.TrimPrefix(alice, "user:")
		}
		if rec != nil {
			rec(r)
		}
	}
	f.chain = func(at forged) []obo.SignedToken {
		if chain != nil {
			return chain(at)
		}
		g.links = append(append([]obo.SignedToken{}, links...), s.mint(t, l, by, agent, holder.KID(), g.jti, at, links))
		return g.links
	}
	g.forged = s.forge(t, f)
	return g
}

// given is a handoff with its tokens.
type given struct {
	forged
	jti   string
	links []obo.SignedToken
}

// first returns the handoff from alice to planner, and second the one that planner derives from it.
func (s *fixture) first(t testing.TB, agent string, l link, f forgery) *given {
	return s.give(t, s.alice, "boss", agent, nil, l, f)
}

func (s *fixture) second(t testing.TB, above *given, l link, f forgery) *given {
	child := s.give(t, s.planner, "planner", "fixer", above, l, f)
	s.passOn(t, above, s.planner, child.id)
	return child
}

// passOn writes the log entries of a holder that passes authority on: it claims, and names the
// child.
func (s *fixture) passOn(t testing.TB, above *given, by sign.Signer, child handoff.ID) {
	t.Helper()
	claim := above.rec
	claim.Event, claim.Actor, claim.Key, claim.Nonce, claim.Payload = record.Claimed, above.rec.To, by.KID(), nonce(t), above.payload
	claim.Previous, claim.Lease = above.payload, claim.At.Add(time.Hour)
	claim.Counts, claim.Status = "", ""
	s.log(t, by, above.lane, claim)
	next := claim
	next.Event, next.Nonce, next.Claim, next.Next = record.Progressed, nonce(t), claim.Nonce, child
	s.log(t, by, above.lane, next)
}

func attacksOnTokens() []authority {
	direct := func(l link) func(*testing.T, *fixture) forged {
		return func(t *testing.T, c *fixture) forged { return c.first(t, "fixer", l, forgery{}).forged }
	}
	claim := func(change func(*obo.Claims)) func(*testing.T, *fixture) forged { return direct(link{claims: change}) }
	child := func(change func(*obo.Claims)) func(*testing.T, *fixture) forged {
		return func(t *testing.T, c *fixture) forged {
			return c.second(t, c.first(t, "planner", link{}, forgery{}), link{claims: change}, forgery{}).forged
		}
	}
	var wider []authority
	for scope, reason := range map[string]string{
		"repo.write:SRC/*": "not_narrower", "repo.write:\u0455rc/*": "not_narrower", "repo.write:src": "not_narrower",
		"repo.*": "not_narrower", "repo.write": "not_narrower", "repo.push:src/*": "not_narrower", "repo.write:src\\*": "malformed",
		"repo.write:src/": "malformed", "repo.write:src//*": "malformed", "repo.write:./src/*": "malformed", "repo.write:s*": "malformed",
		"repo.write:src/../*": "malformed", "repo.write:src/**": "malformed", "repo.write:src/*\x00": "malformed", "Repo.write:src/*": "malformed",
	} {
		code := 4
		if reason == "malformed" {
			code = 6
		}
		wider = append(wider, authority{fmt.Sprintf("a child for %+q", scope), reason, code, child(func(o *obo.Claims) { o.Scope = []string{scope} })})
	}
	return append(wider, []authority{
		{"no signature", "unsigned", 4, direct(link{sig: func([]byte) []byte { return nil }})},
		{"more scope than was signed", "signature_invalid", 4, direct(link{after: func(b []byte) []byte {
			return bytes.Replace(b, []byte("src/*"), []byte("etc/*"), 1)
		}})},
		{"two signatures", "signature_invalid", 4, direct(link{sig: func(b []byte) []byte { return append(b, b...) }})},
		{"a sender who makes himself a root", "untrusted_root", 4, func(t *testing.T, c *fixture) forged {
			return c.give(t, c.boss, "boss", "fixer", nil, link{}, forgery{}).forged
		}},
		{"a root whom nobody trusts", "untrusted_root", 4, direct2(func(c *fixture) link { return link{by: c.mallory} })},
		{"a foreign bearer token", "malformed", 6, direct(link{bytes: func([]byte) []byte {
			return []byte(`{"iss":"https://login.example.com","sub":"alice","scope":"repo"}`)
		}})},
		{"everything", "malformed", 6, claim(func(o *obo.Claims) { o.Scope = []string{"*"} })},
		{"a scope that climbs", "malformed", 6, claim(func(o *obo.Claims) { o.Scope = []string{"repo.write:src/../etc/*"} })},
		{"a claim twice", "malformed", 6, direct(link{bytes: func(b []byte) []byte {
			return bytes.Replace(b, []byte(`"sub":"user`), []byte(`"sub":"user:bob@example.com","sub":"user`), 1)
		}})},
		{"a blank", "non_canonical", 6, direct(link{bytes: func(b []byte) []byte { return append(b, ' ') }})},
		{"a token of megabytes", "too_large", 4, direct(link{bytes: func(b []byte) []byte {
			return append(b, bytes.Repeat([]byte(" "), 1<<20)...)
		}})},
		{"for another repository", "audience_mismatch", 4, claim(func(o *obo.Claims) { o.Audience = []string{"git+https://example.com/acme/server"} })},
		{"for another agent", "audience_mismatch", 4, claim(func(o *obo.Claims) { o.Actor.Subject = "auditor" })},
		{"a token of another handoff", "handoff_mismatch", 4, func(t *testing.T, c *fixture) forged {
			seen := c.first(t, "fixer", link{}, forgery{})
			return c.give(t, c.boss, "boss", "fixer", nil, link{}, forgery{chain: func(forged) []obo.SignedToken { return seen.links }}).forged
		}},
		{"a token cut out", "handoff_mismatch", 4, func(t *testing.T, c *fixture) forged {
			return c.forge(t, forgery{by: c.alice, record: func(r *record.Record) {
				r.Token, r.Principal, r.Actor = "obo_"+nonce(t), alice+" (token)", strings.TrimPrefix(alice, "user:")
			}})
		}},
		{"beyond what its root may give", "not_narrower", 4, claim(func(o *obo.Claims) { o.Scope = []string{"deploy.prod"} })},
		{"a child with more scope", "not_narrower", 4, child(func(o *obo.Claims) { o.Scope = []string{"repo.write:*"} })},
		{"a child for more places", "not_narrower", 4, child(func(o *obo.Claims) {
			o.Audience = append([]string{"git+file:///elsewhere"}, o.Audience...)
		})},
		{"a child that lives longer", "not_narrower", 4, child(func(o *obo.Claims) { o.ExpiresAt += 7200 })},
		{"a child as deep as its parent", "depth_invalid", 4, child(func(o *obo.Claims) { o.MaxDepth = 3 })},
		{"a child of another parent", "par_hash_mismatch", 4, child(func(o *obo.Claims) { o.ParentHash = strings.Repeat("0", 64) })},
		{"a parent of a first token", "par_hash_mismatch", 4, claim(func(o *obo.Claims) { o.ParentHash = strings.Repeat("0", 64) })},
		{"a stolen token handed on", "issuer_not_holder", 4, func(t *testing.T, c *fixture) forged {
			above := c.first(t, "planner", link{}, forgery{})
			return c.give(t, c.boss, "boss", "fixer", above, link{}, forgery{}).forged
		}},
		{"a child on behalf of somebody else", "principal_altered", 4, child(func(o *obo.Claims) { o.Subject = "user:bob@example.com" })},
		{"a root for somebody else", "principal_mismatch", 4, claim(func(o *obo.Claims) { o.Subject = "user:bob@example.com" })},
		{"trailers for somebody else", "principal_mismatch", 4, func(t *testing.T, c *fixture) forged {
			return c.first(t, "fixer", link{}, forgery{record: func(r *record.Record) { r.Principal = "user:bob@example.com (token)" }}).forged
		}},
		{"for another key", "holder_binding_failed", 4, claim(func(o *obo.Claims) { o.Confirmation.Keys = []string{"openpgp:" + strings.Repeat("0", 40)} })},
		{"begins in an hour", "not_yet_valid", 4, claim(func(o *obo.Claims) { o.IssuedAt += 3600; o.ExpiresAt += 3600 })},
		{"ended an hour ago", "expired", 4, claim(func(o *obo.Claims) { o.IssuedAt -= 7200; o.ExpiresAt -= 7200 })},
		{"its parent was revoked", "revoked", 4, func(t *testing.T, c *fixture) forged {
			above := c.first(t, "planner", link{}, forgery{})
			below := c.second(t, above, link{}, forgery{}).forged
			c.revoke(t, above.forged)
			return below
		}},
		{"a parent that no home knows", "status_unknown", 4, func(t *testing.T, c *fixture) forged {
			above := c.first(t, "planner", link{}, forgery{})
			below := c.second(t, above, link{}, forgery{}).forged
			c.Hub.Git(t, "update-ref", "-d", above.inbox)
			c.Hub.Git(t, "update-ref", "-d", above.lane)
			return below
		}},
		{"a chain of five", "depth_invalid", 4, func(t *testing.T, c *fixture) forged {
			five := make([]obo.SignedToken, 5)
			return c.give(t, c.boss, "boss", "fixer", nil, link{}, forgery{
				envelope: func(e *handoff.Envelope) { e.OBO.Path = "obo/4.json" },
				chain: func(forged) []obo.SignedToken {
					for i := range five {
						five[i] = obo.SignedToken{Token: fmt.Append(nil, i), Sig: fmt.Append(nil, i)}
					}
					return five
				},
			}).forged
		}},
	}...)
}

// direct2 returns a first token that depends on the fixture.
func direct2(l func(*fixture) link) func(*testing.T, *fixture) forged {
	return func(t *testing.T, c *fixture) forged { return c.first(t, "fixer", l(c), forgery{}).forged }
}

type authority struct {
	name   string
	reason string
	code   int
	mount  func(t *testing.T, c *fixture) forged
}

// revoke appends a revocation by alice to the log, and deletes the inbox ref.
func (s *fixture) revoke(t testing.TB, f forged) {
	t.Helper()
	rec := f.rec
	rec.Event, rec.Actor, rec.Key, rec.Nonce = record.Revoked, "alice@example.com", s.alice.KID(), nonce(t)
	rec.Previous, rec.Payload = f.payload, f.payload
	s.log(t, s.alice, f.lane, rec)
	s.Hub.Git(t, "update-ref", "-d", f.inbox)
}

// Each attack on a token is refused with its word, and git, which knows nothing
// of tokens, finds every one of these commits in order.
func TestTokenReasons(t *testing.T) {
	t.Parallel()
	c := newTokenFixture(t)
	for _, genuine := range []forged{
		c.first(t, "fixer", link{}, forgery{}).forged,
		c.second(t, c.first(t, "planner", link{}, forgery{}), link{}, forgery{}).forged,
	} {
		out := c.fixer.Must(t, "resume", string(genuine.id))
		assert.Contains(t, out, secretGoal, "what the attacks start from")
		assert.Contains(t, out, alice)
		c.fixer.Must(t, "ack", string(genuine.id))
	}
	for _, a := range attacksOnTokens() {
		t.Run(a.reason+" "+a.name, func(t *testing.T) {
			f := a.mount(t, c)
			assert.Equal(t, accepts, c.gitSays(t, f.payload))
			before := c.Hub.Git(t, "for-each-ref")
			r := c.fixer.Run(t, "resume", string(f.id), "--json")
			got := refusalOf(t, r)
			assert.Equal(t, a.reason, got.Reason, got.Message)
			assert.Equal(t, a.code, r.Code, got.Message)
			assert.Empty(t, r.Stdout)
			assert.NotContains(t, r.Stderr, secretGoal)
			assert.Equal(t, before, c.Hub.Git(t, "for-each-ref"))
		})
	}
}

// Whoever hands a token on chooses the target of its scope. That is data, too.
func TestScopeIsData(t *testing.T) {
	t.Parallel()
	c := newTokenFixture(t)
	beside := func(target, as string) string {
		t.Helper()
		above := c.first(t, "planner", link{}, forgery{})
		f := c.second(t, above, link{claims: func(o *obo.Claims) { o.Scope = []string{"repo.write:src/" + target} }}, forgery{})
		out, _, _ := strings.Cut(c.fixer.Must(t, "resume", "--peek", string(f.id)), "\n-----")
		shown := c.fixer.Must(t, "obo", "show", string(f.id))
		outside, _, _ := strings.Cut(shown, "\n-----")
		plain(t, out+shown)
		assert.Equal(t, strings.HasPrefix(as, "1 scope"), strings.Contains(outside, "  scope:       (a text)\n"))
		assert.Contains(t, shown, as+"\n")
		return out
	}
	assert.Contains(t, beside("auth/*", "  scope:       repo.write:src/auth/*"), "repo.write:src/auth/*")
	assert.NotContains(t, beside(order, "1 scope: "+strconv.QuoteToASCII("repo.write:src/"+order)), "Ignore")
	assert.NotContains(t, beside("auth,deploy.prod", `1 scope: "repo.write:src/auth,deploy.prod"`), "deploy")
	assert.NotContains(t, beside("\u0430uth", `1 scope: "repo.write:src/\u0430uth"`), "uth")
}
