package fault

import (
	"strconv"
	"strings"
)

// maxWord is the longest word of somebody else in a message, in bytes.
const maxWord = 64

// WithoutTexts returns err with a message in which "(a text)" stands for each quoted text that is
// no short plain word. Errors about the bytes of others quote them, and a message is read as
// githandoff's own words. Errors without a [Reason] stay as they are.
func WithoutTexts(err error) error {
	f := As(err)
	if f == nil {
		return err
	}
	told := *f
	told.Message = withoutTexts(f.Message)
	return &told
}

func withoutTexts(message string) string {
	var b strings.Builder
	for {
		start := strings.IndexAny(message, "\"`")
		if start < 0 {
			return b.String() + message
		}
		b.WriteString(message[:start])
		message = message[start:]
		quoted, err := strconv.QuotedPrefix(message)
		if err != nil {
			b.WriteString("(a text)") // the quoted text has no end
			return b.String()
		}
		message = message[len(quoted):]
		if text := quoted[1 : len(quoted)-1]; !isWord(text) {
			quoted = "(a text)"
		}
		b.WriteString(quoted)
	}
}

// isWord reports whether a quoted text is one plain word, or a single character.
func isWord(s string) bool {
	const plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._/@:+-"
	return len(s) <= maxWord && strings.Trim(s, plain) == ""
}
