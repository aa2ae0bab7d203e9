package output

import (
	"bufio"
	"cmp"

	"githandoff/internal/untrusted"
)

// Table prints many results: with --json an object a line, on a terminal aligned
// columns, elsewhere columns separated by tabs.
type Table struct {
	p      *Printer
	buffer *bufio.Writer
	people bool
	width  int    // width of the terminal; zero if it is unknown
	indent string // printed before each row at a terminal
	header []string
	rows   [][]Cell // held back until they can be aligned
	err    error    // error of an object; nothing is printed after it
}

// Table begins one, for a terminal of a width; Flush ends it. Where a person looks at it, a header
// names its columns. A table without rows prints nothing.
func (p *Printer) Table(width int, header ...string) *Table {
	return &Table{p: p, buffer: bufio.NewWriterSize(p.out, 64<<10), people: p.Terminal(), width: width, header: header}
}

// ForPeople reports whether a person looks at the table: then an id is short and a
// time says how long ago it was.
func (t *Table) ForPeople() bool { return t.people }

// Indent sets off the rows of a table at a terminal.
func (t *Table) Indent(by string) { t.indent = by }

// Row prints one result. Its cells are escaped, except for words of githandoff's own,
// which get their colour. Flush returns the first error.
func (t *Table) Row(v any, cells ...Cell) {
	switch {
	case !t.p.JSON:
		t.Cells(cells...)
	case t.err == nil:
		t.err = t.p.Encode(t.buffer, v)
	}
}

// Cells prints a row without an object.
func (t *Table) Cells(cells ...Cell) {
	for i, c := range cells {
		if c.tint == nil {
			cells[i].text = untrusted.Line(c.text)
		}
	}
	if t.people {
		t.rows = append(t.rows, cells)
		return
	}
	for i, c := range cells {
		text := c.text
		if c.tint != nil {
			text = t.p.tinted(text, c.tint)
		}
		if i > 0 {
			text = "\t" + text
		}
		_, _ = t.buffer.WriteString(text) // the buffer keeps its first error
	}
	_ = t.buffer.WriteByte('\n')
}

// Flush prints the rows held back.
func (t *Table) Flush() error {
	if len(t.rows) > 0 {
		l := newLayout(t.header, t.rows)
		if t.width > 0 {
			l.fit(t.width - len(t.indent))
		}
		l.write(t.buffer, t.indent, t.p.tinted)
		t.header, t.rows = nil, nil
	}
	return cmp.Or(t.err, t.buffer.Flush())
}

// Cell is one cell of a table.
type Cell struct {
	text string
	tint func(text string) Tint // colours a word of githandoff; nil for text, which is escaped
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
