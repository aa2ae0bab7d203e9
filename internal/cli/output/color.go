package output

import (
	"fmt"
	"os"
	"slices"
)

// When is the value of --color.
type When string

// Auto colours what a terminal shows.
const (
	Auto   When = "auto"
	Always When = "always"
	Never  When = "never"
)

// whens lists the values of --color.
func whens() []string { return []string{string(Auto), string(Always), string(Never)} }

// Type names the value in a help.
func (c *When) Type() string { return "WHEN" }

func (c *When) String() string { return string(*c) }

// Set reads the value of the flag.
func (c *When) Set(text string) error {
	if !slices.Contains(whens(), text) {
		return fmt.Errorf("want auto, always or never")
	}
	*c = When(text)
	return nil
}

// paints reports whether output is coloured: on a terminal, unless NO_COLOR is set or
// the terminal is dumb. --color overrules both.
func (p *Printer) paints(terminal bool) bool {
	switch p.Color {
	case Always:
		return true
	case Never:
		return false
	}
	return terminal && p.getenv("NO_COLOR") == "" && p.getenv("TERM") != "dumb"
}

// Coloured reports whether results are coloured.
func (p *Printer) Coloured() bool { return p.paints(p.terminal) }

// A Tint is an SGR parameter of two digits. All have the same length, so the columns of a table
// stay aligned.
type Tint string

// The colours in use.
const (
	Red    Tint = "31"
	Green  Tint = "32"
	Yellow Tint = "33"
	Cyan   Tint = "36"
	Plain  Tint = "39"
)

func (t Tint) over(text string) string {
	return "\x1b[" + string(t) + "m" + text + "\x1b[" + string(Plain) + "m"
}

// word returns the first word of a line of standard error.
func (p *Printer) word(text string, t Tint) string {
	if !p.paints(IsTerminal(p.err)) {
		return text
	}
	return t.over(text)
}

// tinted returns a word of githandoff's own on standard output.
func (p *Printer) tinted(text string, tint func(string) Tint) string {
	if !p.Coloured() {
		return text
	}
	return tint(text).over(text)
}

func stateTint(text string) Tint {
	switch text {
	case "offered", "open":
		return Cyan
	case "claimed", "held", "acknowledged":
		return Green
	case "overdue", "undecided", "queued", "expired", "early":
		return Yellow
	case "refused", "failed", "disputed", "revoked":
		return Red
	}
	return Plain
}

func verdictTint(text string) Tint {
	if text == "ok" {
		return Green
	}
	return Red
}

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	if b, ok := stream.(*beforeLine); ok {
		stream = b.Writer
	}
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull) // the null device is a character device, too
	return err != nil || !os.SameFile(info, null)
}

// Terminal reports whether a person looks at the results.
func (p *Printer) Terminal() bool { return p.terminal && !p.JSON }

// Title returns the heading of a list, bold where results are coloured.
func (p *Printer) Title(text string) string {
	if !p.Coloured() {
		return text
	}
	return "\x1b[1m" + text + "\x1b[22m"
}
