package obo_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/obo"
)

func TestDecodeRefuses(t *testing.T) {
	good := string(must(obo.Issue(first())))
	for _, tc := range []struct{ name, old, new, reason string }{
		{"empty", good, "", "malformed"},
		{"no object", good, `[]`, "malformed"},
		{"bearer token", good, "eyJhbGciOiJFZERTQSJ9.e30.c2ln", "malformed"},
		{"later type", "obo/1", "obo/2", "malformed"},
		{"unknown member", `{"act"`, `{"a":1,"act"`, "malformed"},
		{"member twice", `{"act"`, `{"typ":"githandoff-obo/1","act"`, "malformed"},
		{"member in another case", `"iss"`, `"ISS"`, "malformed"},
		{"null list", `"kids":["` + fixerK + `"]`, `"kids":null`, "malformed"},
		{"no keys", `"kids":["` + fixerK + `"]`, `"kids":[]`, "malformed"},
		{"space", `{"act"`, `{ "act"`, "non_canonical"},
		{"line feed", "/1\"}", "/1\"}\n", "non_canonical"},
		{"exponent", `"exp":1795298400`, `"exp":1.7952984e9`, "malformed"},
		{"fraction", `"iat":1795212000`, `"iat":1795212000.5`, "malformed"},
		{"empty par_hash", `"scope"`, `"par_hash":"","scope"`, "non_canonical"},
		{"too large", good, strings.Repeat(" ", obo.MaxToken+1), "too_large"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bad := strings.Replace(good, tc.old, tc.new, 1)
			require.NotEqual(t, good, bad)
			_, err := obo.Decode([]byte(bad))
			assertRefused(t, err, fault.Invalid, tc.reason)
			newer := tc.name == "later type" || tc.name == "unknown member"
			assert.Equal(t, newer, errors.Is(err, handoff.ErrUnknown))
			assert.Equal(t, newer, strings.Contains(fault.As(err).Advice(), "newer version"))
		})
	}
}

func TestValidate(t *testing.T) {
	many := func(n int) []string {
		list := make([]string, n)
		for i := range list {
			list[i] = "do." + strings.Repeat("a", i+1)
		}
		return list
	}
	for name, change := range map[string]func(*obo.Claims){
		"typ":                   func(c *obo.Claims) { c.Type = "JWT" },
		"jti":                   func(c *obo.Claims) { c.JTI = strings.ToUpper(c.JTI) },
		"iss":                   func(c *obo.Claims) { c.Issuer = "alice" },
		"iss with loose base64": func(c *obo.Claims) { c.Issuer = qaK[:len(qaK)-1] + "B" },
		"sub":                   func(c *obo.Claims) { c.Subject = "alice@example.com" },
		"sub is a pattern":      func(c *obo.Claims) { c.Subject = "user:*@example.com" },
		"sub of two words":      func(c *obo.Claims) { c.Subject += " x" },
		"sub beyond ASCII":      func(c *obo.Claims) { c.Subject += "é" },
		"act.sub":               func(c *obo.Claims) { c.Actor.Subject = "../x" },
		"cnf.kids unsorted":     func(c *obo.Claims) { c.Confirmation.Keys = []string{qaK, fixerK} },
		"cnf.kids twice":        func(c *obo.Claims) { c.Confirmation.Keys = []string{qaK, qaK} },
		"cnf.kids no key":       func(c *obo.Claims) { c.Confirmation.Keys = []string{"x"} },
		"aud empty":             func(c *obo.Claims) { c.Audience = nil },
		"aud no repo id":        func(c *obo.Claims) { c.Audience = []string{"https://example.com/x"} },
		"aud with control":      func(c *obo.Claims) { c.Audience = []string{"git+https://example.com/\x1b[2J"} },
		"scope empty":           func(c *obo.Claims) { c.Scope = nil },
		"scope bare":            func(c *obo.Claims) { c.Scope = []string{"*"} },
		"scope too many":        func(c *obo.Claims) { c.Scope = many(obo.MaxScopes + 1) },
		"iat":                   func(c *obo.Claims) { c.IssuedAt = 0 },
		"exp before iat":        func(c *obo.Claims) { c.ExpiresAt = c.IssuedAt },
		"exp too far":           func(c *obo.Claims) { c.ExpiresAt = c.IssuedAt + int64(obo.MaxLifetime/time.Second) + 1 },
		"exp beyond 9999":       func(c *obo.Claims) { c.IssuedAt, c.ExpiresAt = 253402300799, 253402300800 },
		"handoff.id":            func(c *obo.Claims) { c.Handoff.ID = "ho_1" },
		"handoff.sha256":        func(c *obo.Claims) { c.Handoff.SHA256 = "sha256:" + c.Handoff.SHA256 },
		"del_max_depth":         func(c *obo.Claims) { c.MaxDepth = obo.MaxLinks },
		"del_max_depth below":   func(c *obo.Claims) { c.MaxDepth = -1 },
		"par_hash":              func(c *obo.Claims) { c.ParentHash = "00" },
	} {
		t.Run(name, func(t *testing.T) {
			c := claimsOf(t, must(obo.Issue(first())))
			change(c)
			_, err := obo.Encode(c)
			assertRefused(t, err, fault.Invalid, "malformed")
			claim, _, _ := strings.Cut(name, " ")
			assert.Contains(t, err.Error(), "token: "+claim)
		})
	}
	c := claimsOf(t, must(obo.Issue(first())))
	c.Scope = many(obo.MaxScopes)
	c.ExpiresAt = c.IssuedAt + int64(obo.MaxLifetime/time.Second)
	assert.NoError(t, c.Validate(), "just within the limits")
	c.Scope = nil
	for _, digit := range "abcde" {
		c.Scope = append(c.Scope, "do:"+strings.Repeat(string(digit), 4000))
	}
	_, err := obo.Encode(c)
	assertRefused(t, err, fault.Invalid, "too_large")
}

func TestNewJTI(t *testing.T) {
	got, err := obo.NewJTI(bytes.NewReader(bytes.Repeat([]byte{0xab}, 16)))
	require.NoError(t, err)
	assert.Equal(t, "obo_"+strings.Repeat("ab", 16), got)
	a, err := obo.NewJTI(rand.Reader)
	require.NoError(t, err)
	b, err := obo.NewJTI(rand.Reader)
	require.NoError(t, err)
	assert.NotEqual(t, a, b)
	_, err = obo.NewJTI(iotest.ErrReader(assert.AnError))
	assert.ErrorIs(t, err, assert.AnError)
}

// Each decoded token is encoded to the same bytes, and no input causes a panic.
func FuzzDecode(f *testing.F) {
	root := must(obo.Issue(first()))
	f.Add(root)
	f.Add(must(obo.Attenuate(root, next())))
	f.Add(bytes.ToUpper(root))
	f.Add([]byte(`{"typ":"githandoff-obo/1"}`))
	f.Add([]byte(`{"typ":"githandoff-obo/1","typ":"x"}`))
	f.Add([]byte("eyJhbGciOiJFZERTQSJ9.e30.c2ln"))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := obo.Decode(b)
		if err != nil {
			assert.Equal(t, fault.Invalid, fault.CodeOf(err), "%v", err)
			return
		}
		again, err := obo.Encode(c)
		require.NoError(t, err)
		assert.Equal(t, b, again)
	})
}
