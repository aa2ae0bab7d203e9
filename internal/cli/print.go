package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/record"
)

// fail prints an error: once, here. A refusal lends it code, reason and hints; what
// was being done when that was met stands before it.
func (a *app) fail(err error) {
	f := fault.Error{Code: fault.CodeOf(err), Reason: fault.Failed}
	if refusal := fault.As(err); refusal != nil {
		f = *refusal
	}
	if f.Reason == fault.NotYetValid && len(f.Hints) == 0 {
		f.Hints = []fault.Hint{fault.Fact("this clock says %s: is it right?", handoff.FormatTime(a.Now().UTC()))}
	}
	f.Message, f.Hints = oneLine(err), a.hints(f.Hints)
	if a.json {
		a.object(a.Stderr, errorRow{errorBody{int(f.Code), f.Reason, f.Message, firstLine(f.Hints), f.Hints}})
		return
	}
	reason := ""
	if f.Code == fault.Denied {
		reason = string(f.Reason) + ": "
	}
	fmt.Fprintf(a.Stderr, "%s %s%s\n", a.word("githandoff:", red), reason, printable(f.Message))
	for _, h := range f.Hints {
		fmt.Fprintf(a.Stderr, "%s %s\n", a.word("hint:", cyan), printable(h.String()))
	}
}

// hints are those that are shown of an error, as they can be pasted where the
// command was typed: with its -C and --as.
func (a *app) hints(all []fault.Hint) []fault.Hint {
	var shown []fault.Hint
	for _, h := range all[:min(len(all), fault.MaxHints)] {
		if h.Run != nil {
			h.Run = a.here(h.Run)
		} else {
			h = h.In(append([]string{"githandoff"}, a.args...))
		}
		shown = append(shown, h)
	}
	return shown
}

// here puts the global flags of this command into another one.
func (a *app) here(argv []string) []string {
	if len(argv) < 2 || argv[0] != "githandoff" && argv[0] != "git" || slices.Contains(argv, "--help") {
		return argv
	}
	out := []string{argv[0]}
	if a.dir != "" && argv[1] != "-C" {
		out = append(out, "-C", a.dir)
	}
	if a.as != "" && argv[0] == "githandoff" && !slices.Contains(argv, "--as") {
		out = append(out, "--as", a.as)
	}
	return append(out, argv[1:]...)
}

// firstLine is the best hint as people see it, "" if there is none.
func firstLine(hints []fault.Hint) string {
	if len(hints) == 0 {
		return ""
	}
	return hints[0].String()
}

// warn prints one line for people, once. That a command is interrupted it says
// itself.
func (a *app) warn(err error) {
	line := oneLine(err)
	if f := fault.As(err); f != nil && f.Code == fault.Denied {
		line = string(f.Reason) + ": " + line
	}
	if a.quiet || errors.Is(err, context.Canceled) || slices.Contains(a.warned, line) {
		return
	}
	a.warned = append(a.warned, line)
	fmt.Fprintf(a.Stderr, "githandoff: %s %s\n", a.word("warning:", yellow), printable(line))
}

// oneLine is the text of an error, or of several that were joined.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// say prints a remark that is no result.
func (a *app) say(format string, args ...any) {
	if !a.quiet {
		fmt.Fprintf(a.Stderr, format+"\n", args...)
	}
}

func (a *app) object(w interface{ Write([]byte) (int, error) }, v any) {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v)
}

// printable keeps a line a line: control and invisible characters are escaped.
func printable(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r == utf8Invalid || !strconv.IsGraphic(r) || unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) {
			q := strconv.QuoteRuneToASCII(r)
			b.WriteString(q[1 : len(q)-1])
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

const utf8Invalid = '\uFFFD'

// row is the object that --json prints for a handoff. Its members are stable.
type row struct {
	ID        handoff.ID        `json:"id"`                  // handoff
	State     string            `json:"state"`               // phase, or the receipt; of a list: offered, claimed, overdue, undecided, expired, queued, sent, refused
	Task      string            `json:"task,omitempty"`      // the sender's own key for the work
	From      string            `json:"from"`                // agent that sent it
	To        string            `json:"to"`                  // agent whose inbox it is in, _ for nobody
	Home      string            `json:"home,omitempty"`      // repo id
	Ref       string            `json:"ref,omitempty"`       // where it is in this repository
	Commit    string            `json:"commit,omitempty"`    // object id of the tip that was read, or of the entry of the log
	Digest    string            `json:"digest,omitempty"`    // of the stored envelope
	At        string            `json:"at"`                  // time of what is told, RFC 3339 in UTC
	Actor     string            `json:"actor,omitempty"`     // who did it
	Expires   string            `json:"expires,omitempty"`   // end of the handoff
	Lease     string            `json:"lease,omitempty"`     // end of the claim
	Parent    handoff.ID        `json:"parent,omitempty"`    // handoff that it follows from
	Next      handoff.ID        `json:"next,omitempty"`      // handoff in which the work goes on
	Principal string            `json:"principal,omitempty"` // "user:alice@example.com (token)" or "(declared)"
	Token     string            `json:"token,omitempty"`     // id of the token
	Scope     []string          `json:"scope,omitempty"`     // what the token allows, and until when
	Until     string            `json:"until,omitempty"`     // end of what the token allows
	Lapsed    string            `json:"lapsed,omitempty"`    // reason for which the token allows nothing any more
	Results   map[string]string `json:"results,omitempty"`   // results of the receipt
	Envelope  json.RawMessage   `json:"envelope,omitempty"`  // content: docs/format.md
}

func rowOf(r *record.Record, state string) row {
	out := row{
		ID: r.ID, State: state, Task: r.Task, From: r.From, To: r.To, Home: r.Home, Digest: r.Digest,
		At: handoff.FormatTime(r.At), Actor: r.Actor, Parent: r.Parent, Next: r.Next,
		Principal: r.Principal, Token: r.Token,
	}
	if !r.Expires.IsZero() {
		out.Expires = handoff.FormatTime(r.Expires)
	}
	if !r.Lease.IsZero() {
		out.Lease = handoff.FormatTime(r.Lease)
	}
	return out
}

// ago prints a moment as people say it.
func ago(now, t time.Time) string {
	d := now.Sub(t)
	switch {
	case d < -time.Minute:
		return "in " + span(-d)
	case d < time.Minute:
		return "just now"
	}
	return span(d) + " ago"
}

func span(d time.Duration) string {
	switch {
	case d < time.Minute:
		return strconv.Itoa(int(d.Seconds())) + "s"
	case d < time.Hour:
		return strconv.Itoa(int(d.Minutes())) + "m"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d.Hours())) + "h"
	}
	return strconv.Itoa(int(d.Hours()/24)) + "d"
}
