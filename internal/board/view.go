package board

import (
	"image/color"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
)

// View draws the board.
func (b *Board) View() tea.View {
	v := tea.NewView(b.Screen())
	v.AltScreen = true
	return v
}

// mostSaid is the most lines shown of the outcome of a command.
const mostSaid = 4

// room returns how many rows fit.
func (b *Board) room() int { return max(1, b.height-4) }

// Screen returns the text of the board: as many lines as the terminal has, none wider.
func (b *Board) Screen() string {
	var out []string
	if b.mode == reading {
		out = append(out, b.reader.visible()...)
	} else {
		out = append(out, b.title(), b.head())
		first := max(0, min(b.cursor-b.room()/2, len(b.shown)-b.room()))
		for i := first; i < min(len(b.shown), first+b.room()); i++ {
			out = append(out, b.row(i))
		}
	}
	for len(out) < b.height-1 {
		out = append(out, "")
	}
	if b.mode != reading && b.said != "" {
		said := wrapped(b.said, b.width)
		said = said[:min(len(said), mostSaid, b.height-3)]
		copy(out[b.height-1-len(said):], said)
	}
	out = append(out, b.foot())
	for i := range out {
		out[i] = lipgloss.NewStyle().MaxWidth(b.width).Render(out[i])
	}
	return strings.Join(out, "\n")
}

func (b *Board) title() string {
	count := map[string]int{}
	for _, r := range b.rows {
		count[r.State]++
	}
	text := b.who
	for _, state := range []string{"claimed", "overdue", "offered", "undecided", "expired", "early", "refused", "queued", "sent"} {
		if count[state] > 0 {
			text += "  " + strconv.Itoa(count[state]) + " " + state
		}
	}
	switch {
	case b.syncing:
		text += "  syncing …"
	case !b.synced.IsZero():
		text += "  synced " + span(b.now().Sub(b.synced)) + " ago"
	}
	return lipgloss.NewStyle().Bold(true).Render(text)
}

// deepest bounds the indentation of a handoff below its parent.
const deepest = 2

// columns returns the widths of all columns but the task, which takes the rest.
func (b *Board) columns() (id, name, task int) {
	id = len("HANDOFF")
	for _, r := range b.shown {
		id = max(id, lipgloss.Width(r.Short)+deepest)
	}
	name = max(10, min(20, (b.width-id-40)/4))
	return id, name, max(7, b.width-(id+1)-11-3*(name+1)-6-10)
}

func (b *Board) cells(id, state, from, to, holder, age, lease, task string) string {
	width, name, rest := b.columns()
	return pad(id, width) + " " + pad(state, 10) + " " + pad(from, name) + " " + pad(to, name) + " " + pad(holder, name) + " " +
		pad(age, 5) + " " + pad(lease, 9) + " " + pad(task, rest)
}

func (b *Board) head() string {
	return lipgloss.NewStyle().Faint(true).Render(b.cells("HANDOFF", "STATE", "FROM", "TO", "HOLDER", "AGE", "LEFT", "TASK"))
}

func (b *Board) row(i int) string {
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
	text := b.cells(id, r.State, r.From, r.To, r.Holder, span(b.now().Sub(r.At)), left, r.Task)
	style := lipgloss.NewStyle().Foreground(colour(r.State))
	if i == b.cursor {
		style = style.Reverse(true)
	}
	return style.Render(text)
}

func colour(state string) color.Color {
	switch state {
	case "claimed":
		return lipgloss.Green
	case "offered":
		return lipgloss.Cyan
	case "refused", "disputed":
		return lipgloss.Red
	case "overdue", "undecided", "expired", "early", "queued":
		return lipgloss.Yellow
	}
	return lipgloss.White
}

func (b *Board) foot() string {
	switch b.mode {
	case filtering:
		return "filter: " + b.filter + "▏ enter keeps it, esc clears it"
	case answering:
		return "answer to " + b.begun.Short + ": " + b.input + "▏ enter sends it, esc does not"
	case asking:
		return b.question
	case reading:
		return b.reader.foot()
	}
	if b.filter != "" {
		return keyLine(b.width, "filter: "+b.filter, "esc clears it", "↑↓ enter show", "s sync")
	}
	return keyLine(b.width, listKeys...)
}

// listKeys are the keys of the list besides q, the most needed first.
var listKeys = []string{"↑↓ enter show", "o route", "a answer", "r release", "v revoke", "/ filter", "s sync"}

// keyLine returns the line of keys. Where not all fit, "?" says the others.
func keyLine(width int, all ...string) string {
	const between, quit = "  ", "q quit"
	if line := strings.Join(append(slices.Clone(all), quit), between); lipgloss.Width(line) <= width {
		return line
	}
	line := quit + between + "? keys"
	for i := range all {
		longer := strings.Join(append(slices.Clone(all[:i+1]), quit, "? keys"), between)
		if lipgloss.Width(longer) > width {
			break
		}
		line = longer
	}
	return line
}

// pad cuts or fills a text to a width.
func pad(s string, width int) string {
	for lipgloss.Width(s) > width {
		r := []rune(strings.TrimSuffix(s, "…"))
		s = string(r[:len(r)-1]) + "…"
	}
	return s + strings.Repeat(" ", width-lipgloss.Width(s))
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
	return strings.Split(lipgloss.Wrap(strings.TrimRight(s, "\n"), max(1, width), ""), "\n")
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
