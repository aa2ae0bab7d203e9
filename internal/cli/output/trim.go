package output

import (
	"bytes"
	"io"
)

// trimmed passes lines on without the spaces at their ends. An aligned row whose last cell
// is empty would otherwise be wider than its text, and break on a narrow terminal.
type trimmed struct {
	w      io.Writer
	spaces int // ended the last write
}

func (t *trimmed) Write(b []byte) (int, error) {
	var out []byte
	for rest := b; len(rest) > 0; {
		n := bytes.IndexByte(rest, '\n')
		line, end := rest, []byte(nil)
		if n >= 0 {
			line, end = rest[:n], rest[n:n+1]
		}
		rest = rest[len(line)+len(end):]
		text := bytes.TrimRight(line, " ")
		if len(text) > 0 {
			out = append(append(out, bytes.Repeat([]byte(" "), t.spaces)...), text...)
			t.spaces = 0
		}
		if t.spaces += len(line) - len(text); end != nil {
			t.spaces = 0
		}
		out = append(out, end...)
	}
	if _, err := t.w.Write(out); err != nil {
		return 0, err
	}
	return len(b), nil
}
