package fault

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

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
