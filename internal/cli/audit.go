package cli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"githandoff/internal/app/audit"
	"githandoff/internal/app/emit"
	"githandoff/internal/cli/output"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/receipt"
	"githandoff/internal/record"
	"githandoff/internal/sign"
	"githandoff/internal/untrusted"
	"githandoff/internal/workspace"
)

type auditCommand struct {
	*app

	aliases                              []string
	since, until, agent, principal, task string
}

func newAudit(a *app) command {
	c := &auditCommand{app: a}
	return command{
		use:   "audit [ALIAS...]",
		short: "Print the log, check every signature, report problems",
		long: `Reads every lane of this repository and of its hubs, or of the hubs named as ALIAS.
It checks every signature and every step, and compares the log with the inboxes.
Entries are printed in the order of their times, then the problems. If there is one,
the exit code is 4. Problems are for example lost (an open handoff disappeared without
a receipt), rollback (a hub rewrote its log), untrusted_key and disputed; docs/reasons.md
lists them.

Plain git shows the same log: git log --glob='refs/handoffs/*log/*'`,
		example: []string{
			"githandoff audit --since 7d",
			"githandoff audit --task LIN-423 --json",
		},
		args: takesAny(&c.aliases),
		flags: func(f *pflag.FlagSet) {
			f.StringVar(&c.since, "since", "", "only entries since then: RFC 3339, a date, or a span such as 24h or 7d")
			f.StringVar(&c.until, "until", "", "only entries before then")
			f.StringVar(&c.agent, "agent", "", "only entries from, to or by this agent")
			f.StringVar(&c.principal, "principal", "", "only entries on behalf of this principal")
			f.StringVar(&c.task, "task", "", "only entries of this task")
		},
		run: c.run,
	}
}

func (c *auditCommand) run(ctx context.Context) error {
	keep, err := c.filter()
	if err != nil {
		return err
	}
	d, err := c.desk(ctx, reads)
	if err != nil {
		return err
	}
	read := c.unread(d)
	var lines []auditLine
	var findings []string
	var hints []fault.Hint
	err = audit.New(d).Run(ctx, c.aliases, audit.Visitor{
		Entry: func(home lifecycle.Home, e *lifecycle.Entry) error {
			if !keep(e.Record()) {
				return nil
			}
			line, err := c.line(d, home, e)
			lines = append(lines, line)
			return err
		},
		Finding: func(home lifecycle.Home, f audit.Finding) error {
			line, err := c.finding(d, home, f)
			findings = append(findings, line)
			hints = addHints(hints, f.Hints)
			return err
		},
	})
	if err != nil {
		return read(err)
	}
	for i := range lines { // of two of one time the one that was read first comes first
		lines[i].n = i
	}
	slices.SortFunc(lines, func(x, y auditLine) int { return cmp.Or(x.at.Compare(y.at), cmp.Compare(x.n, y.n)) })
	slices.Sort(findings)
	findings = slices.Compact(findings)
	if err := c.print(ctx, d, lines, findings); err != nil {
		return err
	}
	if len(lines) == 0 && c.agent != "" {
		adviseNothingOf(c.app, d, c.agent)
	}
	return read(c.wrong(findings, hints))
}

// wrong is the error of an audit that found something.
func (c *auditCommand) wrong(findings []string, hints []fault.Hint) error {
	if len(findings) == 0 {
		return nil
	}
	if len(hints) == 0 {
		hints = []fault.Hint{fault.Fact("each line with \"!\" names one, its reason and its handoff")}
	}
	return fault.New(fault.Denied, fault.AuditFailed, "found %s", fault.Count(len(findings), "problem")).WithHints(hints...)
}

// addHints adds the hints that are not there yet, to no more than are printed.
func addHints(hints, more []fault.Hint) []fault.Hint {
	for _, h := range more {
		if len(hints) < 3 && !slices.ContainsFunc(hints, func(old fault.Hint) bool { return old.String() == h.String() }) {
			hints = append(hints, h)
		}
	}
	return hints
}

func (c *auditCommand) entry(d *workspace.Workspace, home lifecycle.Home, e *lifecycle.Entry) (string, error) {
	r := e.Record()
	verdict := "ok"
	if f := fault.As(e.Dispute); f != nil {
		verdict = string(f.Reason)
	}
	return c.render(func() any {
		out := rowOf(r, string(r.Event))
		out.Commit, out.Results = e.OID, receipt.DecodeResults(r.Data)
		return entryRow{out, verdict, e.Overtaken, r.Key}
	}, func() string { return entryText(d, home, e, verdict) })
}

// render is one line of the output.
func (c *auditCommand) render(object func() any, text func() string) (string, error) {
	b, err := c.Render(func() (any, error) { return object(), nil }, func(t *output.Lines) error {
		t.Line("%s", text())
		return nil
	})
	return string(b), err
}

func entryText(d *workspace.Workspace, home lifecycle.Home, e *lifecycle.Entry, verdict string) string {
	r := e.Record()
	to := untrusted.Name(r.To)
	if alias := d.AliasOf(home); alias != "" {
		to += "@" + alias
	}
	text := fmt.Sprintf("%s %s %s %s → %s by %s", handoff.FormatTime(r.At), r.Event, r.ID, untrusted.Name(r.From), to, doer(d.Engine.Keys.Trust, r))
	if r.Task != "" {
		text += " task " + untrusted.Task(r.Task)
	}
	if r.Token != "" {
		text += onBehalfOf(r.Principal)
	}
	if r.Data != "" {
		text += " " + readable(r.Data)
	}
	if e.Overtaken {
		verdict += " (it was over; this changes nothing)"
	}
	return text + " " + verdict
}

