package dialect

import (
	"bytes"
	"encoding/json"
	"strings"
)

// jsonText finds the JSON text of a document: all of it, what stands between the
// last markers of a log, or the last fenced code block of a Markdown file that is
// labelled json; nil if there is none.
func jsonText(b []byte, logs bool) (text []byte, isLog bool, err error) {
	if looksLikeObject(b) && json.Valid(b) {
		return b, false, nil
	}
	if logs && bytes.Contains(b, []byte(handoffStart)) {
		if block, found, err := LastKelosBlock(bytes.NewReader(b)); found || err != nil {
			return block, true, err
		}
	}
	if block, found := lastFence(b); found {
		return block, false, nil
	}
	if looksLikeObject(b) || json.Valid(b) {
		return b, false, nil
	}
	return nil, false, nil
}

// noText says why there is no JSON text in a document.
func noText(b []byte) string {
	switch {
	case len(bytes.TrimSpace(b)) == 0:
		return "it is empty"
	case bytes.HasPrefix(b, []byte("\xff\xfe")), bytes.HasPrefix(b, []byte("\xfe\xff")):
		return "it is UTF-16; write UTF-8"
	case bytes.Contains(b, []byte(handoffStart)):
		return "a log without a complete pair of markers, or with nothing between them"
	}
	return "neither JSON, nor Markdown with a ```json block, nor a log with markers"
}

// looksLikeObject: what is meant as JSON shall get the errors of JSON.
func looksLikeObject(b []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(b, " \t\r\n"), []byte("{"))
}

// lastFence returns the inside of the last block labelled json. Where there is
// none, one that stands inside of the last block labelled markdown will do: agents
// wrap their whole output in one.
func lastFence(b []byte) (block []byte, found bool) {
	block, wrapped := scanFences(b)
	if block == nil && wrapped != nil {
		block, _ = scanFences(wrapped)
	}
	return block, block != nil
}

// scanFences returns the insides of the last blocks labelled json and markdown; nil
// where there is none. The fences are those of CommonMark 0.31, section 4.5, and one
// more: a line that opens a json block opens it also inside a block whose fence is of
// the same kind and not longer, because agents forget to close others. A block that
// is not closed goes to the end.
func scanFences(b []byte) (block, wrapped []byte) {
	var open fence
	start, offset := 0, 0
	for line := range bytes.Lines(b) {
		f, isFence := parseFence(line)
		switch {
		case !isFence:
		case open.length == 0, f.isJSON() && f.covers(open):
			open, start = f, offset+len(line)
			switch {
			case f.isJSON():
				block = b[start:]
			case f.isMarkdown():
				wrapped = b[start:]
			}
		case f.label == "" && f.covers(open):
			switch {
			case open.isJSON():
				block = b[start:offset]
			case open.isMarkdown():
				wrapped = b[start:offset]
			}
			open = fence{}
		}
		offset += len(line)
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

// covers says whether f, without a label, closes a block that open began.
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
