package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"githandoff/internal/app/history"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/untrusted"
)

func (c *historyCommand) chain(ctx context.Context, arg, format string) error {
	if format != "list" && !slices.Contains(historyFormats(), format) {
		return unknownHistoryFormat(format)
	}
	d, err := c.desk(ctx, reads)
	if err != nil {
		return err
	}
	read := c.unread(d)
	first, err := history.New(d).Chain(ctx, arg)
	if f := fault.As(err); f != nil && (f.Reason == fault.InvalidID || f.Reason == fault.UnknownHandoff) {
		named := *f
		err = named.WithHints(
			fault.Run("githandoff", "history", "--task", arg).Because("if that is the key of a task"),
			fault.Run("githandoff", "inbox", "--all").Because("lists open handoffs"))
	}
	if err != nil {
		return read(err)
	}
	var ids []handoff.ID
	walk(first, nil, func(p, _ *history.Past) { ids = append(ids, p.ID) })
	c.ends = handoff.EndsOf(ids)
	var b strings.Builder
	switch format {
	case "json":
		c.chainJSON(&b, first)
	case "mermaid":
		c.chainMermaid(&b, first)
	case "dot":
		c.chainDOT(&b, first)
	default:
		c.chainText(&b, first)
	}
	return read(paged(ctx, c.app, d.Repo, func() error {
		_, err := c.Stdout.Write([]byte(b.String()))
		return err
	}))
}

// step is a handoff of a chain as it is drawn.
type step struct{ to, id, outcome string }

func (s step) lines() []string { return []string{s.to, s.id, s.outcome} }

func (c *historyCommand) step(p *history.Past) step {
	s := step{to: p.To, id: c.ends.Of(p.ID), outcome: p.State}
	if s.to == refs.Nobody {
		s.to = "?"
	}
	switch {
	case p.Receipt == nil && p.Claim == nil: // its state is all there is to say
	case p.Receipt == nil:
		s.outcome += " " + p.Duration(c.Now())
	case p.Receipt.Event == record.Acknowledged:
		s.outcome = "✓ " + s.outcome + " " + p.Duration(c.Now())
	case p.Receipt.Event == record.Rerouted:
		s.outcome = "↷ " + s.outcome + " " + p.Duration(c.Now())
	default:
		s.outcome = "✗ " + s.outcome + " " + p.Duration(c.Now())
	}
	return s
}

func chainTitle(first *history.Past) string {
	if untrusted.IsTask(first.Offer.Task) {
		return "Task " + first.Offer.Task
	}
	return "Handoff " + string(first.ID)
}

// chainText draws each way from the first handoff to a last one, and below it a
// line for each handoff on it. A way that branches off begins again at the agent
// where it does, with the handoffs that are new.
func (c *historyCommand) chainText(b *strings.Builder, first *history.Past) {
	fmt.Fprintln(b, printable(chainTitle(first)))
	if first.Offer.Parent != "" {
		fmt.Fprintf(b, "It follows from %s, which no log here mentions.\n", first.Offer.Parent)
	}
	type branch struct {
		from string
		next *history.Past
	}
	todo := []branch{{first.Offer.From, first}}
	for len(todo) > 0 {
		at := todo[0]
		todo = todo[1:]
		agents, below := []string{at.from}, tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
		for p := at.next; p != nil; {
			s := c.step(p)
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
		_ = below.Flush() // a strings.Builder takes everything
	}
}

// walk visits a chain, each handoff before those that follow from it.
func walk(p, above *history.Past, visit func(p, above *history.Past)) {
	visit(p, above)
	for _, c := range p.Children {
		walk(c, p, visit)
	}
}

func (c *historyCommand) chainJSON(b *strings.Builder, first *history.Past) {
	walk(first, nil, func(p, above *history.Past) {
		r := c.row(p, nil)
		if above != nil {
			r.Parent = above.ID
		}
		c.Encode(b, r)
	})
}

func (c *historyCommand) chainMermaid(b *strings.Builder, first *history.Past) {
	quoted := func(s string) string { // as Mermaid escapes within quotes
		return `"` + strings.NewReplacer("#", "#35;", `"`, "#quot;", "<", "#lt;", ">", "#gt;").Replace(printable(s)) + `"`
	}
	fmt.Fprintf(b, "---\ntitle: %s\n---\nflowchart LR\n", yamlQuoted(chainTitle(first)))
	fmt.Fprintf(b, "  start[%s]\n", quoted(first.Offer.From))
	walk(first, nil, func(p, above *history.Past) {
		from := "start"
		if above != nil {
			from = string(above.ID)
		}
		var lines []string
		for _, s := range c.step(p).lines() {
			lines = append(lines, strings.Trim(quoted(s), `"`))
		}
		fmt.Fprintf(b, "  %s --> %s[\"%s\"]\n", from, p.ID, strings.Join(lines, "<br/>"))
	})
}

// yamlQuoted writes printable ASCII as a single-quoted YAML scalar.
func yamlQuoted(s string) string {
	return "'" + strings.ReplaceAll(printable(s), "'", "''") + "'"
}

func (c *historyCommand) chainDOT(b *strings.Builder, first *history.Past) {
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	quoted := func(s ...string) string {
		for i := range s {
			s[i] = escape.Replace(printable(s[i]))
		}
		return `"` + strings.Join(s, `\n`) + `"`
	}
	fmt.Fprintf(b, "digraph handoffs {\n  rankdir=LR;\n  label=%s;\n  node [shape=box];\n", quoted(chainTitle(first)))
	fmt.Fprintf(b, "  start [label=%s];\n", quoted(first.Offer.From))
	walk(first, nil, func(p, above *history.Past) {
		from := "start"
		if above != nil {
			from = string(above.ID)
		}
		fmt.Fprintf(b, "  %s [label=%s];\n  %s -> %s;\n", p.ID, quoted(c.step(p).lines()...), from, p.ID)
	})
	b.WriteString("}\n")
}
