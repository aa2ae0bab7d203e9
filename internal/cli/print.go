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

// fail prints an error: once, here. A refusal lends it code, reason and hint; what
// was being done when that was met stands before it.
func (a *app) fail(err error) {
	f := fault.Error{Code: fault.CodeOf(err), Reason: "failed"}
	if refusal := fault.As(err); refusal != nil {
		f = *refusal
	}
	f.Message = oneLine(err)
	if a.json {
		type body struct {
			Code    int          `json:"code"`
			Reason  fault.Reason `json:"reason"`
			Message string       `json:"message"`
			Hint    string       `json:"hint,omitempty"`
			Hints   []fault.Hint `json:"hints,omitempty"`
		}
		hint := f.Hint
		if hint == "" && len(f.Hints) > 0 {
			hint = f.Hints[0].String()
		}
		a.object(a.Stderr, map[string]any{"error": body{int(f.Code), f.Reason, f.Message, hint, f.Hints}})
		return
	}
	reason := ""
	if f.Code == fault.Denied {
		reason = string(f.Reason) + ": "
	}
	fmt.Fprintf(a.Stderr, "githandoff: %s%s\n", reason, printable(f.Message))
	if f.Hint != "" {
		fmt.Fprintf(a.Stderr, "hint: %s\n", printable(f.Hint))
	}
	for _, h := range f.Hints[:min(len(f.Hints), 3)] {
		fmt.Fprintf(a.Stderr, "hint: %s\n", printable(h.String()))
	}
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
	fmt.Fprintf(a.Stderr, "githandoff: warning: %s\n", printable(line))
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
	ID        handoff.ID        `json:"id"`
	State     string            `json:"state"`
	Task      string            `json:"task,omitempty"`
	From      string            `json:"from"`
	To        string            `json:"to"`
	Home      string            `json:"home,omitempty"`
	Ref       string            `json:"ref,omitempty"`
	Commit    string            `json:"commit,omitempty"`
	Digest    string            `json:"digest,omitempty"`
	At        string            `json:"at"`
	Actor     string            `json:"actor,omitempty"`
	Expires   string            `json:"expires,omitempty"`
	Lease     string            `json:"lease,omitempty"`
	Parent    handoff.ID        `json:"parent,omitempty"`
	Next      handoff.ID        `json:"next,omitempty"`
	Principal string            `json:"principal,omitempty"` // "user:alice@example.com (token)" or "(declared)"
	Token     string            `json:"token,omitempty"`
	Scope     []string          `json:"scope,omitempty"` // what the token allows, and until when
	Until     string            `json:"until,omitempty"`
	Lapsed    string            `json:"lapsed,omitempty"` // reason for which the token allows nothing any more
	Results   map[string]string `json:"results,omitempty"`
	Envelope  json.RawMessage   `json:"envelope,omitempty"`
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
