package prompt

import (
	"strings"
	"text/template"
	"text/template/parse"

	"githandoff/internal/fault"
)

// A template may come from a foreign repository. Its output and its running time are bounded.
const (
	maxOutput = 1 << 20  // size of a prompt, and of the output of one function, in bytes
	maxMade   = 64 << 20 // size of the output of all functions, in bytes
	maxSteps  = 100_000  // passes through loops, and uses of templates
	maxWidth  = 4        // digits of a width or precision in a format
)

// meter counts what one template does.
type meter struct {
	name        string // of the template
	out         strings.Builder
	made, steps int
}

// needs refuses a template that needs more than n of something.
func (m *meter) needs(n int, what string) error {
	return fault.New(fault.Invalid, fault.TooLarge, "template %s: it needs more than %d %s", m.name, n, what).
		WithHints(fault.Hint{Why: "loop over what was given, and quote less of it"})
}

// Write collects the prompt.
func (m *meter) Write(b []byte) (int, error) {
	if m.out.Len()+len(b) > maxOutput {
		return 0, m.needs(maxOutput, "bytes")
	}
	return m.out.Write(b)
}

// stepFunc names the function at the beginning of each loop and each template.
const stepFunc = "_step"

func (m *meter) step() (string, error) {
	if m.steps++; m.steps > maxSteps {
		return "", m.needs(maxSteps, "passes through its loops")
	}
	return "", nil
}

// bounded lets functions make no more than they may. They are asked beforehand: an
// escape makes a byte into six at most, and a width is written out.
func (m *meter) bounded(funcs template.FuncMap) template.FuncMap {
	for name, f := range funcs {
		switch f := f.(type) {
		case func(...any) (string, error):
			funcs[name] = func(args ...any) (string, error) {
				return m.count(func() (string, error) { return f(args...) }, args...)
			}
		case func(string, ...any) (string, error):
			funcs[name] = func(format string, args ...any) (string, error) {
				if wide(format) {
					return "", m.needs(maxWidth, "digits for a width")
				}
				return m.count(func() (string, error) { return f(format, args...) }, append([]any{format}, args...)...)
			}
		}
	}
	funcs[stepFunc] = m.step
	return funcs
}

func (m *meter) count(f func() (string, error), args ...any) (string, error) {
	size := 0
	for _, a := range args {
		if s, ok := a.(string); ok {
			size += len(s)
		}
	}
	if size > maxOutput {
		return "", m.needs(maxOutput, "bytes")
	}
	text, err := f()
	if m.made += len(text); err == nil && (len(text) > 6*maxOutput || m.made > maxMade) {
		err = m.needs(maxMade, "bytes from its functions")
	}
	return text, err
}

// wide reports whether a format has a width of more digits than any column, or takes one from
// its arguments.
func wide(format string) bool {
	digits, verb := 0, false
	for _, c := range format {
		switch {
		case c == '%':
			verb, digits = !verb, 0
		case verb && c == '*':
			return true
		case verb && c >= '0' && c <= '9':
			if digits++; digits > maxWidth {
				return true
			}
		case verb && strings.ContainsRune("+-# .[]", c):
			digits = 0
		default:
			verb = false
		}
	}
	return false
}

// counted puts the step function at the beginning of a list of nodes.
func counted(list *parse.ListNode) {
	if list == nil {
		return
	}
	call := &parse.CommandNode{NodeType: parse.NodeCommand, Pos: list.Pos, Args: []parse.Node{parse.NewIdentifier(stepFunc).SetPos(list.Pos)}}
	step := &parse.ActionNode{NodeType: parse.NodeAction, Pos: list.Pos, Pipe: &parse.PipeNode{
		NodeType: parse.NodePipe, Pos: list.Pos, Cmds: []*parse.CommandNode{call},
	}}
	list.Nodes = append([]parse.Node{step}, list.Nodes...)
}
