package obo_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/obo"
)

const (
	here    = "git+https://example.com/acme/client"
	there   = "git+https://example.com/acme/server"
	alice   = "user:alice@example.com"
	firstID = "ho_01kahcp3g0000000000000000r"
	nextID  = "ho_01kahcp3g0000000000000000s"
	thirdID = "ho_01kahcp3g0000000000000000t"
)

var (
	start  = time.Date(2026, 11, 20, 22, 0, 0, 0, time.UTC)
	rootK  = "openpgp:" + strings.Repeat("1", 40)
	fixerK = "openpgp:" + strings.Repeat("2", 40)
	qaK    = "ssh:SHA256:" + strings.Repeat("A", 43)
	eveK   = "openpgp:" + strings.Repeat("e", 40)
)

func jti(digit string) string     { return "obo_" + strings.Repeat(digit, 32) }
func digestOf(what string) string { return handoff.Digest([]byte(what)) }

// signed returns a token with a stand-in for a signature. real_test.go has real ones.
func signed(kid string, token []byte) obo.SignedToken {
	return obo.SignedToken{Token: token, Sig: []byte(kid + " " + handoff.Digest(token))}
}

// keyring has the keys that signed uses.
type keyring struct {
	grants  map[string]obo.RootPowers // powers of root keys
	known   []string
	retired map[string]time.Time
}

func (k keyring) Verify(namespace string, message, sig []byte) (string, error) {
	kid, digest, ok := strings.Cut(string(sig), " ")
	switch {
	case !ok:
		return "", fault.New(fault.Denied, "unsigned", "no signature")
	case !slices.Contains(k.known, kid):
		return "", fault.New(fault.Denied, "untrusted_key", "key %s is not pinned", kid)
	case namespace != obo.Namespace || digest != handoff.Digest(message):
		return "", fault.New(fault.Denied, "signature_invalid", "it does not fit")
	}
	return kid, nil
}

func (k keyring) ValidAt(kid string, at time.Time) error {
	if end, ok := k.retired[kid]; ok && !at.Before(end) {
		return fault.New(fault.Denied, "key_revoked", "retired")
	}
	return nil
}

func (k keyring) Root(kid string) (obo.RootPowers, error) {
	g, ok := k.grants[kid]
	if !ok {
		return g, fault.New(fault.Denied, "untrusted_key", "not a root")
	}
	return g, nil
}

// first returns the claims of the token from alice to fixer, and next those of the token from fixer to qa.
func first() obo.Params {
	return obo.Params{
		JTI: jti("a"), Issuer: rootK, Principal: alice, Agent: "fixer", Keys: []string{fixerK},
		Audience: []string{there, here}, Scope: []string{"repo.write:src/*", "repo.push:refs/heads/fix/*"},
		IssuedAt: start, ExpiresAt: start.Add(obo.DefaultLifetime), Handoff: firstID, Digest: digestOf("first"),
	}
}

func next() obo.Params {
	return obo.Params{
		JTI: jti("b"), Issuer: fixerK, Agent: "qa", Keys: []string{qaK, eveK},
		Audience: []string{here}, Scope: []string{"repo.write:src/auth/*"},
		IssuedAt: start.Add(time.Hour), ExpiresAt: start.Add(obo.DefaultLifetime), Handoff: nextID, Digest: digestOf("next"),
	}
}

// chain makes both tokens, valid or not, and the context that verifies them.
func chain(t *testing.T, a, b func(*obo.Claims)) ([]obo.SignedToken, obo.VerifyContext) {
	t.Helper()
	root := edit(t, must(obo.Issue(first())), a)
	leaf := must(obo.Attenuate(must(obo.Issue(first())), next()))
	leaf = edit(t, leaf, func(c *obo.Claims) {
		c.ParentHash = strings.TrimPrefix(handoff.Digest(root), "sha256:")
		b(c)
	})
	return []obo.SignedToken{signed(claimsOf(t, root).Issuer, root), signed(claimsOf(t, leaf).Issuer, leaf)}, obo.VerifyContext{
		Now: start.Add(2 * time.Hour),
		Keys: keyring{
			grants: map[string]obo.RootPowers{rootK: {Principals: []string{alice}}},
			known:  []string{rootK, fixerK, qaK},
		},
		HomeIs:  func(id string) bool { return id == here },
		Handoff: nextID, Digest: digestOf("next"), JTI: jti("b"), Agent: "qa",
		Ancestors: []handoff.ID{firstID}, Principal: alice,
		Revoked: func(*obo.Claims) (bool, error) { return false, nil },
	}
}

func asIs(*obo.Claims) {}

func edit(t *testing.T, token []byte, change func(*obo.Claims)) []byte {
	t.Helper()
	c := claimsOf(t, token)
	change(c)
	return must(obo.Encode(c))
}

func claimsOf(t *testing.T, token []byte) *obo.Claims {
	t.Helper()
	c, err := obo.Decode(token)
	require.NoError(t, err)
	return c
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return bytes.Clone(b)
}

func assertRefused(t *testing.T, err error, code fault.Code, reason string) {
	t.Helper()
	require.Error(t, err)
	assert.True(t, fault.Is(err, fault.Reason(reason)), "want %s, got %v", reason, err)
	assert.Equal(t, code, fault.CodeOf(err))
	assert.NotContains(t, err.Error(), "\n")
}
