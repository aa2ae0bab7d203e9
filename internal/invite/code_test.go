package invite_test

import (
	"bytes"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/invite"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func code(t *testing.T, kind invite.Kind, url string) invite.Code {
	t.Helper()
	c, err := invite.New(kind, url, noon.Add(24*time.Hour), rand.Reader)
	require.NoError(t, err)
	return c
}

func TestCode(t *testing.T) {
	for _, kind := range []invite.Kind{invite.Pair, invite.Team} {
		c := code(t, kind, "ssh://git@example.com/acme/client.git")
		text := c.String()
		assert.Regexp(t, `^(pair|team)1[a-z2-7]+$`, text)
		for _, typed := range []string{text, " " + strings.ToUpper(text) + "\n"} {
			back, err := invite.Parse(typed)
			require.NoError(t, err, typed)
			assert.Equal(t, c, back)
			assert.Equal(t, c.ID(), back.ID())
		}
	}
}

// A code in which a character is missing, changed or added is invalid, and is not read as another code.
func TestCode_damaged(t *testing.T) {
	text := code(t, invite.Pair, "https://example.com/acme/client").String()
	for i := range text {
		_, err := invite.Parse(text[:i] + text[i+1:])
		assert.Error(t, err, "without character %d", i)
		changed := []byte(text)
		changed[i] = map[bool]byte{true: 'b', false: 'a'}[text[i] == 'a']
		_, err = invite.Parse(string(changed))
		assert.Error(t, err, "with another character %d", i)
	}
	for _, bad := range []string{"", "pair1", "pair1!", "pair2" + text[5:], text + "a", "team1" + text[5:], text + text} {
		_, err := invite.Parse(bad)
		assert.Error(t, err, bad)
	}
}

func TestCode_limits(t *testing.T) {
	for _, url := range []string{"", strings.Repeat("x", 513)} {
		_, err := invite.New(invite.Pair, url, noon, rand.Reader)
		assert.Error(t, err)
	}
	_, err := invite.New(invite.Pair, "x", noon, bytes.NewReader(make([]byte, 15)))
	assert.Error(t, err, "too little randomness")
}

// Two codes that differ in any part have different ids, so nobody can keep the secret and change the rest.
func TestCode_isBoundAsAWhole(t *testing.T) {
	c := code(t, invite.Pair, "https://example.com/a")
	others := []invite.Code{c, c, c, c}
	others[0].Kind = invite.Team
	others[1].URL = "https://example.com/b"
	others[2].Expires = c.Expires.Add(time.Second)
	others[3].Secret[0] ^= 1
	for _, other := range others {
		assert.NotEqual(t, c.ID(), other.ID())
		record, _ := offered(t, c, newKey(t), invite.Offer{})
		_, err := other.Open(record, noon, check)
		assert.Error(t, err)
	}
}

func FuzzParse(f *testing.F) {
	c, err := invite.New(invite.Team, "https://example.com/a", noon, bytes.NewReader(make([]byte, 16)))
	require.NoError(f, err)
	f.Add(c.String())
	f.Add("pair1")
	f.Fuzz(func(t *testing.T, s string) {
		c, err := invite.Parse(s)
		if err == nil {
			assert.Equal(t, strings.ToLower(strings.TrimSpace(s)), c.String())
		}
	})
}
