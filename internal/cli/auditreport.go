package cli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"
	"time"

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

// auditReport is the list of entries of an audit. It keeps no commit, so a long log fits into
// memory.
type auditReport struct {
	*auditCommand
	ws    *workspace.Workspace
	lines []auditLine

	text  []byte            // line that is being made
	names map[string]string // names as they are printed: a log repeats a few
	doers map[doing]string
}

// auditLine is one entry as it will be printed.
type auditLine struct {
	at   time.Time
	n    int    // position in the order of reading
	text string // whole line for a program
	row  *auditRow
}

// auditRow is one entry as it is printed for a person.
type auditRow struct {
	id                   handoff.ID
	state, verdict, data string
	cells                []string // columns between the id and the verdict
}

// doing is an entry's author and key, as the entry names them.
type doing struct {
	actor string
	key   sign.KID
}

// manyLines is how many entries are a long log.
const manyLines = 50_000

// begin lets a short log be read almost without collecting garbage, which takes a tenth of the time and
// is little: some kilobytes for each entry.
func (a *auditReport) begin() { debug.SetGCPercent(400) }

// add adds an entry to the report.
func (a *auditReport) add(home lifecycle.Home, e *lifecycle.Entry) error {
	line := auditLine{at: e.Record().At, n: len(a.lines)}
	var err error
	if a.Terminal() {
		line.row = a.row(home, e)
	} else {
		line.text, err = a.printed(home, e)
	}
	if a.lines = append(a.lines, line); len(a.lines) == manyLines {
		debug.SetGCPercent(100)
	}
	return err
}

// printed returns an entry for a program.
func (a *auditReport) printed(home lifecycle.Home, e *lifecycle.Entry) (string, error) {
	b, err := a.Render(func() (any, error) {
		r := e.Record()
		out := rowOf(r, string(r.Event))
		out.Commit, out.Results = e.OID, receipt.DecodeResults(r.Data)
		return entryRow{out, verdictOf(e), e.Overtaken, r.Key}, nil
	}, func(t *output.Lines) error {
		_, err := t.Write(a.entry(home, e))
		return err
	})
	return string(b), err
}

func verdictOf(e *lifecycle.Entry) string {
	if f := fault.As(e.Dispute); f != nil {
		return string(f.Reason)
	}
	return "ok"
}

// entry returns an entry as a line of text, without the results of an entry that does not count: they
// may be a text of anybody. Each word is escaped by itself; a word repeated in the log is escaped once.
func (a *auditReport) entry(home lifecycle.Home, e *lifecycle.Entry) []byte {
	r := e.Record()
	b := append(a.text[:0], handoff.FormatTime(r.At)...)
	b = append(append(b, ' '), untrusted.Word(string(r.Event))...)
	b = append(append(b, ' '), untrusted.Line(string(r.ID))...)
	b = append(append(b, ' '), a.name(r.From)...)
	b = append(append(b, " → "...), a.receiver(home, r)...)
	b = append(append(b, " by "...), a.doer(r)...)
	if r.Task != "" {
		b = append(append(b, " task "...), untrusted.Task(r.Task)...)
	}
	if r.Token != "" {
		b = append(b, untrusted.Line(onBehalfOf(r.Principal))...)
	}
	if r.Data != "" && e.Dispute == nil {
		b = append(append(b, ' '), untrusted.Line(readable(r.Data))...)
	}
	b = append(append(b, ' '), verdictOf(e)...)
	if e.Overtaken {
		b = append(b, " (it was over; this changes nothing)"...)
	}
	a.text = append(b, '\n')
	return a.text
}

func (a *auditReport) name(s string) string {
	name, ok := a.names[s]
	if !ok {
		name = untrusted.Name(s)
		a.names[strings.Clone(s)] = strings.Clone(name)
	}
	return name
}

// receiver returns the agent a handoff is for, with the alias of a hub.
func (a *auditReport) receiver(home lifecycle.Home, r *record.Record) string {
	return handoff.TargetAt(a.name(r.To), a.ws.AliasOf(home))
}

// doer returns the agent that took a step: the name in the entry, which proves nothing, and the
// names of its key if it is none of them.
func (a *auditReport) doer(r *record.Record) string {
	who, ok := a.doers[doing{r.Actor, r.Key}]
	if !ok {
		who = untrusted.Line(doer(a.ws.Engine.Keys.Trust, r))
		a.doers[doing{strings.Clone(r.Actor), strings.Clone(r.Key)}] = strings.Clone(who)
	}
	return who
}

// doer returns the same for any list of keys.
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

// readable returns the JSON of a trailer, which is ASCII, with its text as people read it.
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

// row returns an entry for a person.
func (a *auditReport) row(home lifecycle.Home, e *lifecycle.Entry) *auditRow {
	r := e.Record()
	row := &auditRow{
		id: handoff.ID(strings.Clone(string(r.ID))), state: untrusted.Word(string(r.Event)), verdict: verdictOf(e),
		cells: []string{a.name(r.From), a.receiver(home, r), a.doer(r), strings.Clone(untrusted.Task(r.Task))},
	}
	if e.Overtaken {
		row.verdict += ", it was over"
	}
	if r.Data != "" && e.Dispute == nil {
		row.data = resultsInRow(r.Data, nil)
	}
	return row
}

// print prints the entries in the order of their times, then the problems. Entries of the same
// time stay in the order in which they were read.
func (a *auditReport) print(ctx context.Context, findings []string) error {
	slices.SortFunc(a.lines, func(x, y auditLine) int { return cmp.Or(x.at.Compare(y.at), cmp.Compare(x.n, y.n)) })
	ends, err := endsAmong(ctx, a.app, a.ws, a.lines, func(l auditLine) handoff.ID { return l.row.id })
	if err != nil {
		return err
	}
	header := []string{"TIME", "STATE", "HANDOFF", "FROM", "TO", "BY", "TASK", "VERDICT", "RESULTS"}
	out := bufio.NewWriterSize(a.Stdout, 64<<10) // a long log is many lines
	return printList(ctx, a.app, a.ws.Repo, header, func(l *list) error {
		l.ends = ends
		for _, line := range a.lines {
			a.printLine(out, l, line)
		}
		if err := errors.Join(out.Flush(), l.Flush()); err != nil {
			return err
		}
		for _, f := range findings {
			if _, err := io.WriteString(a.Stdout, f); err != nil {
				return err
			}
		}
		return nil
	})
}

func (a *auditReport) printLine(out *bufio.Writer, l *list, line auditLine) {
	if line.row == nil {
		_, _ = out.WriteString(line.text) // out keeps its first error
		return
	}
	row := []output.Cell{output.Text(handoff.FormatTime(line.at)), output.State(line.row.state), l.id(line.row.id)}
	row = append(row, texts(line.row.cells...)...)
	l.Cells(append(row, output.Verdict(line.row.verdict), output.Text(line.row.data))...)
}
