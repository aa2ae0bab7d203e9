package history

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"githandoff/internal/handoff"
	"githandoff/internal/record"
	"githandoff/internal/untrusted"
)

// Drawing draws the chain of a handoff.
type Drawing struct {
	Ends handoff.Ends // short forms of the ids in the chain
	Now  time.Time
}

// box is a handoff of a chain as it is drawn.
type box struct{ to, id, outcome string }

func (s box) lines() []string { return []string{s.to, s.id, s.outcome} }

func (d *Drawing) box(p *Past) box {
	s := box{to: p.To, id: d.Ends.Of(p.ID), outcome: p.State}
	if s.to == handoff.Nobody {
		s.to = "?"
	}
	switch {
	case p.Receipt == nil && p.Claim == nil: // nothing happened after the offer
	case p.Receipt == nil:
		s.outcome += " " + p.Duration(d.Now)
	case p.Receipt.Event == record.Acknowledged:
		s.outcome = "✓ " + s.outcome + " " + p.Duration(d.Now)
	case p.Receipt.Event == record.Rerouted:
		s.outcome = "↷ " + s.outcome + " " + p.Duration(d.Now)
	default:
		s.outcome = "✗ " + s.outcome + " " + p.Duration(d.Now)
	}
	return s
}

func chainTitle(first *Past) string {
	if untrusted.IsTask(first.Offer.Task) {
		return "Task " + first.Offer.Task
	}
	return "Handoff " + string(first.ID)
}

// Text draws each way from the first handoff to a last one, and below it a line for each handoff
// on it. A branch begins again at its agent, with the new handoffs.
func (d *Drawing) Text(first *Past) string {
	b := &strings.Builder{}
	fmt.Fprintln(b, untrusted.Line(chainTitle(first)))
	if first.Offer.Parent != "" {
		fmt.Fprintf(b, "It follows from %s, which no log here mentions.\n", first.Offer.Parent)
	}
	type branch struct {
		from string
		next *Past
	}
	todo := []branch{{first.Offer.From, first}}
	for len(todo) > 0 {
		at := todo[0]
		todo = todo[1:]
		agents, below := []string{at.from}, tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
		for p := at.next; p != nil; {
			s := d.box(p)
			from := s.to
			if p.Offer != nil {
				from = p.Offer.From
			}
			fmt.Fprintf(below, "  %s\t%s → %s\t%s\n", p.ID, from, s.to, s.outcome)
			agents = append(agents, s.to)
			if len(p.Children) == 0 {
				break
			}
			for _, other := range p.Children[1:] {
				todo = append(todo, branch{s.to, other})
			}
			p = p.Children[0]
		}
		fmt.Fprintln(b, strings.Join(agents, " ──▶ "))
		_ = below.Flush() // a strings.Builder never fails
	}
	return b.String()
}

// Walk visits a chain, each handoff before its children.
func Walk(p, above *Past, visit func(p, above *Past)) {
	visit(p, above)
	for _, c := range p.Children {
		Walk(c, p, visit)
	}
}

// origin names the start of an arrow: the first sender if nothing is above.
func origin(above *Past) string {
	if above == nil {
		return "start"
	}
	return string(above.ID)
}

// Mermaid draws a chain as a Mermaid flow chart.
func (d *Drawing) Mermaid(first *Past) string {
	b := &strings.Builder{}
	quoted := func(s string) string { // escapes a text as Mermaid does within quotes
		return `"` + strings.NewReplacer("#", "#35;", `"`, "#quot;", "<", "#lt;", ">", "#gt;").Replace(untrusted.Line(s)) + `"`
	}
	fmt.Fprintf(b, "---\ntitle: %s\n---\nflowchart LR\n", yamlQuoted(chainTitle(first)))
	fmt.Fprintf(b, "  start[%s]\n", quoted(first.Offer.From))
	Walk(first, nil, func(p, above *Past) {
		var lines []string
		for _, s := range d.box(p).lines() {
			lines = append(lines, strings.Trim(quoted(s), `"`))
		}
		fmt.Fprintf(b, "  %s --> %s[\"%s\"]\n", origin(above), p.ID, strings.Join(lines, "<br/>"))
	})
	return b.String()
}

// yamlQuoted writes printable ASCII as a single-quoted YAML scalar.
func yamlQuoted(s string) string {
	return "'" + strings.ReplaceAll(untrusted.Line(s), "'", "''") + "'"
}

// DOT draws a chain as a Graphviz digraph.
func (d *Drawing) DOT(first *Past) string {
	b := &strings.Builder{}
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	quoted := func(s ...string) string {
		for i := range s {
			s[i] = escape.Replace(untrusted.Line(s[i]))
		}
		return `"` + strings.Join(s, `\n`) + `"`
	}
	fmt.Fprintf(b, "digraph handoffs {\n  rankdir=LR;\n  label=%s;\n  node [shape=box];\n", quoted(chainTitle(first)))
	fmt.Fprintf(b, "  start [label=%s];\n", quoted(first.Offer.From))
	Walk(first, nil, func(p, above *Past) {
		fmt.Fprintf(b, "  %s [label=%s];\n  %s -> %s;\n", p.ID, quoted(d.box(p).lines()...), origin(above), p.ID)
	})
	b.WriteString("}\n")
	return b.String()
}