// readable is the JSON of a trailer, which is ASCII, with its text as people read it.
func readable(data string) string {
	results := receipt.DecodeResults(data)
	if len(results) == 0 {
		return data
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(results); err != nil {
		return data
	}
	return strings.TrimSpace(b.String())
}

// doer is who took a step: the name that the entry gives, which proves nothing,
// and the names of its key where that is none of them.
func doer(trust *sign.Trust, r *record.Record) string {
	key, _ := trust.Lookup(r.Key)
	names := slices.Clone(key.Entry().Agents)
	for _, p := range key.Entry().Principals {
		names = append(names, strings.TrimPrefix(p, "user:"))
	}
	if len(names) == 0 || slices.Contains(names, r.Actor) {
		return untrusted.Name(r.Actor)
	}
	return fmt.Sprintf("%s (with the key of %s)", untrusted.Name(r.Actor), strings.Join(names, ", "))
}

func (c *auditCommand) finding(d *workspace.Workspace, home lifecycle.Home, f audit.Finding) (string, error) {
	where := d.AliasOf(home)
	if where == "" {
		where = "here"
	}
	return c.render(
		func() any { return contradictionRow{string(f.Reason), f.ID, home.ID(), f.Lane, f.Text} },
		func() string {
			return strings.TrimRight(fmt.Sprintf("! %s %s %s: %s", f.Reason, where, f.ID, f.Text), " ")
		},
	)
}

// filter turns the flags into a test of entries.
func (c *auditCommand) filter() (func(*record.Record) bool, error) {
	since, err := moment(c.Now(), "--since", c.since)
	if err != nil {
		return nil, err
	}
	until, err := moment(c.Now(), "--until", c.until)
	if err != nil {
		return nil, err
	}
	return func(r *record.Record) bool {
		switch {
		case !since.IsZero() && r.At.Before(since), !until.IsZero() && !r.At.Before(until):
			return false
		case c.agent != "" && r.From != c.agent && r.To != c.agent && r.Actor != c.agent:
			return false
		case c.task != "" && r.Task != c.task:
			return false
		case c.principal != "" && !strings.HasPrefix(r.Principal, emit.Principal(c.principal)+" "):
			return false
		}
		return true
	}, nil
}

// moment reads RFC 3339, a date, or a span back from now.
func moment(now time.Time, flag, s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02", "2006-01-02 15:04"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	if d, err := parseSpan(s); err == nil {
		return now.Add(-d), nil
	}
	return time.Time{}, usage("%s %s: want 2026-11-20T22:00:00Z, 2026-11-20, 24h or 7d", flag, printable(s))
}

// auditLine is one entry as it will be printed. It keeps no commit, so that a
// long log fits into memory.
type auditLine struct {
	at   time.Time
	n    int    // of the order in which the entries were read
	text string // for a program

	id                   handoff.ID // for a person
	state, verdict, data string
	cells                []string // the columns between them
}

func (c *auditCommand) line(d *workspace.Workspace, home lifecycle.Home, e *lifecycle.Entry) (auditLine, error) {
	r := e.Record()
	if !c.Terminal() {
		text, err := c.entry(d, home, e)
		return auditLine{at: r.At, text: text}, err
	}
	to, verdict, data := untrusted.Name(r.To), "ok", ""
	if alias := d.AliasOf(home); alias != "" {
		to += "@" + alias
	}
	if f := fault.As(e.Dispute); f != nil {
		verdict = string(f.Reason)
	}
	if e.Overtaken {
		verdict += ", it was over"
	}
	if r.Data != "" {
		data = resultsInRow(r.Data, nil)
	}
	return auditLine{at: r.At, id: r.ID, state: string(r.Event), verdict: verdict, data: data, cells: []string{
		untrusted.Name(r.From), to, doer(d.Engine.Keys.Trust, r), untrusted.Task(r.Task),
	}}, nil
}

// print prints the entries and, below them, what is wrong.
func (c *auditCommand) print(ctx context.Context, d *workspace.Workspace, lines []auditLine, findings []string) error {
	ids := make([]handoff.ID, len(lines))
	for i, l := range lines {
		ids[i] = l.id
	}
	ends, err := endsFor(ctx, c.app, d, ids...)
	if err != nil {
		return err
	}
	header := []string{"TIME", "STATE", "HANDOFF", "FROM", "TO", "BY", "TASK", "VERDICT", "RESULTS"}
	out := bufio.NewWriter(c.Stdout) // a long log is many lines
	return printList(ctx, c.app, d.Repo, header, func(l *list) error {
		l.ends = ends
		for _, line := range lines {
			if !l.ForPeople() {
				if _, err := io.WriteString(out, line.text); err != nil {
					return err
				}
				continue
			}
			row := []output.Cell{output.Text(handoff.FormatTime(line.at)), output.State(line.state), l.id(line.id)}
			row = append(row, texts(line.cells...)...)
			if err := l.Row(nil, append(row, output.Verdict(line.verdict), output.Text(line.data))...); err != nil {
				return err
			}
		}
		if err := errors.Join(out.Flush(), l.Flush()); err != nil {
			return err
		}
		for _, f := range findings {
			if _, err := io.WriteString(c.Stdout, f); err != nil {
				return err
			}
		}
		return nil
	})
}
