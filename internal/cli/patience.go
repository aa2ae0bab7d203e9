package cli

import (
	"io"
	"net/url"
	"slices"
	"strings"

	"githandoff/internal/cli/output"
	"githandoff/internal/untrusted"
)

// patience is the line that says what a command waits for: for a person at a terminal,
// unless --quiet.
func patience(env *Env) *output.Patience {
	var w io.Writer
	if output.IsTerminal(env.Stderr) && env.Getenv("TERM") != "dumb" {
		w = env.Stderr
	}
	return output.NewPatience(w, env.Now)
}

// asks says that git talks to another repository.
func asks(p *output.Patience) func(args []string) func() {
	return func(args []string) func() {
		verb := "reading from "
		if slices.Contains(args, "push") {
			verb = "writing to "
		}
		where := "another repository"
		if i := slices.Index(args, "--"); i >= 0 && i+1 < len(args) {
			where = placeOf(args[i+1])
		}
		return p.For(verb + where)
	}
}

// placeOf is an address without what it may hold of a password.
func placeOf(address string) string {
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		return untrusted.Line(u.Host + u.Path)
	}
	_, after, found := strings.Cut(address, "@")
	if found {
		address = after
	}
	return untrusted.Line(address)
}
