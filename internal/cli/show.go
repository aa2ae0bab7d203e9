package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"githandoff/internal/app/inspect"
	"githandoff/internal/brief"
	"githandoff/internal/cli/output"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/receipt"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
	"githandoff/internal/untrusted"
	"githandoff/internal/workspace"
)

// showCommand is "show".
type showCommand struct {
	*app
	id, format string
	part       partFlags
}

func newShow(a *app) command {
	c := &showCommand{app: a}
	return command{
		use:     "show [ID]",
		suggest: []string{"view", "cat"},
		short:   "Show one handoff: its state, and its content while it is open",
		example: []string{
			"githandoff show 7k3m2q",
			"githandoff show 7k3m2q --json",
		},
		args:     takesID(0, &c.id),
		complete: completions{a}.openIDs,
		flags: func(f *pflag.FlagSet) {
			c.part.register(f)
			f.StringVar(&c.format, "format", "", "print the content in this `FORMAT` of \"githandoff help formats\"")
		},
		oneOf: [][]string{partGroup()},
		run:   c.run,
	}
}

func (c *showCommand) run(ctx context.Context) error {
	if c.format != "" {
		if err := checkFormat(c.format); err != nil {
			return err
		}
	}
	ws, err := c.workspace(ctx, reads)
	if err != nil {
		return err
	}
	f, v, err := inspect.New(ws).Show(ctx, c.id)
	if errors.Is(err, sign.ErrSealed) && !c.part.given() && c.format == "" {
		c.Warn(err) // a sealed handoff's trailers can be read by everybody
		err = nil
	}
	if err != nil {
		return orEnded(err)
	}
	return c.print(ws, f, v)
}

func (c *showCommand) print(ws *workspace.Workspace, f *workspace.View, v *lifecycle.Verified) error {
	switch {
	case v == nil && (c.part.given() || c.format != ""):
		return contentGone(f)
	case c.part.given():
		return printPart(c.app, &c.part, v)
	case c.format != "":
		out, err := exported(c.app, c.format, v)
		if err == nil {
			_, err = c.Stdout.Write(out)
		}
		return err
	}
	return c.Print(func() (any, error) { return c.row(f, v), nil }, func(t *output.Lines) error { return c.text(t, ws, f, v) })
}

// contentGone refuses to read the content of a handoff of which only the log is left here.
func contentGone(f *workspace.View) error {
	show := fault.Run("githandoff", "show", string(f.State.ID)).Because("shows its log")
	if f.State.Receipt != nil {
		return fault.New(fault.NotFound, fault.Erased, "%w: its content is gone", f.State.Err()).WithHints(show)
	}
	return fault.New(fault.NotFound, fault.Erased, "%s is %s: its content is not available here", f.State.ID, f.Word()).
		WithHints(show)
}

// text shows a handoff to people.
func (c *showCommand) text(b *output.Lines, ws *workspace.Workspace, f *workspace.View, v *lifecycle.Verified) error {
	c.head(b, ws, f, v != nil)
	if r := f.State.Receipt; r != nil {
		if told := resultsOf(r); told != "" {
			if err := writeFenced(c.app, b, told, untrusted.Name(r.Actor)); err != nil {
				return err
			}
		}
	}
	if v == nil {
		return nil
	}
	if w := v.Envelope().Work; w != nil {
		b.Line("Snapshot: %s", workLine(w))
	}
	fmt.Fprintln(b, provenance(v))
	if err := writeFenced(c.app, b, brief.Text(v.Envelope()), v.Offer().From); err != nil {
		return err
	}
	if more := brief.Omitted(v.Envelope()); len(more) > 0 {
		ways := "--detail, --data KEY, or --json for all"
		if c.tools {
			ways = "a person can print them"
		}
		b.Line("Not shown: %s (%s).", strings.Join(more, ", "), ways)
	}
	c.Cost(b.Len())
	return nil
}

func (c *showCommand) row(f *workspace.View, v *lifecycle.Verified) row {
	s := f.State
	if v != nil {
		r := verifiedRow(v, f.Home)
		if f.Item != nil && f.Item.Kind == refs.KindOutbox {
			r.State, r.Ref = f.Word(), f.Item.Ref
		}
		return r
	}
	rec := s.Last()
	if rec == nil && f.Item != nil {
		rec = f.Item.Record
	}
	if rec == nil {
		return row{ID: s.ID, State: string(s.Phase())}
	}
	r := rowOf(rec, f.Word())
	r.Commit = s.LaneTip
	r.Results = receipt.DecodeResults(rec.Data)
	if f.Item != nil {
		r.Ref, r.Commit = f.Item.Ref, f.Item.Commit
	}
	return r
}

// counted returns the counts of a record other than zero.
func counted(counts string) string {
	return strings.Join(slices.DeleteFunc(strings.Fields(counts), func(c string) bool { return strings.HasSuffix(c, "=0") }), " ")
}

// head prints the facts about a handoff outside its content. With a fence below it, a task of
// many words is left to the fence.
func (c *showCommand) head(b *output.Lines, ws *workspace.Workspace, f *workspace.View, fenced bool) {
	s := f.State
	rec := s.Offer
	if rec == nil && f.Item != nil {
		rec = f.Item.Record
	}
	b.Line("Handoff %s", s.ID)
	if rec == nil {
		b.Line("State: %s", f.Word())
		return
	}
	to := handoff.TargetAt(cmp.Or(s.To, untrusted.Name(rec.To)), ws.AliasOf(f.Home))
	b.Line("From: %s → To: %s", untrusted.Name(rec.From), to)
	if untrusted.IsTask(rec.Task) || rec.Task != "" && !fenced {
		b.Line("Task: %s", untrusted.Task(rec.Task))
	}
	b.Line("State: %s%s", f.WordAt(c.Now()), byWhom(s))
	if why := byDecision(s); why != "" {
		b.Line("Routed to %s%s", s.To, why)
	}
	if rec.Token != "" {
		b.Line("Token: %s%s", rec.Token, onBehalfOf(rec.Principal))
	}
	if r := s.Revoked; r != nil && r != s.Receipt {
		b.Line("Token revoked by %s at %s", untrusted.Name(r.Actor), handoff.FormatTime(r.At))
	}
	if counts := counted(rec.Counts); counts != "" {
		b.Line("Content: %s", counts)
	}
	if r := s.Receipt; r != nil {
		if r.Duration != "" {
			b.Line("Duration: %s", r.Duration)
		}
		if r.Next != "" {
			b.Line("Next: %s", r.Next)
		}
	}
	if s.Dispute != nil && s.Receipt == nil {
		b.Line("Disputed: %s", s.Dispute)
	}
}

// resultsOf returns the missing skills and the results of a record, a line each.
func resultsOf(r *record.Record) string {
	var b strings.Builder
	if r.SkillsMissing != "" {
		fmt.Fprintf(&b, "Skills missing: %s\n", untrusted.Line(r.SkillsMissing))
	}
	results := receipt.DecodeResults(r.Data)
	for _, k := range slices.Sorted(maps.Keys(results)) {
		fmt.Fprintf(&b, "Result %s: %s\n", untrusted.Line(k), untrusted.Line(results[k]))
	}
	return b.String()
}

func byWhom(s *lifecycle.State) string {
	switch {
	case s.Receipt != nil:
		return fmt.Sprintf(" by %s at %s", untrusted.Name(s.Receipt.Actor), handoff.FormatTime(s.Receipt.At))
	case s.Claim != nil:
		return fmt.Sprintf(" by %s until %s", untrusted.Name(s.Claim.Actor), handoff.FormatTime(s.Lease))
	}
	return ""
}
