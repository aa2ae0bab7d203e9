package receipt

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
)

func TestResults(t *testing.T) {
	none, err := Results{}.Encode()
	require.NoError(t, err)
	assert.Empty(t, none)
	assert.Nil(t, DecodeResults(""))
	assert.Nil(t, DecodeResults(`["pr"]`))

	r := Results{"pr": "#743", "author": "Zoë", "mood": "😀", "log": "one\ntwo\t\x7f", "html": "<a href=\"x\">&</a>"}
	s, err := r.Encode()
	require.NoError(t, err)
	assert.Equal(t, `{"author":"Zo\u00eb","html":"\u003ca href=\"x\"\u003e\u0026\u003c/a\u003e","log":"one\ntwo\t\u007f","mood":"\ud83d\ude00","pr":"#743"}`, s)
	assert.Equal(t, r, DecodeResults(s))

	_, err = Results{"log": strings.Repeat("x", 4096)}.Encode()
	assert.True(t, fault.Is(err, "too_large"), "refused, not cut: %v", err)
	assert.Equal(t, fault.Invalid, fault.CodeOf(err))
}

// Results become a line of a commit message in printable ASCII, and are read back unchanged.
func FuzzResults(f *testing.F) {
	f.Add("pr", "#743")
	f.Add("", "\u2028\U0001F600\ufffd")
	f.Add("a\nHandoff-Event: offered", "\x00\x1b[2J\"\\")
	f.Fuzz(func(t *testing.T, key, value string) {
		s, err := Results{key: value}.Encode()
		if err != nil {
			return
		}
		require.False(t, strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }), "%q", s)
		if utf8.ValidString(key) && utf8.ValidString(value) {
			assert.Equal(t, Results{key: value}, DecodeResults(s))
		}
	})
}
