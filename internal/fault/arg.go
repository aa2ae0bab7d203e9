package fault

import (
	"strings"
	"unicode"
)

// Arg spells arguments of a command line in a hint: each as it is where a POSIX
// shell takes it for one word, otherwise in single quotes.
func Arg(words ...string) string {
	var line []string
	for _, w := range words {
		if w == "" || strings.TrimFunc(w, plain) != "" {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		line = append(line, w)
	}
	return strings.Join(line, " ")
}

// plain: it means nothing to a shell.
func plain(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("%+,-./:=@_…", r)
}
