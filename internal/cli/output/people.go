package output

import "strings"

// Terminal reports whether a person looks at the results.
func (p *Printer) Terminal() bool { return p.terminal && !p.JSON }

// Title is the heading of a list, bold where results are coloured.
func (p *Printer) Title(text string) string {
	if !p.paints(p.terminal) {
		return text
	}
	return "\x1b[1m" + text + "\x1b[22m"
}

// Header names the columns of a table, where a person looks at it.
func (t *Table) Header(names ...string) error {
	if !t.ForPeople() {
		return nil
	}
	cells := make([]Cell, len(names))
	for i, name := range names {
		cells[i] = Text(name)
		if name == "STATE" || name == "VERDICT" { // whose columns have colours
			cells[i].tint = plainTint
		}
	}
	return t.Cells(cells...)
}

// Indent sets off the rows of a table that a person looks at.
func (t *Table) Indent(by string) { t.indent = strings.ReplaceAll(by, "\t", " ") }
