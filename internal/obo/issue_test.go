package obo_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
	"githandoff/internal/obo"
)

func TestIssue(t *testing.T) {
	c := claimsOf(t, must(obo.Issue(first())))
	assert.Equal(t, 3, c.MaxDepth)
	assert.Empty(t, c.ParentHash)
	assert.Equal(t, []string{here, there}, c.Audience, "sorted")
	assert.Equal(t, digestOf("first"), "sha256:"+c.Handoff.SHA256)

	p := first()
	p.ExpiresAt = start.Add(obo.MaxLifetime)
	p.Keys = []string{qaK, fixerK, qaK}
	c = claimsOf(t, must(obo.Issue(p)))
	assert.Equal(t, start.Add(obo.MaxLifetime).Unix(), c.ExpiresAt)
	assert.Equal(t, []string{fixerK, qaK}, c.Confirmation.Keys, "sorted, once each")

	for name, change := range map[string]func(*obo.Params){
		"no principal": func(p *obo.Params) { p.Principal = "" },
		"no scope":     func(p *obo.Params) { p.Scope = nil },
		"no keys":      func(p *obo.Params) { p.Keys = nil },
		"no time":      func(p *obo.Params) { p.IssuedAt = time.Time{} },
		"too long":     func(p *obo.Params) { p.ExpiresAt = start.Add(obo.MaxLifetime + time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			p := first()
			change(&p)
			_, err := obo.Issue(p)
			assertRefused(t, err, fault.Invalid, "malformed")
		})
	}
}

// An unset member is taken from the parent.
func TestAttenuateDefaults(t *testing.T) {
	p := first()
	p.ExpiresAt = start.Add(2 * time.Hour)
	parent := must(obo.Issue(p))
	p = next()
	p.Scope, p.Audience, p.ExpiresAt = nil, nil, start.Add(2*time.Hour)
	c := claimsOf(t, must(obo.Attenuate(parent, p)))
	above := claimsOf(t, parent)
	assert.Equal(t, above.Scope, c.Scope)
	assert.Equal(t, above.Audience, c.Audience)
	assert.Equal(t, alice, c.Subject)
	assert.Equal(t, 2, c.MaxDepth)
	assert.Equal(t, digestOf(string(parent)), "sha256:"+c.ParentHash)
}

func TestAttenuateRefuses(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*obo.Params)
		reason string
	}{
		{"wider scope", func(p *obo.Params) { p.Scope = []string{"repo.write"} }, "not_narrower"},
		{"wider audience", func(p *obo.Params) { p.Audience = []string{here + "/x"} }, "not_narrower"},
		{"longer", func(p *obo.Params) { p.ExpiresAt = start.Add(25 * time.Hour) }, "not_narrower"},
		{"earlier", func(p *obo.Params) { p.IssuedAt = start.Add(-time.Hour) }, "not_narrower"},
		{"by a bystander", func(p *obo.Params) { p.Issuer = eveK }, "issuer_not_holder"},
		{"another principal", func(p *obo.Params) { p.Principal = "user:bob@example.com" }, "principal_altered"},
		{"after its end", func(p *obo.Params) { p.IssuedAt = start.Add(24 * time.Hour) }, "expired"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := next()
			tc.change(&p)
			token, err := obo.Attenuate(must(obo.Issue(first())), p)
			assert.Nil(t, token)
			assertRefused(t, err, fault.Denied, tc.reason)
		})
	}
	_, err := obo.Attenuate([]byte("{}"), next())
	assertRefused(t, err, fault.Invalid, "malformed")
	p := next()
	p.Keys = nil
	_, err = obo.Attenuate(must(obo.Issue(first())), p)
	require.Error(t, err)
	assertRefused(t, err, fault.Invalid, "malformed")
}
