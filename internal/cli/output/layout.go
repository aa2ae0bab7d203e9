package output

import (
	"bufio"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

const (
	gap   = 2 // blanks between columns
	least = 6 // characters left of a text that is cut
)

// expendable are the columns that may be cut on a narrow terminal, the least needed first.
var expendable = []string{"RESULTS", "GOAL", "SUBJECT", "URL", "ALSO", "LIMITS", "HOLDER", "BY", "FOR", "TASK", "FROM", "TO"}

// layout is a table in aligned columns, below a header if there is one. The last cells of a row may
// be missing.
type layout struct {
	header []string
	rows   [][]Cell
	widths []int // width of each column; zero if it is left out
}

func newLayout(header []string, rows [][]Cell) *layout {
	l := &layout{header: header, rows: rows}
	for _, name := range header {
		l.widths = append(l.widths, ansi.StringWidth(name))
	}
	for _, row := range rows {
		for len(l.widths) < len(row) {
			l.widths = append(l.widths, 0)
		}
		for i, c := range row {
			l.widths[i] = max(l.widths[i], ansi.StringWidth(c.text))
		}
	}
	return l
}

// over returns by how much the table is wider than room.
func (l *layout) over(room int) int {
	width := -gap
	for _, w := range l.widths {
		if w > 0 {
			width += w + gap
		}
	}
	return width - room
}

// fit makes the table no wider than room, as far as it can: it leaves out columns without a text,
// then cuts expendable ones, then leaves these out.
func (l *layout) fit(room int) {
	for i := range l.widths {
		if l.over(room) > 0 && !slices.ContainsFunc(l.rows, func(row []Cell) bool { return i < len(row) && row[i].text != "" }) {
			l.widths[i] = 0
		}
	}
	for _, out := range []bool{false, true} {
		for _, name := range expendable {
			i, over := slices.Index(l.header, name), l.over(room)
			switch {
			case i < 0 || over <= 0 || l.widths[i] == 0:
			case out:
				l.widths[i] = 0
			default:
				l.widths[i] = min(l.widths[i], max(l.widths[i]-over, least, ansi.StringWidth(name)))
			}
		}
	}
}

// write writes the rows. A row does not end in blanks, which would break on a narrow terminal.
func (l *layout) write(w *bufio.Writer, indent string, tinted func(text string, tint func(string) Tint) string) {
	all := l.rows
	if l.header != nil {
		head := make([]Cell, len(l.header))
		for i, name := range l.header {
			head[i] = Text(name)
		}
		all = slices.Concat([][]Cell{head}, all)
	}
	for _, row := range all {
		line, blanks := indent, 0
		for i, c := range row {
			text := ansi.Truncate(c.text, l.widths[i], "…")
			if text != "" {
				shown := text
				if c.tint != nil {
					shown = tinted(text, c.tint)
				}
				line += strings.Repeat(" ", blanks) + shown
				blanks = 0
			}
			if l.widths[i] > 0 {
				blanks += l.widths[i] - ansi.StringWidth(text) + gap
			}
		}
		_, _ = w.WriteString(line + "\n") // w keeps its first error
	}
}
