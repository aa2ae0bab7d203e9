package obo_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/obo"
)

func TestVerifyChain(t *testing.T) {
	links, ctx := chain(t, asIs, asIs)
	v, err := obo.VerifyChain(links, ctx)
	require.NoError(t, err)
	assert.Equal(t, alice, v.Principal())
	assert.Equal(t, jti("b"), v.JTI())
	assert.Equal(t, []string{"repo.write:src/auth/*"}, v.Scope())
	assert.Equal(t, []string{eveK, qaK}, v.Leaf().Confirmation.Keys, "sorted")
	assert.Equal(t, start.Add(obo.DefaultLifetime), v.Expires(), "not after the parent's")
	assert.Equal(t, 2, v.Leaf().MaxDepth)
	assert.NoError(t, v.Binds(qaK))
	assertRefused(t, v.Binds(fixerK), fault.Denied, "holder_binding_failed")
	assert.NoError(t, v.Allows("repo.write:src/auth/a/b.go"))
	for _, wide := range []string{"repo.write:src/a.go", "repo.push:refs/heads/fix/1", "repo.write", "repo.write:src/auth/../x", "*", ""} {
		assertRefused(t, v.Allows(wide), fault.Policy, "scope")
	}
	v.Scope()[0] = "repo.write"
	leaf := v.Leaf()
	leaf.Confirmation.Keys[0] = fixerK
	leaf.Scope[0] = "repo.write"
	assert.Error(t, v.Allows("repo.write"), "nothing that a caller changes widens it")
	assert.Error(t, v.Binds(fixerK))
	assert.Error(t, new(obo.VerifiedToken).Allows("repo.write"))
	assert.Error(t, new(obo.VerifiedToken).Binds(""))
}

// Even a token for all writes and pushes does not allow a file in git's own directory, or a refspec in place of
// a ref.
func TestAllowsWhatItSays(t *testing.T) {
	all := func(c *obo.Claims) { c.Scope = []string{"repo.push", "repo.review", "repo.write"} }
	links, ctx := chain(t, all, all)
	v, err := obo.VerifyChain(links, ctx)
	require.NoError(t, err)
	for _, scope := range []string{
		"repo.write", "repo.write:*", "repo.write:src/a", "repo.write:src/.github/a", "repo.write:.gitignore", "repo.write:ab:c",
		"repo.push", "repo.push:*", "repo.push:refs/heads/main", "repo.push:refs/heads/a@b", "repo.push:refs/heads/\u00fc",
		"repo.review:+1",
	} {
		assert.NoError(t, v.Allows(scope), scope)
	}
	for _, scope := range []string{
		"repo.write:.git/config", "repo.write:src/.GIT/hooks/pre-commit", "repo.write:src/git~1/config", "repo.write:src/.git. /a",
		"repo.write:/etc/passwd", "repo.write:C:/x", `repo.write:src\..\..\x`, "repo.write:src/.g\u200cit/a",
		"repo.push:+refs/heads/fix", "repo.push:refs/heads/fix:refs/heads/main", "repo.push::refs/heads/main",
		"repo.push:refs/heads/fix~1", "repo.push:refs/heads/fix^", "repo.push:refs/heads/@{-1}", "repo.push:refs/heads/a b",
	} {
		assertRefused(t, v.Allows(scope), fault.Policy, "scope")
	}
}

