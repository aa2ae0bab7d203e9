package board

import "fmt"

// reader shows a text, page by page if it is longer than the terminal.
type reader struct {
	raw   string
	lines []string // wrapped to the width of the terminal
	top   int      // first line on the screen
	page  int      // number of lines that fit
}

// open begins to read a text.
func (r *reader) open(text string, width, height int) {
	r.raw, r.top = text, 0
	r.resize(width, height)
}

// resize wraps the text at the width of the terminal. The last line is for the keys.
func (r *reader) resize(width, height int) {
	r.lines, r.page = wrapped(r.raw, width), max(1, height-1)
	r.to(r.top)
}

func (r *reader) to(top int) { r.top = max(0, min(top, len(r.lines)-r.page)) }

// scroll handles a key.
func (r *reader) scroll(key string) {
	switch key {
	case "space":
		key = "pgdown"
	case "b":
		key = "pgup"
	}
	r.to(r.top + steps(r.page, len(r.lines))[key])
}

// visible returns the lines on the screen.
func (r *reader) visible() []string { return r.lines[r.top:min(len(r.lines), r.top+r.page)] }

func (r *reader) foot() string {
	return fmt.Sprintf("lines %d to %d of %d  ↑↓ scroll  q back", min(r.top+1, len(r.lines)), min(len(r.lines), r.top+r.page), len(r.lines))
}
