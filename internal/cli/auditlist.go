package cli

import (
	"bufio"
	"context"
	"errors"
	"io"
	"time"

	"githandoff/internal/cli/output"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/untrusted"
	"githandoff/internal/workspace"
)

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
