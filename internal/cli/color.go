package cli

import (
	"fmt"
	"slices"
)

// colorFlag is --color.
type colorFlag string

func colors() []string { return []string{"auto", "always", "never"} }

func (c *colorFlag) Type() string { return "WHEN" }

func (c *colorFlag) String() string { return string(*c) }

func (c *colorFlag) Set(text string) error {
	if !slices.Contains(colors(), text) {
		return fmt.Errorf("want auto, always or never")
	}
	*c = colorFlag(text)
	return nil
}

// paints reports whether what goes to w is coloured: a terminal, unless NO_COLOR
// is set or the terminal is dumb, and --color overrules both.
func (a *app) paints(terminal bool) bool {
	switch a.color {
	case "always":
		return true
	case "never":
		return false
	}
	return terminal && a.Getenv("NO_COLOR") == "" && a.Getenv("TERM") != "dumb"
}

// A tint is an SGR parameter of two digits. All are of one length, so that a
// column of a table stays straight.
type tint string

const (
	red    tint = "31"
	green  tint = "32"
	yellow tint = "33"
	cyan   tint = "36"
	plain  tint = "39"
)

func (t tint) over(text string) string {
	return "\x1b[" + string(t) + "m" + text + "\x1b[" + string(plain) + "m"
}

// word is one of the words that begin a line of standard error.
func (a *app) word(text string, t tint) string {
	if !a.paints(isTerminal(a.Stderr)) {
		return text
	}
	return t.over(text)
}

// state is the state of a handoff on standard output.
func (a *app) state(text string) string {
	if !a.paints(a.terminal) {
		return text
	}
	switch text {
	case "offered", "open":
		return cyan.over(text)
	case "claimed", "held", "acknowledged":
		return green.over(text)
	case "overdue", "undecided", "queued", "expired":
		return yellow.over(text)
	case "refused", "failed", "disputed", "revoked":
		return red.over(text)
	}
	return plain.over(text)
}
