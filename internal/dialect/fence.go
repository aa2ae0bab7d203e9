package dialect

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
)

// source is the JSON text of a document, and where it was found.
type source struct {
	json   []byte // nil if the document has no JSON text
	line   int    // number of lines before the JSON text
	isLog  bool   // the text stands between the markers of a log
	around string // text before and after the block of a Markdown file
}

// findJSON finds the JSON text of a document: all of it, the text between the last markers of
// a log, or the last fenced code block labelled json of a Markdown file.
func findJSON(b []byte, logs bool) (source, error) {
	if looksLikeObject(b) && json.Valid(b) {
		return source{json: b}, nil
	}
	block := lastFence(b)
	if logs && bytes.Contains(b, []byte(handoffStart)) {
		log, err := LastKelosBlock(bytes.NewReader(b))
		switch {
		// A block at the end of a Markdown file may follow the mere mention of a start.
		case log.Cut && (block.from == 0 || block.from < bytes.LastIndex(b, []byte(handoffStart))):
			return source{isLog: true}, CutOff()
		case log.Found || err != nil:
			return source{json: log.Text, line: log.Line, isLog: true}, err
		}
	}
	if block.from > 0 {
		return source{json: b[block.from:block.to], line: bytes.Count(b[:block.from], []byte("\n")), around: block.around(b)}, nil
	}
	if looksLikeObject(b) || json.Valid(b) {
		return source{json: b}, nil
	}
	return source{}, nil
}

// noText says why there is no JSON text in a document.
func noText(b []byte) error {
	switch {
	case len(bytes.TrimSpace(b)) == 0:
		return errors.New("it is empty")
	case bytes.HasPrefix(b, []byte("\xff\xfe")), bytes.HasPrefix(b, []byte("\xfe\xff")):
		return errors.New("it is UTF-16; write UTF-8")
	case bytes.Contains(b, []byte(handoffStart)):
		return errors.New("the log has no complete pair of markers, or nothing between them")
	case bytes.Contains(b, []byte(outputsStart)):
		return errors.New("the log has outputs of an agent, but no handoff")
	}
	return untold("neither JSON, nor Markdown with a ```json block, nor a log with markers")
}

// looksLikeObject: a text meant as JSON shall get the errors of JSON.
func looksLikeObject(b []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(b, " \t\r\n"), []byte("{"))
}

// span is a fenced block of a document.
type span struct {
	open, from, to, end int // offsets of the opening line, the content, the closing line and the text after it
}

// around returns the text before and after the block.
func (s span) around(b []byte) string {
	before, after := strings.TrimRight(string(b[:s.open]), " \t\r\n"), strings.Trim(string(b[s.end:]), "\r\n")
	switch {
	case blank(after):
		return strings.TrimLeft(before, "\r\n")
	case blank(before):
		return strings.TrimRight(after, " \t\r\n")
	}
	return strings.TrimLeft(before, "\r\n") + "\n\n" + strings.TrimRight(after, " \t\r\n")
}

func (s span) shift(by int) span { return span{s.open + by, s.from + by, s.to + by, s.end + by} }

// lastFence returns the last block labelled json, or else one inside the last block labelled
// markdown: agents wrap their whole output in one. The span is zero if there is neither.
func lastFence(b []byte) span {
	block, wrapped := scanFences(b)
	if block.from == 0 && wrapped.from > 0 {
		if block, _ = scanFences(b[wrapped.from:wrapped.to]); block.from > 0 {
			block = block.shift(wrapped.from)
		}
	}
	return block
}

// scanFences returns the last blocks labelled json and markdown; zero if there is none. The
// fences are those of CommonMark 0.31, section 4.5, with one addition: a line opening a json
// block does so also inside a block whose fence is of the same kind and not longer, because
// agents forget to close others. An unclosed block goes to the end.
func scanFences(b []byte) (block, wrapped span) {
	var open fence
	offset := 0
	for line := range bytes.Lines(b) {
		f, isFence := parseFence(line)
		behind := offset + len(line)
		switch {
		case !isFence:
		case open.length == 0, f.isJSON() && f.covers(open):
			open = f
			switch opened := (span{offset, behind, len(b), len(b)}); {
			case f.isJSON():
				block = opened
			case f.isMarkdown():
				wrapped = opened
			}
		case f.label == "" && f.covers(open):
			switch {
			case open.isJSON():
				block.to, block.end = offset, behind
			case open.isMarkdown():
				wrapped.to, wrapped.end = offset, behind
			}
			open = fence{}
		}
		offset = behind
	}
	return block, wrapped
}

// fence is a line of three or more backticks or tildes, with a label or none.
type fence struct {
	char   byte
	length int
	label  string
}

func (f fence) isJSON() bool { return strings.EqualFold(f.label, "json") }

func (f fence) isMarkdown() bool {
	return strings.EqualFold(f.label, "markdown") || strings.EqualFold(f.label, "md")
}

// covers says whether f, without a label, closes a block begun by open.
func (f fence) covers(open fence) bool { return f.char == open.char && f.length >= open.length }

func parseFence(line []byte) (fence, bool) {
	text := strings.TrimRight(string(line[:min(len(line), 1024)]), " \t\r\n")
	indented := len(text)
	text = strings.TrimLeft(text, " ")
	if indented-len(text) > 3 || text == "" || (text[0] != '`' && text[0] != '~') {
		return fence{}, false
	}
	rest := strings.TrimLeft(text, text[:1])
	f := fence{char: text[0], length: len(text) - len(rest)}
	if f.length < 3 || (f.char == '`' && strings.Contains(rest, "`")) {
		return fence{}, false
	}
	if words := strings.Fields(rest); len(words) > 0 {
		f.label = words[0]
	}
	return f, true
}
