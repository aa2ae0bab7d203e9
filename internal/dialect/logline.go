package dialect

import (
	"bufio"
	"bytes"
	"errors"
	"regexp"
	"strings"
	"sync"

	"githandoff/internal/handoff"
)

// line is one line of a log, without colours and white space around it.
type line struct {
	number int    // line number, from 1
	head   []byte // first bytes, enough for a document with both markers
	tail   []byte // last bytes, up to tailSize
	cut    bool   // the line is longer than head
}

const (
	tailSize    = 256
	headSize    = handoff.MaxEnvelope + len(handoffStart) + len(handoffEnd) + 2*tailSize
	longestLine = headSize - tailSize
)

// lineReader reads lines of any length in bounded memory.
type lineReader struct {
	r          *bufio.Reader
	number     int
	head, tail []byte
}

// next is valid until it is called again. The last line may come with io.EOF.
func (l *lineReader) next() (line, error) {
	l.head, l.tail = l.head[:0], l.tail[:0]
	l.number++
	cut := false
	for {
		piece, err := l.r.ReadSlice('\n')
		room := min(headSize-len(l.head), len(piece))
		l.head = append(l.head, piece[:room]...)
		cut = cut || room < len(piece)
		l.tail = append(l.tail, piece[max(0, len(piece)-tailSize):]...)
		l.tail = append(l.tail[:0], l.tail[max(0, len(l.tail)-tailSize):]...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		head := plain(l.head)
		if l.number == 1 {
			head = bytes.TrimPrefix(head, []byte("\ufeff"))
		}
		out := line{number: l.number, head: head, tail: head, cut: cut}
		if cut {
			out.tail = plain(l.tail)
		}
		return out, err
	}
}

// terminal is a control sequence (ECMA-48, 5.4) or a command to the terminal or to a program, such
// as a title, a link, or the time that Buildkite puts before each line.
var terminal = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]_][^\x07\x1b]*(?:\x07|\x1b\\)`)
})

// plain returns text without colours. JSON has no place for an escape character, so no part of a
// document is lost.
func plain(text []byte) []byte {
	if bytes.IndexByte(text, 0x1b) >= 0 {
		text = terminal().ReplaceAllLiteral(text, nil)
	}
	return bytes.TrimSpace(text)
}

// Times as collectors of logs print them.
const timeForms = `\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?` +
	`|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +\d{1,2} \d\d:\d\d:\d\d` +
	`|\d\d:\d\d:\d\d(?:[.,]\d+)?|\d{10}(?:[.,]\d+)?`

var (
	times = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(timeForms) })
	// logPrefix matches the prefix of each line of a log: times, a name in brackets,
	// a name and a bar, a program and its process id.
	logPrefix = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:(?:` + timeForms + `|\[[^\[\]{}"]{1,200}\]|[\w./-]{1,100} *\||(?:[\w.-]{1,64} +)?[\w./-]{1,64}\[\d+\]:)[ \t]*)+$`)
	})
)

func isLogPrefix(text []byte) bool { return len(text) <= tailSize && logPrefix().Match(text) }

// linePrefix describes the prefix of a start marker: kubectl logs --timestamps and
// --prefix, docker compose logs, the logs of GitHub Actions and syslog give one to
// each line. It is the same text in each line, but for times and the width of gaps.
type linePrefix struct {
	form  *regexp.Regexp
	label string // "[pod/" or "|" after the name of a source whose lines may be mixed with others; else ""
}

// newLinePrefix returns nil if text is no prefix: too long, or without a gap before the marker.
func newLinePrefix(text []byte) *linePrefix {
	named := bytes.TrimRight(text, " \t")
	if len(named) == 0 || len(text) > tailSize || len(named) == len(text) && !bytes.ContainsRune([]byte("]|:>"), rune(text[len(text)-1])) {
		return nil
	}
	var form strings.Builder
	form.WriteString("^")
	from := 0
	for _, at := range times().FindAllIndex(named, -1) {
		form.WriteString(literalForm(named[from:at[0]]) + "(?:" + timeForms + ")")
		from = at[1]
	}
	form.WriteString(literalForm(named[from:]))
	re, err := regexp.Compile(form.String())
	if err != nil { // the text is not UTF-8
		return nil
	}
	p := &linePrefix{form: re}
	switch {
	case bytes.HasPrefix(named, []byte("[pod/")):
		p.label = "[pod/"
	case bytes.HasSuffix(named, []byte("|")):
		p.label = "|"
	}
	return p
}

var gaps = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[ \t]+`) })

func literalForm(text []byte) string {
	return gaps().ReplaceAllLiteralString(regexp.QuoteMeta(string(text)), `[ \t]+`)
}

// strip takes the prefix off a line. A line with another one of the kind is from another
// program, which ran at the same time.
func (p *linePrefix) strip(text []byte) (rest []byte, other bool) {
	if p == nil {
		return text, false
	}
	if at := p.form.FindIndex(text); at != nil {
		return bytes.TrimSpace(text[at[1]:]), false
	}
	switch p.label {
	case "[pod/":
		other = bytes.HasPrefix(text, []byte(p.label))
	case "|":
		name, _, barred := bytes.Cut(text, []byte(p.label))
		other = barred && isLogPrefix(append(bytes.Clone(name), '|'))
	}
	return text, other
}
