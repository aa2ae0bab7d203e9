package board

import (
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// View draws the board.
func (b *Board) View() tea.View {
	v := tea.NewView(b.Screen())
	v.AltScreen = true
	return v
}

// mostSaid is the most lines shown of the outcome of a command, or of a question.
const mostSaid = 4

// room returns how many rows fit.
func (b *Board) room() int { return max(1, b.height-4) }

// Screen returns the text of the board: as many lines as the terminal has, none wider.
func (b *Board) Screen() string {
	var out []string
	if b.mode == reading {
		out = append(out, b.reader.visible()...)
	} else {
		if b.height > 2 { // on two lines or less, a row is worth more than the title
			out = append(out, b.title())
		}
		fit := columnsOf(b.shown, b.width)
		if b.height > 3 {
			out = append(out, head(fit))
		}
		first := max(0, min(b.cursor-b.room()/2, len(b.shown)-b.room()))
		for i := first; i < min(len(b.shown), first+b.room()); i++ {
			out = append(out, b.row(fit, i))
		}
	}
	foot := b.foot()
	above := max(0, b.height-len(foot))
	for len(out) < above {
		out = append(out, "")
	}
	out = out[:above]
	if b.mode != reading && b.said != "" {
		said := wrapped(b.said, b.width)
		said = said[:min(len(said), most(b.height), above)]
		copy(out[above-len(said):], said)
	}
	out = append(out, foot...)
	for i := range out {
		out[i] = ansi.Truncate(out[i], b.width, "")
	}
	return strings.Join(out, "\n")
}

// most returns how many lines of a terminal a message may take.
func most(height int) int { return max(1, min(mostSaid, height-3)) }

func (b *Board) title() string {
	count := map[string]int{}
	for _, r := range b.rows {
		count[r.State]++
	}
	parts := []string{b.who}
	for _, state := range []string{"claimed", "overdue", "offered", "undecided", "expired", "early", "refused", "queued", "sent"} {
		if count[state] > 0 {
			parts = append(parts, strconv.Itoa(count[state])+" "+state)
		}
	}
	switch {
	case b.syncing:
		parts = append(parts, "syncing …")
	case !b.synced.IsZero():
		parts = append(parts, "synced "+span(b.now().Sub(b.synced))+" ago")
	}
	text := parts[0]
	for i, part := range parts[1:] {
		longer := text + "  " + part
		if more := i+2 < len(parts); ansi.StringWidth(longer) > b.width || more && ansi.StringWidth(longer+" …") > b.width {
			text += " …" // a count is never printed without its word
			break
		}
		text = longer
	}
	return ansi.NewStyle().Bold().Styled(text)
}

// deepest bounds the indentation of a handoff below its parent.
const deepest = 2

// column is a column of the list.
type column struct {
	name  string
	width int
}

// expendable are the columns that a narrow terminal does not show, the least needed first.
var expendable = []string{"FROM", "AGE", "TO", "TASK"}

// columns are those of a list that fit.
type columns []column

// columnsOf returns the columns of a list. The task takes the rest of the width.
func columnsOf(shown []Row, width int) columns {
	id := len("HANDOFF")
	for _, r := range shown {
		id = max(id, ansi.StringWidth(r.Short)+deepest)
	}
	name := max(10, min(20, (width-id-40)/4))
	all := columns{{"HANDOFF", id}, {"STATE", 10}, {"FROM", name}, {"TO", name}, {"HOLDER", name}, {"AGE", 5}, {"LEFT", 9}, {"TASK", 7}}
	free := func() int {
		left := width + 1
		for _, c := range all {
			left -= c.width + 1
		}
		return left
	}
	for _, name := range expendable {
		if free() < 0 {
			all = slices.DeleteFunc(all, func(c column) bool { return c.name == name })
		}
	}
	for i := range all {
		switch c := &all[i]; {
		case c.name == "TASK" && free() > 0:
			c.width += free()
		case c.name == "HOLDER" && free() < 0:
			c.width = max(len(c.name), c.width+free())
		}
	}
	return all
}

// line returns a line of the list: the text of each column.
func (all columns) line(text func(name string) string) string {
	var cells []string
	for _, c := range all {
		cells = append(cells, pad(text(c.name), c.width))
	}
	return strings.Join(cells, " ")
}

func head(all columns) string {
	return ansi.NewStyle().Faint().Styled(all.line(func(name string) string { return name }))
}

func (b *Board) row(all columns, i int) string {
	r := b.shown[i]
	id := r.Short
	if depth := min(b.depth[i], deepest); depth > 0 {
		id = strings.Repeat(" ", depth-1) + "└" + r.Short
	}
	left := ""
	if !r.Deadline.IsZero() {
		left = span(r.Deadline.Sub(b.now()))
		if b.now().After(r.Deadline) {
			left = "over " + span(b.now().Sub(r.Deadline))
		}
	}
	texts := map[string]string{
		"HANDOFF": id, "STATE": r.State, "FROM": r.From, "TO": r.To, "HOLDER": r.Holder,
		"AGE": span(b.now().Sub(r.At)), "LEFT": left, "TASK": r.Task,
	}
	style := ansi.NewStyle().ForegroundColor(colour(r.State))
	if i == b.cursor {
		style = style.Reverse(true)
	}
	return style.Styled(all.line(func(name string) string { return texts[name] }))
}

func colour(state string) ansi.Color {
	switch state {
	case "claimed":
		return ansi.Green
	case "offered":
		return ansi.Cyan
	case "refused", "disputed":
		return ansi.Red
	case "overdue", "undecided", "expired", "early", "queued":
		return ansi.Yellow
	}
	return ansi.White
}

// foot returns the last lines: the keys, a question, or a prompt. If the text that is typed is
// long, its end is shown.
func (b *Board) foot() []string {
	switch b.mode {
	case filtering:
		return ending(most(b.height), b.width, "filter: "+b.filter+"▏ enter keeps it, esc clears it")
	case answering:
		return ending(most(b.height), b.width, "answer to "+b.begun.Short+": "+b.input+"▏ enter sends it, esc does not")
	case asking:
		lines := wrapped(b.question, b.width)
		return lines[:min(len(lines), most(b.height))]
	case reading:
		return []string{b.reader.foot()}
	}
	return []string{b.keys()}
}

// keys returns the line of keys of the list.
func (b *Board) keys() string {
	if b.filter != "" {
		return keyLine(b.width, "filter: "+b.filter, "esc clears it", "↑↓ enter show", "s sync")
	}
	return keyLine(b.width, listKeys...)
}

// listKeys are the keys of the list besides q, the most needed first.
var listKeys = []string{"↑↓ enter show", "o route", "a answer", "r release", "v revoke", "/ filter", "s sync"}

// keyLine returns the line of keys. If not all fit, it ends in "?", the key that shows the others.
func keyLine(width int, all ...string) string {
	const between, quit = "  ", "q quit"
	if line := strings.Join(append(slices.Clone(all), quit), between); ansi.StringWidth(line) <= width {
		return line
	}
	line := quit + between + "? keys"
	for i := range all {
		longer := strings.Join(append(slices.Clone(all[:i+1]), quit, "? keys"), between)
		if ansi.StringWidth(longer) > width {
			break
		}
		line = longer
	}
	return line
}

// pad cuts or fills a text to a width.
func pad(s string, width int) string {
	s = ansi.Truncate(s, width, "…")
	return s + strings.Repeat(" ", width-ansi.StringWidth(s))
}

func span(d time.Duration) string {
	switch {
	case d < time.Minute:
		return strconv.Itoa(max(0, int(d.Seconds()))) + "s"
	case d < time.Hour:
		return strconv.Itoa(int(d.Minutes())) + "m"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d.Hours())) + "h"
	}
	return strconv.Itoa(int(d.Hours()/24)) + "d"
}

// wrapped splits a text into lines no wider than the terminal.
func wrapped(s string, width int) []string {
	return strings.Split(ansi.Wrap(strings.TrimRight(s, "\n"), max(1, width), ""), "\n")
}

// ending returns the last lines of a text, n at most.
func ending(n, width int, s string) []string {
	lines := wrapped(s, width)
	return lines[max(0, len(lines)-n):]
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
