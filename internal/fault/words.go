package fault

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Count returns a number with its noun, "1 key" or "2 keys".
func Count(n int, one string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(one, "y") && !strings.HasSuffix(one, "ey"):
		one = strings.TrimSuffix(one, "y") + "ies"
	default:
		one += "s"
	}
	return fmt.Sprint(n, " ", one)
}

// Nearest returns the known word at most two edits from word; "" if there is none, or if word
// itself is known. A short word allows fewer edits.
func Nearest(word string, known []string) string {
	near, best := "", min(3, (len(word)+1)/3+1)
	for _, k := range known {
		if k == word {
			return ""
		}
		if n := distance(k, word); n < best {
			near, best = k, n
		}
	}
	return near
}

// distance counts the edits between two words: a letter more, a letter less, another letter, or
// two letters in the wrong order (optimal string alignment).
func distance(a, b string) int {
	above, row := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next := make([]int, len(b)+1)
		next[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next[j+1] = min(row[j]+cost, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], above[j-1]+1)
			}
		}
		above, row = row, next
	}
	return row[len(b)]
}

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

// shown spells a command line as Arg does, but for a terminal: a word with a character that a line
// cannot show, such as a line break, is written as $'…', which bash, ksh and zsh read. A printer
// would escape such a character, and the pasted word would be another one.
func shown(words []string) string {
	line := make([]string, len(words))
	for i, w := range words {
		if line[i] = Arg(w); strings.ContainsFunc(w, hidden) {
			line[i] = escaped(w)
		}
	}
	return strings.Join(line, " ")
}

// hidden: it is no character of a line, or none at all.
func hidden(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }

// escaped returns a word in the form $'…', with the bytes of hidden characters in octal.
func escaped(w string) string {
	var b strings.Builder
	b.WriteString("$'")
	for len(w) > 0 {
		r, n := utf8.DecodeRuneInString(w)
		switch char := w[:n]; {
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\'' || r == '\\':
			b.WriteString(`\` + char)
		case hidden(r):
			for _, c := range []byte(char) {
				fmt.Fprintf(&b, `\%03o`, c)
			}
		default:
			b.WriteString(char)
		}
		w = w[n:]
	}
	return b.String() + "'"
}
