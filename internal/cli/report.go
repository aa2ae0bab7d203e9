package cli

import (
	"cmp"
	"context"

	"github.com/spf13/pflag"

	"githandoff/internal/app/audit"
	"githandoff/internal/app/logpage"
	"githandoff/internal/fault"
	"githandoff/internal/lifecycle"
	"githandoff/internal/report"
	"githandoff/internal/workspace"
)

// reportCommand is "report".
type reportCommand struct {
	*app
	since, file string
}

func newReport(a *app) command {
	c := &reportCommand{app: a}
	return command{
		use:   "report --html FILE",
		short: "Write an HTML page: lanes, chains, stuck handoffs, totals",
		long: `Reads the log of this repository and of its hubs, as "githandoff audit" does, and writes
one HTML file: each agent's lane over time, chains with durations, stuck handoffs,
problems with their reasons, totals by agent and repository, and a table that can be
sorted and filtered.

The page loads nothing from elsewhere: you can mail it, print it, or keep it. With
--since, handoffs ended before that time are left out. If a hub cannot be read, the
page names it, and the exit code is 8.`,
		example: []string{
			"githandoff report --html handoffs.html",
			"githandoff report --since 7d --html week.html",
		},
		exits: []fault.Code{fault.NotFound, fault.Denied, fault.Invalid, fault.Unavailable},
		args:  wordOf("html", takes(0, "flags only")),
		flags: func(f *pflag.FlagSet) {
			f.StringVar(&c.file, "html", "", "write the page to `FILE`")
			f.StringVar(&c.since, "since", "", "only handoffs open, or ended since `TIME`: RFC 3339, a date, or a span such as 24h or 7d")
		},
		run: c.run,
	}
}

const pageMode = 0o644 // everybody may read a page

// reportRow is the JSON object of "report".
type reportRow struct {
	File     string `json:"file"`     // path of the page
	Handoffs int    `json:"handoffs"` // handoffs in the report
	Wrong    int    `json:"wrong"`    // entries which do not count, or contradict the log
	Bytes    int    `json:"bytes"`    // size of the page
}

func (c *reportCommand) run(ctx context.Context) error {
	switch c.file {
	case "":
		return usage("report needs --html FILE").WithHints(fault.Run("githandoff", "report", "--html", "handoffs.html"))
	case "-": // standard output is for the name of the file
		return usage("--html -: a report goes into a file").WithHints(fault.Run("githandoff", "report", "--html", "handoffs.html"))
	}
	from, err := moment(c.Now(), "--since", c.since)
	if err != nil {
		return err
	}
	ws, err := c.workspace(ctx, reads)
	if err != nil {
		return err
	}
	c.file = inDir(c.Dir, c.file)
	read := c.unread(ws)
	in := &report.Input{Repo: ws.Local.RepoID, Since: from, Now: c.Now()}
	page, err := pageOf(ctx, ws, in)
	if err == nil {
		err = writeOutput(c.file, page, pageMode)
	}
	if err != nil {
		return read(err)
	}
	return read(c.Row(reportRow{c.file, len(in.Rows), len(in.Wrongs), len(page)}, "%s", c.file))
}

// pageOf returns the page of the log, which it reads as an audit does. The page names the hubs that could
// not be read, and the workspace tells of them as well.
func pageOf(ctx context.Context, ws *workspace.Workspace, in *report.Input) ([]byte, error) {
	tell := ws.OnUnread
	ws.OnUnread = func(err error) {
		in.Unread = append(in.Unread, fault.OneLine(err))
		tell(err)
	}
	log := logpage.New()
	name := func(home lifecycle.Home) string { return cmp.Or(ws.AliasOf(home), "here") }
	err := audit.New(ws).Run(ctx, nil, audit.Visitor{
		Entry: func(home lifecycle.Home, e *lifecycle.Entry) error {
			if e.Dispute == nil && !e.Overtaken {
				log.Step(name(home), e.Record())
			}
			return nil
		},
		Finding: func(home lifecycle.Home, f audit.Finding) error {
			log.Wrong(report.Wrong{Reason: string(f.Reason), ID: string(f.ID), Repo: name(home), Text: f.Text})
			return nil
		},
	})
	if err != nil {
		return nil, err
	}
	return log.Page(in)
}
