package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"githandoff/internal/app/audit"
	"githandoff/internal/cli/output"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
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
		args: takesNames(&c.aliases),
		flags: func(f *pflag.FlagSet) {
			f.StringVar(&c.since, "since", "", "only entries since `TIME`: RFC 3339, a date, or a span such as 24h or 7d")
			f.StringVar(&c.until, "until", "", "only entries before `TIME`")
			f.StringVar(&c.agent, "agent", "", "only entries from, to or by `AGENT`")
			f.StringVar(&c.principal, "principal", "", "only entries on behalf of `PRINCIPAL`")
			f.StringVar(&c.task, "task", "", "only entries of the task `KEY`")
		},
		run: c.run,
	}
}

func (c *auditCommand) run(ctx context.Context) error {
	for _, arg := range c.aliases {
		if id := handoff.Typed(arg); handoff.CheckSuffix(id) == nil && (strings.HasPrefix(id, "ho_") || strings.HasPrefix(id, "…")) {
			return fault.New(fault.NotFound, fault.UnknownAlias, "audit takes an alias, not a handoff: %s", untrusted.Line(arg)).
				WithHints(fault.Run("githandoff", "history", id).Because("draws the chain of that handoff"))
		}
	}
	filter, err := c.filter()
	if err != nil {
		return err
	}
	ws, err := c.workspace(ctx, reads)
	if err != nil {
		return err
	}
	read := c.unread(ws)
	report := &auditReport{auditCommand: c, ws: ws, names: map[string]string{}, doers: map[doing]string{}}
	report.begin()
	var findings []string
	var hints []fault.Hint
	err = audit.New(ws).Run(ctx, c.aliases, audit.Visitor{
		Entry: func(home lifecycle.Home, e *lifecycle.Entry) error {
			if !filter.Keeps(e.Record()) {
				return nil
			}
			return report.add(home, e)
		},
		Finding: func(home lifecycle.Home, f audit.Finding) error {
			line, err := c.finding(ws, home, f)
			findings = append(findings, line)
			hints = fault.AddHints(hints, f.Hints...)
			return err
		},
	})
	if err != nil {
		return read(err)
	}
	slices.Sort(findings)
	findings = slices.Compact(findings)
	if err := report.print(ctx, findings); err != nil {
		return err
	}
	if len(report.lines) == 0 && c.agent != "" {
		adviseNothingOf(c.app, ws, c.agent)
	}
	return read(c.wrong(findings, hints))
}

// wrong returns the error of an audit with problems.
func (c *auditCommand) wrong(findings []string, hints []fault.Hint) error {
	if len(findings) == 0 {
		return nil
	}
	if len(hints) == 0 {
		hints = []fault.Hint{fault.Fact("each is on standard output, with its reason and its handoff")}
	}
	return fault.New(fault.Denied, fault.AuditFailed, "found %s", fault.Count(len(findings), "problem")).WithHints(hints...)
}

// finding returns one problem as it is printed.
func (c *auditCommand) finding(ws *workspace.Workspace, home lifecycle.Home, f audit.Finding) (string, error) {
	b, err := c.Render(func() (any, error) {
		return contradictionRow{string(f.Reason), f.ID, home.ID(), f.Lane, f.Text}, nil
	}, func(t *output.Lines) error {
		where := cmp.Or(ws.AliasOf(home), "here")
		t.Line("%s", strings.TrimRight(fmt.Sprintf("! %s %s %s: %s", f.Reason, where, f.ID, f.Text), " "))
		return nil
	})
	return string(b), err
}

// filter reads the flags.
func (c *auditCommand) filter() (f audit.Filter, err error) {
	f = audit.Filter{Agent: c.agent, Task: c.task, Principal: handoff.Principal(c.principal)}
	if f.Since, err = moment(c.Now(), "--since", c.since); err != nil {
		return f, err
	}
	f.Until, err = moment(c.Now(), "--until", c.until)
	return f, err
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
	return time.Time{}, usage("%s %s: want 2026-11-20T22:00:00Z, 2026-11-20, 24h or 7d", flag, untrusted.Line(s))
}
