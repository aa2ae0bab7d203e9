package board

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	"golang.org/x/sys/unix"
)

func (b *Board) key(k tea.KeyPressMsg) tea.Cmd {
	switch k.String() {
	case "ctrl+c":
		return tea.Quit
	case "ctrl+z":
		return suspended()
	}
	switch b.mode {
	case filtering, answering:
		return b.typed(k)
	case asking:
		b.mode = listing
		if k.String() != "y" {
			b.said = "nothing was done"
			return nil
		}
		if b.said = b.begun.outdated(b.rows, "nothing was done"); b.said != "" {
			return nil
		}
		return b.run(false, b.confirm...)
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

// suspended stops the board until a shell continues it. If the board is in the first process group of its
// session, it has no such shell: the terminal was opened only for the board.
func suspended() tea.Cmd {
	if session, err := unix.Getsid(0); err != nil || session == unix.Getpgrp() {
		return nil
	}
	return tea.Suspend
}

// steps returns the keys that move the cursor or the text, and by how many lines. page is how many
// fit.
func steps(page, all int) map[string]int {
	return map[string]int{
		"down": 1, "j": 1, "up": -1, "k": -1, "pgdown": page, "pgup": -page,
		"home": -all, "g": -all, "end": all, "G": all,
	}
}

// command handles a key in the list.
func (b *Board) command(key string) tea.Cmd {
	b.said = "" // the next key dismisses the message
	if by, ok := steps(b.room(), len(b.shown))[key]; ok {
		b.left = Row{} // a person who moves the cursor sees the row under it
		b.move(by)
		return nil
	}
	switch key {
	case "esc": // esc clears the message, above, and the filter
		b.filter = ""
		b.choose()
	case "q":
		return tea.Quit
	case "/":
		b.mode, b.left = filtering, Row{}
	case "?":
		if keys := strings.Join(append(slices.Clone(listKeys), "q quit"), "  "); b.keys() != keys {
			b.said = keys
		}
	case "s":
		return b.sync()
	case "enter", "o", "a", "r", "v":
		if len(b.shown) > 0 && !b.moved(key) {
			return b.act(key, b.under())
		}
	}
	return nil
}

// moved reports whether the handoff for which a key was meant went away, and another one came under
// the cursor. It tells the person once. A key that only shows a handoff does no harm.
func (b *Board) moved(key string) bool {
	left, now := b.left, b.under()
	b.left = Row{}
	if left.ID == "" || left.ID == now.ID || key == "enter" {
		return false
	}
	b.said = left.Short + " left the list, and the cursor is on " + now.Short + " now; nothing was done"
	return true
}

// under returns the row under the cursor; the zero value if there is none.
func (b *Board) under() Row {
	if b.cursor >= len(b.shown) {
		return Row{}
	}
	return b.shown[b.cursor]
}

// outdated says that a handoff is not as it was when a prompt was opened for it. undone ends the
// line: it names the step not taken. The line is empty if the handoff is as it was.
func (r Row) outdated(rows []Row, undone string) string {
	is := func(now Row) bool { return now.ID == r.ID }
	if slices.ContainsFunc(rows, func(now Row) bool { return is(now) && now.State == r.State && now.Holder == r.Holder }) {
		return ""
	}
	why := " has another holder now"
	if i := slices.IndexFunc(rows, is); i < 0 {
		why = " was " + r.State + " and is gone"
	} else if rows[i].State != r.State {
		why = " was " + r.State + " and is " + rows[i].State + " now"
	}
	return r.Short + why + "; " + undone
}

// act handles a key for the handoff under the cursor.
func (b *Board) act(key string, row Row) tea.Cmd {
	switch key {
	case "enter":
		return b.run(true, "show", row.ID)
	case "o":
		return b.run(false, "route", row.ID)
	case "a":
		b.mode, b.input, b.begun = answering, "", row
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
	b.mode, b.begun, b.confirm = asking, row, append(args, row.ID)
	b.question = "githandoff " + strings.Join(append(args, row.Short), " ") + "?  y runs it, any other key does not"
}

// typed handles a key while a line is typed.
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
		if b.mode == filtering || b.input == "" {
			b.mode = listing
			break
		}
		if b.said = b.begun.outdated(b.rows, "your answer was not sent"); b.said != "" {
			return nil // the mode stays, so the typed text is not lost
		}
		b.mode = listing
		if strings.HasPrefix(b.input, "@") {
			b.input = "@" + b.input // @@ begins a text that begins with @, and names no file
		}
		return b.run(false, "route", b.begun.ID, "--answer="+b.input)
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

// oneLine returns a text from elsewhere as it could be typed: without line breaks, and without
// characters that change how the rest of a line looks.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == utf8.RuneError, unicode.Is(unicode.Bidi_Control, r):
			return -1
		case unicode.IsControl(r), unicode.In(r, unicode.Zl, unicode.Zp):
			return ' '
		}
		return r
	}, strings.TrimRight(text, "\r\n"))
}

func (b *Board) move(by int) {
	if len(b.shown) == 0 {
		return
	}
	b.cursor = max(0, min(b.cursor+by, len(b.shown)-1))
	b.selected = b.shown[b.cursor].place()
}

// choose selects the rows that contain all words of the filter, puts each below its parent, and
// keeps the cursor on its handoff.
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
	seen := map[place]bool{}
	var add func(r Row, depth int)
	add = func(r Row, depth int) {
		if seen[r.place()] {
			return
		}
		seen[r.place()] = true
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
	for _, r := range matching { // rows whose parents form a circle are not shown yet
		add(r, 0)
	}
	b.cursor = max(0, slices.IndexFunc(b.shown, func(r Row) bool { return r.place() == b.selected }))
	b.move(0)
}
