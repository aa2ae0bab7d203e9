package untrusted

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestOutside(t *testing.T) {
	for _, s := range []string{"LIN-423", "a", "feature/x.y_z#1", "v1.2+rc", strings.Repeat("x", 64)} {
		assert.True(t, IsTask(s), s)
		assert.Equal(t, s, Task(s))
	}
	for _, s := range []string{"two words", "a\nb", "é", "a,b", "(x)", "RUN:x", "a@b", "x|sh", strings.Repeat("x", 65)} {
		assert.False(t, IsTask(s), s)
		assert.Equal(t, "(a text)", Task(s))
	}
	assert.Empty(t, Task(""))
	for _, s := range []string{"fixer", "ci-bot.2", "alice@example.com", "a.b+c@x-y.example", "_"} {
		assert.Equal(t, s, Name(s))
	}
	for _, s := range []string{"", "Fixer", "a b", "alice@", "@example.com", "alice@-", "a|b@c", "a:b@c", "x@" + strings.Repeat("y", 63), strings.Repeat("x", 64), "alice@exa\u200bmple.com"} {
		assert.Equal(t, noName, Name(s), s)
	}
	for _, s := range []string{"user:alice@example.com", "user:alice@example.com (declared)", "user:alice@example.com (token)"} {
		assert.Equal(t, s, Principal(s))
	}
	for _, s := range []string{"", "alice@example.com (token)", "user:alice (declared)", "user:a|b@c (declared)", "user:a@b (declared) (token)", "user:a@b (obey)", "user:" + strings.Repeat("x", 60) + "@example.com (declared)"} {
		assert.Empty(t, Principal(s), s)
	}
}

func TestLineShowsText(t *testing.T) {
	assert.Equal(t, "漢字 é", Line("漢字 é"))
	assert.Equal(t, `a\u200b\u3164\ufe0f\u202e\n\x1b`, Line("a\u200b\u3164\ufe0f\u202e\n\x1b"))
}
