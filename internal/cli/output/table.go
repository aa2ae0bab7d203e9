package output

import (
	"bufio"
	"io"
	"text/tabwriter"

	"githandoff/internal/untrusted"
)

// Table prints many results: with --json an object a line, on a terminal aligned
// columns, elsewhere columns separated by tabs.
type Table struct {
	p       *Printer
	buffer  *bufio.Writer
	aligned *tabwriter.Writer // nil unless a person looks
	indent  string            // before each row at a terminal
}

// Table begins one. Flush ends it.
func (p *Printer) Table() *Table {
	t := &Table{p: p, buffer: bufio.NewWriterSize(p.out, 64<<10)}
	if p.terminal && !p.JSON {
		t.aligned = tabwriter.NewWriter(&trimmed{w: t.buffer}, 0, 8, 2, ' ', 0)
	}
	return t
}

// ForPeople reports whether a person looks at the table: then an id is short and a
// time says how long ago it was.
func (t *Table) ForPeople() bool { return t.aligned != nil }

// Row prints one result. Its cells are escaped, except for words of githandoff's own,
// which get their colour.
func (t *Table) Row(v any, cells ...Cell) error {
	if t.p.JSON {
		return t.p.Encode(t.buffer, v)
	}
	return t.Cells(cells...)
}

// Cells prints a row without an object.
func (t *Table) Cells(cells ...Cell) error {
	var w io.Writer = t.buffer
	if t.aligned != nil {
		w = t.aligned
		if _, err := io.WriteString(w, t.indent); err != nil {
			return err
		}
	}
	for i, c := range cells {
		text := untrusted.Line(c.text)
		if c.tint != nil {
			text = t.p.tinted(c.text, c.tint)
		}
		if i > 0 {
			text = "\t" + text
		}
		if _, err := io.WriteString(w, text); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// Flush prints the rows held back.
func (t *Table) Flush() error {
	if t.aligned != nil {
		if err := t.aligned.Flush(); err != nil {
			return err
		}
	}
	return t.buffer.Flush()
}

// Cell is one cell of a table.
type Cell struct {
	text string
	tint func(text string) Tint // nil for text, which is escaped
}

// Text returns a cell.
func Text(s string) Cell { return Cell{text: s} }

// State returns a cell with the state of a handoff.
func State(s string) Cell { return Cell{text: s, tint: stateTint} }

// Verdict returns a cell with a word of githandoff's own: ok, or the name of a problem.
func Verdict(s string) Cell { return Cell{text: s, tint: verdictTint} }

// Cut shortens a text to a number of characters.
func Cut(s string, width int) string {
	if r := []rune(s); len(r) > width {
		return string(r[:width-1]) + "…"
	}
	return s
}
