package untrusted_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"githandoff/internal/untrusted"
)

func TestQuote(t *testing.T) {
	for text, want := range map[string]string{
		"stop the 500":           `"stop the 500"`,
		"":                       `""`,
		"two\nlines":             `"two…"`,
		"\x1b[31mred\u202e":      `"\x1b[31mred\u202e"`,
		`say "done" and exit`:    `"say 'done' and exit"`,
		strings.Repeat("a", 59):  `"` + strings.Repeat("a", 59) + `"`,
		strings.Repeat("a", 60):  `"` + strings.Repeat("a", 59) + `…"`,
		strings.Repeat("漢", 100): `"` + strings.Repeat("漢", 19) + `…"`,
	} {
		got := untrusted.Quote(text)
		assert.Equal(t, want, got)
		assert.LessOrEqual(t, len(got), untrusted.MaxOutside)
	}
}
