package dialect_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/dialect"
	"githandoff/internal/fault"
)

func TestDecodeToken(t *testing.T) {
	claims, signature, err := dialect.DecodeToken(token())
	require.NoError(t, err)
	assert.JSONEq(t, `{"jti":"obo_0","typ":"githandoff-obo/1"}`, string(claims))
	assert.Equal(t, "signature", string(signature))

	b64 := base64.RawURLEncoding.EncodeToString
	ours := b64([]byte(`{"typ":"githandoff-obo/1"}`))
	for name, text := range map[string]string{
		"a JWT":               "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl",
		"opaque":              "opaque-secret-of-alice",
		"another type":        b64([]byte(`{"typ":"JWT"}`)) + ".c2ln",
		"no type":             b64([]byte(`{}`)) + ".c2ln",
		"two types":           b64([]byte(`{"typ":"x","typ":"githandoff-obo/1"}`)) + ".c2ln",
		"not an object":       b64([]byte(`"githandoff-obo/1"`)) + ".c2ln",
		"no signature":        ours + ".",
		"no dot":              ours,
		"three parts":         ours + ".c2ln.c2ln",
		"padding":             ours + ".c2lnbg==",
		"a line end":          ours + ".c2\nln",
		"bits after the last": ours + ".c2lnbh",
		"empty":               "",
	} {
		_, _, err := dialect.DecodeToken(text)
		require.Error(t, err, name)
		assert.Equal(t, fault.Denied, fault.CodeOf(err), name)
		if text != "" {
			assert.NotContains(t, err.Error(), text, name)
		}
	}
}

func TestForeignTokenIsRefused(t *testing.T) {
	const doc = `{"version":"1.0","session_id":"s","source_agent":"a","target_agent":"b","goal":"g","completed_steps":[],"pending_blockers":[],"cryptographic_obo_token":"TOKEN"}`
	_, err := dialect.Import("vox", []byte(strings.Replace(doc, "TOKEN", "bearer-of-alice", 1)))
	require.Error(t, err)
	assert.Equal(t, fault.Denied, fault.CodeOf(err))
	assert.Equal(t, "format vox: cryptographic_obo_token: the token is not a githandoff-obo/1 token", err.Error())
	assert.NotEmpty(t, fault.As(err).Advice())

	d, err := dialect.Import("vox", []byte(strings.Replace(doc, "TOKEN", token(), 1)))
	require.NoError(t, err)
	assert.Equal(t, token(), d.Token)
}

func TestAddToken(t *testing.T) {
	doc, _, err := dialect.Export("vox", everything())
	require.NoError(t, err)
	with, err := dialect.AddToken(doc, token())
	require.NoError(t, err)
	d, err := dialect.Import("", with)
	require.NoError(t, err)
	assert.Equal(t, token(), d.Token)

	_, err = dialect.AddToken(doc, "bearer-of-alice")
	assert.Equal(t, fault.Denied, fault.CodeOf(err))
}
