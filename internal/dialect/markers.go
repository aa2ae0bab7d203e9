package dialect

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"githandoff/internal/handoff"
)

// The lines around what a Kelos agent's container prints at its end.
const (
	handoffStart = "---KELOS_HANDOFF_START---"
	handoffEnd   = "---KELOS_HANDOFF_END---"
	outputsStart = "---KELOS_OUTPUTS_START---"
	outputsEnd   = "---KELOS_OUTPUTS_END---"
)

// LastKelosBlock returns the text of the last complete pair of handoff markers
// in a log, and whether there is one. A start without an end is not a pair: the
// log was cut off there. However long the log and its lines are, memory is bounded
// by a few times [handoff.MaxEnvelope]; a longer text is refused, if it is the
// last.
//
// A marker counts at the beginning or at the end of a line, white space aside:
// a program before it may not have ended its line. JSON has no place where it
// could mean anything else, because no string goes over the end of a line.
func LastKelosBlock(r io.Reader) (block []byte, found bool, err error) {
	return lastBlock(r, handoffStart, handoffEnd)
}

// KelosBlock puts a document, one line of JSON, between the markers by which
// [LastKelosBlock] finds it.
func KelosBlock(doc []byte) []byte {
	return fmt.Appendf(nil, "%s\n%s\n%s\n", handoffStart, doc, handoffEnd)
}

// KelosOutputs reads the last complete pair of outputs markers: the lines
// between them that are not blank, and a map of those that read "key: value".
// A key that is there twice has its last value.
func KelosOutputs(r io.Reader) (lines []string, results map[string]string, err error) {
	block, found, err := lastBlock(r, outputsStart, outputsEnd)
	if err != nil || !found {
		return nil, nil, err
	}
	results = map[string]string{}
	for line := range strings.Lines(string(block)) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		lines = append(lines, line)
		// A colon alone does not do: that would make a key of "https".
		if key, value, ok := strings.Cut(line+" ", ": "); ok && key != "" {
			results[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	return lines, results, nil
}

func lastBlock(r io.Reader, start, end string) (block []byte, found bool, err error) {
	s := scanner{start: []byte(start), end: []byte(end)}
	lines := bufio.NewReaderSize(r, 1<<16)
	for err == nil {
		err = s.line(lines)
	}
	if !errors.Is(err, io.EOF) {
		return nil, false, fmt.Errorf("read a log: %w", err)
	}
	if s.found && s.lastTooLong {
		return nil, false, invalid(Kelos, "too_large", "text after %s: more than %d bytes", start, handoff.MaxEnvelope)
	}
	return s.last, s.found, nil
}

// scanner goes through a log line by line.
type scanner struct {
	start, end []byte

	open    bool   // between a start and its end
	tooLong bool   // what is between them is over the limit
	block   []byte // what is between them so far

	found       bool // a pair was complete
	last        []byte
	lastTooLong bool

	// Of a line of any length, its first bytes, up to the limit of a block and
	// two markers, and its last ones.
	head, tail []byte
}

const tailSize = 256

// line reads and judges one line.
func (s *scanner) line(r *bufio.Reader) error {
	s.head, s.tail = s.head[:0], s.tail[:0]
	limit := handoff.MaxEnvelope + len(s.start) + len(s.end) + tailSize
	cut := false
	for {
		piece, err := r.ReadSlice('\n')
		room := min(limit-len(s.head), len(piece))
		s.head = append(s.head, piece[:room]...)
		cut = cut || room < len(piece)
		s.tail = append(s.tail, piece[max(0, len(piece)-tailSize):]...)
		s.tail = append(s.tail[:0], s.tail[max(0, len(s.tail)-tailSize):]...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		s.judge(cut)
		return err
	}
}

func (s *scanner) judge(cut bool) {
	text := bytes.TrimSpace(s.head)
	tail := text
	if cut {
		// The middle is gone; what is left serves to find the markers.
		tail = bytes.TrimSpace(s.tail)
	}
	switch {
	case bytes.HasPrefix(text, s.start):
		s.begin()
		text = text[len(s.start):]
	case bytes.HasSuffix(tail, s.start):
		s.begin()
		return
	}
	if !s.open {
		return
	}
	switch {
	case bytes.HasSuffix(tail, s.end):
		s.add(bytes.TrimSuffix(text, s.end), cut)
		s.complete()
	case bytes.HasPrefix(text, s.end):
		s.complete()
	default:
		s.add(text, cut)
	}
}

func (s *scanner) begin() {
	s.open, s.tooLong, s.block = true, false, s.block[:0]
}

func (s *scanner) add(text []byte, cut bool) {
	switch {
	case s.tooLong, len(text) == 0:
	case cut, len(s.block)+len(text) > handoff.MaxEnvelope:
		s.tooLong, s.block = true, s.block[:0]
	default:
		s.block = append(append(s.block, text...), '\n')
	}
}

func (s *scanner) complete() {
	s.last = append(s.last[:0], bytes.TrimSpace(s.block)...)
	s.found, s.lastTooLong = true, s.tooLong
	s.open = false
}
