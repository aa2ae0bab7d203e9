// Package output prints the results and errors of commands.
//
// Results go to standard output: a line of text, columns, or with --json one object. A command
// describes a result once, with [Printer.Row], [Printer.Columns], [Printer.Result] or
// [Printer.Table]; the printer chooses the form. No command asks for the form. Remarks, warnings
// and errors go to standard error.
//
// # Manners
//
// An error is printed once: "githandoff: …" on one line, then at most three lines
// "hint: …", each a command that can be pasted, with its reason behind "#", or a remark alone.
// With --json it is one object instead. Text arguments are escaped, since many of them come from
// elsewhere: a hub's words, a path, a ref name.
package output

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/untrusted"
)

// Printer prints for one command.
type Printer struct {
	JSON, Quiet bool
	Filter      func(w io.Writer, object any) error // prints a selection from an object; nil prints all of it
	Color       When
	Spell       func(fault.Hint) string // words a hint for its reader, "" to leave it out; nil for Hint.String
	Invocation

	out, err io.Writer
	terminal bool // out is a terminal
	getenv   func(string) string
	now      func() time.Time
	warned   []string
}

// New prints results to out and everything else to diag. terminal tells whether out is one.
func New(out, diag io.Writer, terminal bool, getenv func(string) string, now func() time.Time) Printer {
	return Printer{Color: Auto, out: out, err: diag, terminal: terminal, getenv: getenv, now: now}
}

// Write prints a result with its own form, such as a document.
func (p *Printer) Write(b []byte) (int, error) { return p.out.Write(b) }

// Foreign prints text of others as it is; for a terminal it is escaped.
func (p *Printer) Foreign(b []byte) (int, error) { return p.tamed(p.out).Write(b) }

// tamed escapes text for a terminal.
func (p *Printer) tamed(w io.Writer) io.Writer {
	if p.terminal {
		return tame{w}
	}
	return w
}

// Row prints one result: with --json the object v, else a line of text. String arguments of the
// line are escaped.
func (p *Printer) Row(v any, format string, args ...any) error {
	return p.Result(v, func(t *Lines) { t.Line(format, args...) })
}

