package dialect

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
)

// The lines around what a Kelos agent's container prints at its end.
const (
	handoffStart = "---KELOS_HANDOFF_START---"
	handoffEnd   = "---KELOS_HANDOFF_END---"
	outputsStart = "---KELOS_OUTPUTS_START---"
	outputsEnd   = "---KELOS_OUTPUTS_END---"
)

// Log is the output of a Kelos agent's container at its end.
type Log struct {
	Handoff Block // the document
	Outputs Block // the lines of outputs; see [Log.Results]
}

// Block is the text between the last complete pair of markers of one kind.
type Block struct {
	Text  []byte
	Found bool // a complete pair of markers was found
	// Cut means that a later start marker is incomplete or has no end: the log was cut off, and Text is from an earlier task.
	Cut  bool
	Line int // number of lines of the log before Text

	tooLong bool
}

// ReadLog reads a log of any size. However long the log and its lines are, memory is
// bounded by a few times [handoff.MaxEnvelope].
//
// A marker counts at the beginning or at the end of a line, white space and colours of a
// terminal aside: a program before it may not have ended its line. JSON has no place where it
// could mean anything else, because no string goes over the end of a line. Text in front of a
// start is taken for a log collector's prefix of each line, if it looks like one, and is taken
// off the lines up to the end: see [linePrefix].
func ReadLog(r io.Reader) (Log, error) {
	found := [2]scanner{
		{start: []byte(handoffStart), end: []byte(handoffEnd)},
		{start: []byte(outputsStart), end: []byte(outputsEnd)},
	}
	lines := lineReader{r: bufio.NewReaderSize(r, 1<<16)}
	var l line
	var err error
	for err == nil {
		l, err = lines.next()
		for i := range found {
			found[i].judge(l)
		}
	}
	if !errors.Is(err, io.EOF) {
		return Log{}, fmt.Errorf("read a log: %w", err)
	}
	return Log{Handoff: found[0].block(l), Outputs: found[1].block(l)}, nil
}

// LastKelosBlock returns the handoff of a log. The last text is refused if it is too long.
func LastKelosBlock(r io.Reader) (Block, error) {
	log, err := ReadLog(r)
	if err != nil {
		return Block{}, err
	}
	return log.Handoff, log.Handoff.check(handoffStart)
}

func (b Block) check(start string) error {
	if b.tooLong {
		return invalid(Kelos, fault.TooLarge, "text after %s: more than %d bytes", start, handoff.MaxEnvelope)
	}
	return nil
}

// CutOff refuses a log ending within a handoff.
func CutOff() *fault.Error {
	return invalid(Kelos, fault.Malformed, "the log ends inside a handoff: no %s follows the last %s", handoffEnd, handoffStart)
}

// KelosBlock puts a document, one line of JSON, between the markers by which [LastKelosBlock]
// finds it. A marker named in it is escaped, for other readers look for the last marker
// wherever it stands in a line.
func KelosBlock(doc []byte) []byte {
	// All markers begin so. It stands within a string, behind no open escape, because none in
	// JSON ends in a dash.
	doc = bytes.ReplaceAll(doc, []byte("---KELOS_"), []byte(`\u002d\u002d\u002dKELOS_`))
	return fmt.Appendf(nil, "%s\n%s\n%s\n", handoffStart, doc, handoffEnd)
}

// scanner goes through a log line by line.
type scanner struct {
	start, end []byte

	open    bool        // a start marker was found, and not yet its end marker
	sure    bool        // only the prefix of a log line stands before the start marker
	prefix  *linePrefix // prefix of the line with the start marker, removed from each line
	tooLong bool        // the text exceeds the limit
	text    []byte      // text after the start marker so far
	before  int         // number of lines before the text

	last Block
}

// block returns what was found up to the last line of the log.
func (s *scanner) block(last line) Block {
	s.last.Cut = s.open && (s.sure || bytes.HasPrefix(s.text, []byte("{"))) || s.cutWithin(last)
	return s.last
}

// cutWithin reports whether the last line of a log ends within a start. Three dashes alone are a line of Markdown.
func (s *scanner) cutWithin(last line) bool {
	at := bytes.LastIndex(last.tail, s.start[:len("---K")])
	return at >= 0 && bytes.HasPrefix(s.start, last.tail[at:]) && (at == 0 || isLogPrefix(last.tail[:at]))
}

func (s *scanner) judge(l line) {
	text, tail := l.head, l.tail
	if s.open {
		var other bool
		if text, other = s.prefix.strip(text); other {
			return
		}
		if !l.cut {
			tail = text
		}
	}
	rest, begun := s.begins(text, tail, l)
	switch {
	case !begun && !s.open, begun && rest == nil:
		return
	case begun:
		text = rest
	}
	switch {
	case bytes.HasSuffix(tail, s.end):
		s.add(bytes.TrimSuffix(text, s.end), l)
		s.complete()
	case bytes.HasPrefix(text, s.end):
		s.complete()
	default:
		s.add(text, l)
	}
}

// begins looks for a start, and returns the text behind it in the same line; nil if
// the start ends the line.
func (s *scanner) begins(text, tail []byte, l line) (rest []byte, begun bool) {
	at := -1
	switch {
	case bytes.HasPrefix(text, s.start):
		s.begin(s.prefix, true)
		return text[len(s.start):], true
	case bytes.HasSuffix(tail, s.start):
		at = len(text) - len(s.start)
	case len(l.head) <= longestLine:
		at = bytes.Index(text, s.start)
	}
	switch {
	case l.cut && bytes.HasSuffix(tail, s.start): // the line was cut, so the text before the marker is unknown
		s.begin(nil, false)
		return nil, true
	case at < 0:
		return nil, false
	}
	before, behind := text[:at], text[at+len(s.start):]
	sure := isLogPrefix(before)
	if len(behind) > 0 && !sure {
		return nil, false // the line only mentions the marker
	}
	s.begin(newLinePrefix(before), sure)
	if len(behind) == 0 {
		return nil, true
	}
	return behind, true
}

func (s *scanner) begin(prefix *linePrefix, sure bool) {
	s.open, s.sure, s.prefix = true, sure, prefix
	s.tooLong, s.text = false, s.text[:0]
}

func (s *scanner) add(text []byte, l line) {
	text = bytes.TrimSpace(text)
	switch {
	case s.tooLong, len(text) == 0 && (len(s.text) == 0 || len(s.text) >= handoff.MaxEnvelope):
		return
	case l.cut, len(text) > 0 && len(s.text)+len(text) > handoff.MaxEnvelope:
		s.tooLong, s.text = true, s.text[:0]
		return
	case len(s.text) == 0:
		s.before = l.number - 1
	}
	s.text = append(append(s.text, text...), '\n')
}

func (s *scanner) complete() {
	s.last = Block{Text: append(s.last.Text[:0], bytes.TrimSpace(s.text)...), Found: true, Line: s.before, tooLong: s.tooLong}
	s.open, s.prefix = false, nil
}
