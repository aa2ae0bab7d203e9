package output

import (
	"bytes"
	"fmt"

	"githandoff/internal/untrusted"
)

// Result prints one result: with --json the object v, else the lines that text writes.
func (p *Printer) Result(v any, text func(t *Lines)) error {
	return p.Print(
		func() (any, error) { return v, nil },
		func(t *Lines) error { text(t); return nil },
	)
}

// Print is Result for an object or a text that costs something to make: only the one
// that is printed is made. Where making it goes wrong, nothing is printed.
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

// Render is Print for a result that is printed later.
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

// Then sets what is done once the lines are printed, such as a remark that follows them.
func (t *Lines) Then(do func()) { t.then = do }

// Line writes a line. Arguments that are strings or errors are escaped.
func (t *Lines) Line(format string, args ...any) {
	fmt.Fprintf(t.b, format+"\n", escaped(args)...)
}

// Write writes a text that has its own form, such as a fenced one.
func (t *Lines) Write(b []byte) (int, error) { return t.b.Write(b) }

// Len is the number of bytes so far.
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
