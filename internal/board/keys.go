package board

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
)

func (b *Board) key(k tea.KeyPressMsg) tea.Cmd {
	if k.String() == "ctrl+c" {
		return tea.Quit
	}
	switch b.mode {
	case filtering, answering:
		return b.typed(k)
	case asking:
		b.mode = listing
		if k.String() == "y" {
			return b.run(false, b.confirm...)
		}
		b.said = "nothing was done"
		return nil
	case reading:
		switch key := k.String(); key {
		case "q", "esc", "enter":
			b.mode = listing
		default:
			b.reader.scroll(key)
		}
		return nil
	}
	return b.command(k.String())
}

// command is a key in the list.
func (b *Board) command(key string) tea.Cmd {
	b.said = "" // it was read
	switch key {
	case "q", "esc":
		return tea.Quit
	case "down", "j":
		b.move(1)
	case "up", "k":
		b.move(-1)
	case "pgdown":
		b.move(b.room())
	case "pgup":
		b.move(-b.room())
	case "home", "g":
		b.move(-len(b.shown))
	case "end", "G":
		b.move(len(b.shown))
	case "/":
		b.mode = filtering
	case "s":
		return b.sync()
	case "enter", "o", "a", "r", "v":
		if len(b.shown) > 0 {
			return b.act(key, b.shown[b.cursor])
		}
	}
	return nil
}

// act handles a key for the handoff under the cursor.
func (b *Board) act(key string, row Row) tea.Cmd {
	switch key {
	case "enter":
		return b.run(true, "show", row.ID)
	case "o":
		return b.run(false, "route", row.ID)
	case "a":
		b.mode, b.input = answering, ""
	case "r":
		b.ask(row, "release", "--force")
	case "v":
		b.ask(row, "revoke")
	}
	return nil
}

// ask has the person confirm a command taking something from an agent. The question is short,
// since it must fit.
func (b *Board) ask(row Row, args ...string) {
	b.mode, b.confirm = asking, append(args, row.ID)
	b.question = "githandoff " + strings.Join(append(args, row.Short), " ") + "?  y runs it, any other key does not"
}

// typed is a key while a line is typed.
func (b *Board) typed(k tea.KeyPressMsg) tea.Cmd {
	line := &b.filter
	if b.mode == answering {
		line = &b.input
	}
	switch key := k.String(); key {
	case "esc":
		if b.mode == filtering {
			b.filter = ""
		}
		b.mode = listing
	case "enter":
		answer := b.mode == answering && b.input != "" && len(b.shown) > 0
		b.mode = listing
		if answer {
			return b.run(false, "route", b.shown[b.cursor].ID, "--answer="+b.input)
		}
	case "backspace":
		if r := []rune(*line); len(r) > 0 {
			*line = string(r[:len(r)-1])
		}
	default:
		*line += k.Key().Text
	}
	b.choose()
	return nil
}

func (b *Board) move(by int) {
	if len(b.shown) == 0 {
		return
	}
	b.cursor = max(0, min(b.cursor+by, len(b.shown)-1))
	b.selected = b.shown[b.cursor].ID
}

// choose takes the rows with all words of the filter, puts each below its parent, and keeps
// the cursor on its handoff.
func (b *Board) choose() {
	words := strings.Fields(strings.ToLower(b.filter))
	b.shown, b.depth = nil, nil
	children := map[string][]Row{}
	here := map[string]bool{}
	var matching []Row
	for _, r := range b.rows {
		text := strings.ToLower(strings.Join([]string{r.ID, r.State, r.From, r.To, r.Holder, r.Task}, " "))
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) }) {
			matching, here[r.ID] = append(matching, r), true
		}
	}
	for _, r := range matching {
		if here[r.Parent] {
			children[r.Parent] = append(children[r.Parent], r)
		}
	}
	seen := map[string]bool{}
	var add func(r Row, depth int)
	add = func(r Row, depth int) {
		if seen[r.ID] {
			return
		}
		seen[r.ID] = true
		b.shown, b.depth = append(b.shown, r), append(b.depth, depth)
		for _, c := range children[r.ID] {
			add(c, depth+1)
		}
	}
	for _, r := range matching {
		if !here[r.Parent] {
			add(r, 0)
		}
	}
	for _, r := range matching { // of a circle
		add(r, 0)
	}
	b.cursor = max(0, slices.IndexFunc(b.shown, func(r Row) bool { return r.ID == b.selected }))
	b.move(0)
}