func TestVerifyChainRefuses(t *testing.T) {
	type set = func(*obo.Claims)
	type spoil = func([]obo.SignedToken, *obo.VerifyContext) []obo.SignedToken
	with := func(f func(*obo.VerifyContext)) spoil {
		return func(l []obo.SignedToken, ctx *obo.VerifyContext) []obo.SignedToken { f(ctx); return l }
	}
	grant := func(g obo.RootPowers) spoil {
		return with(func(ctx *obo.VerifyContext) {
			k := ctx.Keys.(keyring)
			k.grants = map[string]obo.RootPowers{rootK: g}
			ctx.Keys = k
		})
	}
	retire := func(kid string, at time.Time) spoil {
		return with(func(ctx *obo.VerifyContext) {
			k := ctx.Keys.(keyring)
			k.retired = map[string]time.Time{kid: at}
			ctx.Keys = k
		})
	}
	for _, tc := range []struct {
		name       string
		root, leaf set
		spoil      spoil
		reason     string
	}{
		{name: "no token", reason: "depth_invalid", spoil: func([]obo.SignedToken, *obo.VerifyContext) []obo.SignedToken { return nil }},
		{name: "five tokens", reason: "depth_invalid", spoil: func(l []obo.SignedToken, _ *obo.VerifyContext) []obo.SignedToken {
			return []obo.SignedToken{l[0], l[1], l[1], l[1], l[1]}
		}},
		{name: "a large token", reason: "too_large", spoil: func(l []obo.SignedToken, _ *obo.VerifyContext) []obo.SignedToken {
			l[1].Token = make([]byte, obo.MaxToken+1)
			return l
		}},
		{name: "a large signature", reason: "too_large", spoil: func(l []obo.SignedToken, _ *obo.VerifyContext) []obo.SignedToken {
			l[1].Sig = make([]byte, obo.MaxSignature+1)
			return l
		}},
		{name: "no signature", reason: "unsigned", spoil: func(l []obo.SignedToken, _ *obo.VerifyContext) []obo.SignedToken {
			l[1].Sig = nil
			return l
		}},
		{name: "another's signature", reason: "signature_invalid", spoil: func(l []obo.SignedToken, _ *obo.VerifyContext) []obo.SignedToken {
			l[1].Sig = l[0].Sig
			return l
		}},
		{name: "signed by another than iss", reason: "signature_invalid", spoil: func(l []obo.SignedToken, _ *obo.VerifyContext) []obo.SignedToken {
			return []obo.SignedToken{l[0], signed(qaK, l[1].Token)}
		}},
		{name: "first key not pinned", root: func(c *obo.Claims) { c.Issuer = eveK }, reason: "untrusted_root"},
		{name: "first key no root", root: func(c *obo.Claims) { c.Issuer = qaK }, reason: "untrusted_root"},
		{name: "second key not pinned", leaf: func(c *obo.Claims) { c.Issuer = eveK }, reason: "untrusted_key"},
		{name: "root retired since", spoil: retire(rootK, start.Add(90*time.Minute)), reason: "key_revoked"},
		{name: "holder retired since", spoil: retire(fixerK, start.Add(90*time.Minute)), reason: "key_revoked"},
		{name: "not a token", reason: "malformed", spoil: func(l []obo.SignedToken, _ *obo.VerifyContext) []obo.SignedToken {
			return []obo.SignedToken{l[0], signed(fixerK, []byte(`{"typ":"JWT"}`))}
		}},
		{name: "another spelling", reason: "non_canonical", spoil: func(l []obo.SignedToken, _ *obo.VerifyContext) []obo.SignedToken {
			return []obo.SignedToken{l[0], signed(fixerK, append(l[1].Token, '\n'))}
		}},
		{name: "one jti twice", leaf: func(c *obo.Claims) { c.JTI = jti("a") }, reason: "malformed"},
		{name: "another home", reason: "audience_mismatch", spoil: with(func(ctx *obo.VerifyContext) {
			ctx.HomeIs = func(id string) bool { return id == there+"/fork" }
		})},
		{name: "leaf for another home", leaf: func(c *obo.Claims) { c.Audience = []string{there} }, reason: "audience_mismatch"},
		{name: "another inbox", spoil: with(func(ctx *obo.VerifyContext) { ctx.Agent = "fixer" }), reason: "audience_mismatch"},
		{name: "another handoff", spoil: with(func(ctx *obo.VerifyContext) { ctx.Handoff = thirdID }), reason: "handoff_mismatch"},
		{name: "another envelope", spoil: with(func(ctx *obo.VerifyContext) { ctx.Digest = digestOf("x") }), reason: "handoff_mismatch"},
		{name: "not the envelope's token", spoil: with(func(ctx *obo.VerifyContext) { ctx.JTI = jti("c") }), reason: "handoff_mismatch"},
		{name: "no parent", spoil: with(func(ctx *obo.VerifyContext) { ctx.Ancestors = nil }), reason: "handoff_mismatch"},
		{name: "another parent", spoil: with(func(ctx *obo.VerifyContext) { ctx.Ancestors = []handoff.ID{thirdID} }), reason: "handoff_mismatch"},
		{name: "wider scope", leaf: func(c *obo.Claims) { c.Scope = []string{"repo.write:*"} }, reason: "not_narrower"},
		{name: "wider audience", leaf: func(c *obo.Claims) { c.Audience = []string{here, there + "/x"} }, reason: "not_narrower"},
		{name: "longer", leaf: func(c *obo.Claims) { c.ExpiresAt++ }, reason: "not_narrower"},
		{name: "earlier", leaf: func(c *obo.Claims) { c.IssuedAt = start.Add(-obo.ClockSkew).Unix() - 1 }, reason: "not_narrower"},
		{name: "beyond max_scope", spoil: grant(obo.RootPowers{
			Principals: []string{alice}, Limits: [][]string{{"repo.*"}, {"repo.write"}},
		}), reason: "not_narrower"},
		{name: "a limit that nobody can read", spoil: grant(obo.RootPowers{
			Principals: []string{alice}, Limits: [][]string{{"*"}},
		}), reason: "not_narrower"},
		{name: "as deep", leaf: func(c *obo.Claims) { c.MaxDepth = 3 }, reason: "depth_invalid"},
		{name: "parent was the last", root: func(c *obo.Claims) { c.MaxDepth = 0 }, leaf: func(c *obo.Claims) { c.MaxDepth = 0 }, reason: "depth_invalid"},
		{name: "another parent's bytes", leaf: func(c *obo.Claims) { c.ParentHash = digestOf("x")[7:] }, reason: "par_hash_mismatch"},
		{name: "no par_hash", leaf: func(c *obo.Claims) { c.ParentHash = "" }, reason: "par_hash_mismatch"},
		{name: "the first has one", root: func(c *obo.Claims) { c.ParentHash = digestOf("x")[7:] }, reason: "par_hash_mismatch"},
		{name: "issued by a bystander", leaf: func(c *obo.Claims) { c.Issuer = qaK }, reason: "issuer_not_holder"},
		{name: "issued by the root", leaf: func(c *obo.Claims) { c.Issuer = rootK }, reason: "issuer_not_holder"},
		{name: "another principal", leaf: func(c *obo.Claims) { c.Subject = "user:bob@example.com" }, reason: "principal_altered"},
		{name: "not a principal of the root", spoil: grant(obo.RootPowers{Principals: []string{"user:bob@example.com"}}), reason: "principal_mismatch"},
		{name: "not the record's principal", spoil: with(func(ctx *obo.VerifyContext) { ctx.Principal = "user:bob@example.com" }), reason: "principal_mismatch"},
		{name: "too early", spoil: with(func(ctx *obo.VerifyContext) { ctx.Now = start.Add(-obo.ClockSkew - time.Second) }), reason: "not_yet_valid"},
		{name: "leaf too early", spoil: with(func(ctx *obo.VerifyContext) { ctx.Now = start }), reason: "not_yet_valid"},
		{name: "too late", spoil: with(func(ctx *obo.VerifyContext) { ctx.Now = start.Add(24 * time.Hour) }), reason: "expired"},
		{name: "leaf too late", leaf: func(c *obo.Claims) { c.ExpiresAt = start.Add(2 * time.Hour).Unix() }, reason: "expired"},
		{name: "root revoked", spoil: with(func(ctx *obo.VerifyContext) {
			ctx.Revoked = func(c *obo.Claims) (bool, error) { return c.JTI == jti("a"), nil }
		}), reason: "revoked"},
		{name: "leaf revoked", spoil: with(func(ctx *obo.VerifyContext) {
			ctx.Revoked = func(c *obo.Claims) (bool, error) { return c.Issuer == fixerK, nil }
		}), reason: "revoked"},
		{name: "home unreadable", spoil: with(func(ctx *obo.VerifyContext) {
			ctx.Revoked = func(*obo.Claims) (bool, error) { return false, errors.New("no route") }
		}), reason: "status_unknown"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, s := range []*set{&tc.root, &tc.leaf} {
				if *s == nil {
					*s = asIs
				}
			}
			links, ctx := chain(t, tc.root, tc.leaf)
			if tc.spoil != nil {
				links = tc.spoil(links, &ctx)
			}
			v, err := obo.VerifyChain(links, ctx)
			assert.Nil(t, v)
			code := fault.Denied
			if tc.reason == "malformed" || tc.reason == "non_canonical" || tc.reason == "too_large" {
				code = fault.Invalid
			}
			assertRefused(t, err, code, tc.reason)
		})
	}
}