// Columns prints one result: with --json the object v, else its cells, separated by
// tabs.
func (p *Printer) Columns(v any, cells ...string) error {
	return p.Result(v, func(t *Lines) {
		for i, c := range cells {
			cells[i] = untrusted.Line(c)
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	})
}

// Encode writes an object of JSON on a line of its own.
func (p *Printer) Encode(w io.Writer, v any) error {
	if p.Filter != nil {
		return p.Filter(p.tamed(w), v)
	}
	return encode(w, v)
}

// encode writes v as JSON, one line, without the escapes for web pages.
func encode(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// Say prints a remark, which is no result.
func (p *Printer) Say(format string, args ...any) {
	if !p.Quiet {
		fmt.Fprintf(p.err, format+"\n", args...)
	}
}

// Cost says how much there is to read. Four bytes a token is the usual rule of thumb
// for English and code.
func (p *Printer) Cost(bytes int) {
	p.Say("githandoff: %s, about %s", fault.Count(bytes, "byte"), fault.Count((bytes+3)/4, "token"))
}

// Warn prints one line for people, once. An interrupted command says so itself.
func (p *Printer) Warn(err error) {
	line := ends(fault.OneLine(err))
	if f := fault.As(err); f != nil && f.Code == fault.Denied {
		line = string(f.Reason) + ": " + line
	}
	if p.Quiet || errors.Is(err, context.Canceled) || slices.Contains(p.warned, line) {
		return
	}
	p.warned = append(p.warned, line)
	fmt.Fprintf(p.err, "githandoff: %s %s\n", p.word("warning:", Yellow), untrusted.Line(line))
}

// maxMessage and maxHint are the lengths in bytes up to which a failure repeats what was typed. A
// longer hint is left out: nobody can paste a part of a command.
const maxMessage, maxHint = 2000, 8 << 10

// ends shortens a line that is too long for a failure to its two ends: one of them says why it failed.
func ends(line string) string {
	if len(line) <= maxMessage {
		return line
	}
	const half = maxMessage / 2
	return strings.ToValidUTF8(line[:half], "") + " … " + strings.ToValidUTF8(line[len(line)-half:], "")
}

// errorRow is the JSON object of a failing command, on standard error.
type errorRow struct {
	Error errorBody `json:"error"` // the refusal
}

// errorBody is the member "error" of errorRow.
type errorBody struct {
	Code    int          `json:"code"`            // exit code
	Reason  fault.Reason `json:"reason"`          // stable word: docs/reasons.md
	Message string       `json:"message"`         // one line for people
	Hint    string       `json:"hint,omitempty"`  // first of the hints, as a line for a shell
	Hints   []fault.Hint `json:"hints,omitempty"` // at most three; each has "run", an argument vector, and "why", or one of them
}

// Fail prints the error of a command. A refusal lends it code, reason and hints.
func (p *Printer) Fail(err error) {
	f := fault.Error{Code: fault.CodeOf(err), Reason: fault.Failed}
	if refusal := fault.As(err); refusal != nil {
		f = *refusal
	}
	if f.Reason == fault.NotYetValid && len(f.Hints) == 0 {
		f.Hints = []fault.Hint{fault.Fact("this clock says %s: is it right?", handoff.FormatTime(p.now().UTC()))}
	}
	f.Message = ends(fault.OneLine(err))
	f.Hints = slices.DeleteFunc(p.Pasted(f.Hints), func(h fault.Hint) bool { return len(h.String()) > maxHint })
	if p.JSON {
		_ = encode(p.err, errorRow{errorBody{int(f.Code), f.Reason, f.Message, First(f.Hints), f.Hints}}) // no other stream could report the error
		return
	}
	reason := ""
	if f.Code == fault.Denied {
		reason = string(f.Reason) + ": "
	}
	fmt.Fprintf(p.err, "%s %s%s\n", p.word("githandoff:", Red), reason, untrusted.Line(f.Message))
	for _, h := range f.Hints {
		fmt.Fprintf(p.err, "%s %s\n", p.word("hint:", Cyan), untrusted.Line(h.String()))
	}
}

// Hint prints the commands which mend the cause of a warning, ready to paste.
func (p *Printer) Hint(hints ...fault.Hint) {
	for _, h := range p.Pasted(hints) {
		told := h.String()
		if p.Spell != nil {
			told = p.Spell(h)
		}
		if told != "" {
			p.Say("hint: %s", untrusted.Line(told))
		}
	}
}

// Result prints one result: with --json the object v, else the lines written by text.
func (p *Printer) Result(v any, text func(t *Lines)) error {
	return p.Print(
		func() (any, error) { return v, nil },
		func(t *Lines) error { text(t); return nil },
	)
}

// Print is like Result for an expensive object or text: only the printed one is made. If that
// fails, nothing is printed.
func (p *Printer) Print(object func() (any, error), text func(t *Lines) error) error {
	var then func()
	b, err := p.Render(object, func(t *Lines) error {
		err := text(t)
		then = t.then
		return err
	})
	if err == nil {
		_, err = p.out.Write(b)
	}
	if err == nil && then != nil {
		then()
	}
	return err
}

// Render is like Print for a result to be printed later.
func (p *Printer) Render(object func() (any, error), text func(t *Lines) error) ([]byte, error) {
	var b bytes.Buffer
	if !p.JSON {
		err := text(&Lines{b: &b})
		return b.Bytes(), err
	}
	v, err := object()
	if err == nil {
		err = p.Encode(&b, v)
	}
	return b.Bytes(), err
}

// Lines are a result as people read it.
type Lines struct {
	b    *bytes.Buffer
	then func()
}

// Then sets a function to call after the lines were printed, for example to print a remark.
func (t *Lines) Then(do func()) { t.then = do }

// Line writes a line. Strings and errors among its arguments are escaped.
func (t *Lines) Line(format string, args ...any) {
	fmt.Fprintf(t.b, format+"\n", escaped(args)...)
}

// Write writes a text with its own form, such as a fenced one.
func (t *Lines) Write(b []byte) (int, error) { return t.b.Write(b) }

// Len returns the number of bytes so far.
func (t *Lines) Len() int { return t.b.Len() }

// escaped returns arguments of a line with their strings and errors escaped.
func escaped(args []any) []any {
	out := make([]any, len(args))
	for i, arg := range args {
		switch arg := arg.(type) {
		case string:
			out[i] = untrusted.Line(arg)
		case error:
			out[i] = untrusted.Line(arg.Error())
		default:
			out[i] = arg
		}
	}
	return out
}

// tame escapes control characters in text of others: the output of a filter, or a patch.
// Only line breaks and tabs pass.
type tame struct{ w io.Writer }

func (t tame) Write(b []byte) (int, error) {
	var safe strings.Builder
	for line := range strings.Lines(string(b)) {
		text, ended := strings.CutSuffix(line, "\n")
		for i, cell := range strings.Split(text, "\t") {
			if i > 0 {
				safe.WriteByte('\t')
			}
			safe.WriteString(untrusted.Line(cell))
		}
		if ended {
			safe.WriteByte('\n')
		}
	}
	if _, err := io.WriteString(t.w, safe.String()); err != nil {
		return 0, err
	}
	return len(b), nil
}
