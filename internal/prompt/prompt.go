package prompt

import (
	"errors"
	"fmt"
	"strings"
	"text/template"
	"text/template/parse"
	"unicode/utf8"

	"githandoff/internal/fault"
)

// Input is the data of a template. A nil dependency stands for none.
type Input struct {
	Deps    map[string]*Dependency
	History string
	Vars    map[string]string
}

// Dependency is one earlier piece of work.
type Dependency struct {
	Handoff *Handoff // nil if the work left none
	Results map[string]string
	Outputs []string
}

// Handoff is the part of an envelope quoted by templates.
type Handoff struct {
	Summary string
	Detail  *string // nil if the detail is not known any more
	Data    map[string]string
}

// none is an empty map whose every element is an empty map again: paths of any length through
// it end in nothing.
type none map[string]none

// CheckVar says whether a variable may have this name: a template can write it after a dot,
// and it means nothing else.
func CheckVar(name string) error {
	if name == "Deps" || name == "History" {
		return fault.New(fault.Usage, fault.BadUsage, "the variable %s is taken", name).
			WithHints(fault.See("render").Because("--dep fills .Deps, --history fills .History"))
	}
	fits := name != ""
	for i, c := range name {
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		fits = fits && (letter || i > 0 && c >= '0' && c <= '9')
	}
	if !fits {
		return fault.New(fault.Usage, fault.BadUsage, "the name of a variable consists of letters, digits and underscores, and does not begin with a digit")
	}
	return nil
}

// data turns in into the maps a template walks through. Maps of type map[string]any are
// strict: a missing element has no value.
func (in Input) data() map[string]any {
	deps := map[string]any{}
	for name, d := range in.Deps {
		deps[name] = d.data(name)
	}
	all := map[string]any{"Deps": deps, "History": in.History}
	for name, v := range in.Vars {
		all[name] = v
	}
	return all
}

func (d *Dependency) data(name string) map[string]any {
	m := map[string]any{"Name": name, "Handoff": none{}, "Results": none{}, "Outputs": none{}}
	if d == nil {
		return m
	}
	m["Results"], m["Outputs"] = strict(d.Results), append([]string{}, d.Outputs...)
	if h := d.Handoff; h != nil {
		handoff := map[string]any{"Version": 1, "Summary": h.Summary, "Data": strict(h.Data)}
		if h.Detail != nil {
			handoff["Detail"] = *h.Detail
		}
		m["Handoff"] = handoff
	}
	return m
}

func strict(m map[string]string) map[string]any {
	out := map[string]any{}
	for k, v := range m {
		out[k] = v
	}
	return out
}

// Prompt is the output of a template.
type Prompt struct {
	Text   string
	fences []string
}

// Render executes a template; refusals call it name. The function fence puts a text between
// two lines it cannot contain, the first and the last line of its result. The output and the
// running time of a template are bounded (too_large). Refusals have the code [fault.Invalid].
func Render(name, text string, in Input, fence func(string) (string, error)) (*Prompt, error) {
	text = strings.TrimPrefix(text, "\ufeff")
	if !utf8.ValidString(text) || strings.Contains(text, "\x00") { // for example UTF-16, in which no action is found
		return nil, fault.New(fault.Invalid, fault.Malformed, "template %s: it is not UTF-8", name)
	}
	p, m := &Prompt{}, &meter{name: name}
	funcs := m.bounded(printers())
	funcs["fence"] = func(v any) (string, error) {
		v, there := shown(v)
		if !there {
			return "", errors.New("the text to fence has no value")
		}
		if v == "" {
			return "", nil
		}
		fenced, err := fence(fmt.Sprint(v))
		if err != nil {
			return "", err
		}
		fenced = strings.TrimSuffix(fenced, "\n")
		p.fences = append(p.fences, fenced)
		return fenced, nil
	}
	t, err := template.New(name).Option("missingkey=zero").Funcs(funcs).Parse(text)
	if err != nil {
		return nil, malformed(err)
	}
	for _, one := range t.Templates() {
		if one.Tree != nil {
			guard(one.Tree, one.Root)
			counted(one.Root)
		}
	}
	if err := t.Execute(m, in.data()); err != nil {
		if f := fault.As(err); f != nil {
			return nil, f
		}
		return nil, noValue("%s", plain(strings.TrimPrefix(err.Error(), "template: ")))
	}
	p.Text = m.out.String()
	return p, nil
}

func malformed(err error) error {
	return fault.New(fault.Invalid, fault.Malformed, "template %s", strings.TrimPrefix(err.Error(), "template: ")).
		WithHints(fault.Fact("templates are those of Go's text/template"))
}

// plain rewords an error for a path through a missing value: the template package speaks of
// nil pointers there. Other errors stay as they are.
func plain(said string) string {
	at, rest, ok := strings.Cut(said, ": executing ")
	_, rest, found := strings.Cut(rest, " at <")
	what, why, ended := strings.Cut(rest, ">: ")
	if !ok || !found || !ended {
		return said
	}
	for _, mark := range []string{"nil pointer evaluating interface {}.", "index of untyped nil", "index of nil pointer"} {
		if strings.Contains(why, mark) {
			return fmt.Sprintf("%s: {{%s}} looks into a value that is missing", at, what)
		}
	}
	return said
}

func noValue(format string, args ...any) error {
	return fault.New(fault.Invalid, fault.NoValue, "template "+format, args...).
		WithHints(fault.See("render").Because("--var, --dep and --dep-result give values; a template can test for one with if"))
}

// guard makes every printing action look at its value first: the template package itself would
// print "<no value>".
func guard(tree *parse.Tree, n parse.Node) {
	switch n := n.(type) {
	case *parse.ListNode:
		if n == nil {
			return
		}
		for _, child := range n.Nodes {
			guard(tree, child)
		}
	case *parse.ActionNode:
		if len(n.Pipe.Decl) > 0 {
			return // an assignment prints nothing
		}
		at, _ := tree.ErrorContext(n)
		what := fmt.Sprintf("%s: {{%s}}", at, n.Pipe)
		n.Pipe.Cmds = append(n.Pipe.Cmds, &parse.CommandNode{
			NodeType: parse.NodeCommand, Pos: n.Pos,
			Args: []parse.Node{
				parse.NewIdentifier(valueFunc).SetPos(n.Pos),
				&parse.StringNode{NodeType: parse.NodeString, Pos: n.Pos, Quoted: fmt.Sprintf("%q", what), Text: what},
			},
		})
	case *parse.IfNode:
		guard(tree, n.List)
		guard(tree, n.ElseList)
	case *parse.RangeNode:
		guard(tree, n.List)
		counted(n.List)
		guard(tree, n.ElseList)
	case *parse.WithNode:
		guard(tree, n.List)
		guard(tree, n.ElseList)
	}
}