// A chain that just meets the limits is accepted.
func TestVerifyChainAtTheEdge(t *testing.T) {
	for name, spoil := range map[string]func(*obo.VerifyContext){
		"last second":              func(ctx *obo.VerifyContext) { ctx.Now = start.Add(24*time.Hour - time.Second) },
		"our clock is behind":      func(ctx *obo.VerifyContext) { ctx.Now = start.Add(time.Hour - obo.ClockSkew) },
		"the record names nobody":  func(ctx *obo.VerifyContext) { ctx.Principal = "" },
		"older ancestors are many": func(ctx *obo.VerifyContext) { ctx.Ancestors = append(ctx.Ancestors, thirdID) },
		"limits that cover it": func(ctx *obo.VerifyContext) {
			ctx.Keys.(keyring).grants[rootK] = obo.RootPowers{Principals: []string{alice}, Limits: [][]string{{"repo.*"}, {"repo.write", "repo.push"}}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			links, ctx := chain(t, asIs, asIs)
			spoil(&ctx)
			_, err := obo.VerifyChain(links, ctx)
			assert.NoError(t, err)
		})
	}
}

// A chain has at most four tokens. An ancestor that the lineage no longer names is checked by par_hash. An
// ancestor that the lineage names must be the right one.
func TestVerifyChainOfFour(t *testing.T) {
	links, ctx := chain(t, asIs, asIs)
	for i, digit := range []string{"c", "d"} {
		p := obo.Params{
			JTI: jti(digit), Issuer: qaK, Agent: "qa", Keys: []string{qaK}, IssuedAt: start.Add(time.Hour), ExpiresAt: start.Add(obo.DefaultLifetime),
			Handoff: []handoff.ID{thirdID, "ho_01kahcp3g0000000000000000v"}[i], Digest: digestOf(digit),
		}
		token := must(obo.Attenuate(links[len(links)-1].Token, p))
		links = append(links, signed(qaK, token))
		ctx.Handoff, ctx.Digest, ctx.JTI = p.Handoff, p.Digest, p.JTI
	}
	ctx.Ancestors = []handoff.ID{thirdID, nextID, firstID}
	v, err := obo.VerifyChain(links, ctx)
	require.NoError(t, err)
	assert.Equal(t, 0, v.Leaf().MaxDepth)
	ctx.Ancestors = []handoff.ID{thirdID}
	_, err = obo.VerifyChain(links, ctx)
	assert.NoError(t, err)
	ctx.Ancestors = []handoff.ID{thirdID, firstID}
	_, err = obo.VerifyChain(links, ctx)
	assertRefused(t, err, fault.Denied, "handoff_mismatch")
	_, err = obo.Attenuate(links[3].Token, obo.Params{
		JTI: jti("e"), Issuer: qaK, Agent: "qa", Keys: []string{qaK}, IssuedAt: start.Add(time.Hour), ExpiresAt: start.Add(obo.DefaultLifetime),
		Handoff: firstID, Digest: digestOf("e"),
	})
	assertRefused(t, err, fault.Denied, "depth_invalid")
}
