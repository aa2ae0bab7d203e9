package output

import (
	"regexp"
	"strings"
	"sync"

	"github.com/charmbracelet/x/ansi"
)

// Fit breaks the lines of a page of help that are wider than a terminal, between words. It fills such a
// paragraph anew, and goes on with the description of an entry below its beginning. Command lines stay
// whole, to be pasted. A width of zero stands for no terminal.
func Fit(page string, width int) string {
	if width <= 0 {
		return page
	}
	lines := strings.Split(page, "\n")
	var b strings.Builder
	for i, n := 0, 0; i < len(lines); i += n {
		column, wide := columnOf(lines[i]), false
		for n = 0; i+n < len(lines) && (n == 0 || column >= 0 && goesOn(lines[i+n], column)); n++ {
			wide = wide || ansi.StringWidth(lines[i+n]) > width
		}
		text := strings.Join(lines[i:i+n], "\n")
		if wide && column >= 0 {
			first, rest := lines[i][:column], lines[i][column:]
			for _, line := range lines[i+1 : i+n] {
				rest += " " + strings.TrimSpace(line)
			}
			text = Hang(first, rest, width)
		}
		b.WriteString(text + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// columnOf returns where the text of a line begins: at the margin, behind the name of an entry and
// two blanks, or as far in as only the rest of an entry is. It is -1 for an empty line and for a command line.
func columnOf(line string) int {
	switch {
	case line == "":
		return -1
	case line[0] != ' ':
		return 0
	}
	if at := entry().FindStringIndex(line); at != nil {
		return at[1]
	}
	const farIn = 12
	if column := len(line) - len(strings.TrimLeft(line, " ")); column >= farIn {
		return column
	}
	return -1
}

// entry matches the name of an entry and the blanks behind it.
var entry = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^ +\S+(?: \S+)* {2,}`) })

// goesOn reports whether a line continues the text that began in this column.
func goesOn(line string, column int) bool {
	text := strings.TrimLeft(line, " ")
	return text != "" && len(line)-len(text) == column
}

// Hang breaks a text behind the name of an entry so that no line is wider than a terminal, and goes on
// below its beginning. Where that leaves too little room, or without a terminal, it breaks nothing.
func Hang(name, text string, width int) string {
	const least = 20
	column := ansi.StringWidth(name)
	if width-column < least {
		return name + text
	}
	var b strings.Builder
	b.WriteString(name)
	room := width - column
	for i, word := range strings.Split(text, " ") {
		switch n := ansi.StringWidth(word); {
		case i == 0:
			room -= n
		case n < room:
			b.WriteString(" ")
			room -= n + 1
		default:
			b.WriteString("\n" + strings.Repeat(" ", column))
			room = width - column - n
		}
		b.WriteString(word)
	}
	return b.String()
}
