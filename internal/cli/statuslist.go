package cli

import (
	"fmt"
	"io"
	"time"

	"githandoff/internal/cli/output"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/untrusted"
)

// The most rows of one list of a status.
const (
	mostSent   = 20
	mostListed = 10
)

// section is a list of a status: the handoffs in one state.
type section struct {
	state, title, next string
	count              int
}

func (s *status) sections() []section {
	take := "githandoff resume"
	if len(s.Held) > 0 {
		take = "githandoff resume --next"
	}
	return []section{
		{"offered", "waiting for you", take, s.Waiting},
		{"undecided", "waiting for a decision", "githandoff route", s.Undecided},
		{"overdue", "held by somebody whose lease ran out", "", s.Stale},
		{"expired", "expired", take + " --allow-expired", s.Expired}, // gc leaves them to their senders
		{"early", "dated ahead of the clock here", "", s.Early},
		{"refused", "refused: githandoff cannot read it", "githandoff audit", s.Refused},
		{"queued", "to be delivered", "githandoff sync", s.Queued},
	}
}

// heading returns the line above a list: how many, and the command for them.
func heading(count int, title, next string) string {
	if next != "" {
		title += " (" + next + ")"
	}
	return fmt.Sprintf("%d %s", count, title)
}

// of lists the handoffs in one state.
func (s *status) of(state string) (rows []statusRow) {
	for _, r := range s.Open {
		if r.State == state {
			rows = append(rows, r)
		}
	}
	return rows
}

// print writes a status for a program or an agent: one fact on each line, and a row with the
// columns of "inbox" for each waiting handoff.
func (s *status) print(w io.Writer) {
	say := func(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }
	if s.Repo == "" {
		say("agent %s; githandoff is not set up in this repository", s.Agent)
		return
	}
	say("agent %s in %s", s.Agent, s.Repo)
	for _, h := range s.Held {
		say("%s", h.line())
	}
	for _, r := range s.Elsewhere {
		say("%s", r.line())
	}
	for _, k := range s.Kept {
		say("kept: %s %s (githandoff sync takes it)", k.Event, k.ID)
	}
	for _, c := range s.sections() {
		if c.count == 0 {
			continue
		}
		say("%s", heading(c.count, c.title, c.next))
		rows := s.of(c.state)
		for _, r := range rows[:min(len(rows), mostListed)] {
			say("%s\t%s\t%s\t%s\t%s\t%s", r.ID, r.State, nameOrNone(r.From), untrusted.Line(r.place()), untrusted.Task(r.Task), r.At)
		}
	}
	for _, one := range s.Sent[:min(len(s.Sent), mostSent)] {
		say("%s", one.line())
	}
	if more := s.allSent - mostSent; more > 0 {
		say("%d more were sent (githandoff inbox --all)", more)
	}
}

// place returns the inbox and, of another repository, its alias, or its id if it has none.
func (r *statusRow) place() string { return handoff.TargetAt(r.To, r.at) }

func nameOrNone(s string) string {
	if s == "" {
		return ""
	}
	return untrusted.Name(s)
}

// screen writes a status for a person: lists with headers.
func (c *statusCommand) screen(s *status, goals map[handoff.ID]string, ends handoff.Ends) {
	if s.Repo == "" {
		s.print(c.Stdout)
		return
	}
	fmt.Fprintf(c.Stdout, "agent %s in %s\n", s.Agent, s.Repo)
	lists := &statusLists{app: c.app, now: c.Now(), ends: ends}
	lists.held(s.Held, goals)
	lists.elsewhere(s.Elsewhere)
	if len(s.Kept) > 0 {
		lists.begin(fault.Count(len(s.Kept), "kept step")+" (githandoff sync)", "HANDOFF", "STEP", "SINCE")
		for _, k := range s.Kept {
			lists.row(ends.Of(k.ID), string(k.Event), lists.ago(k.At))
		}
		lists.end()
	}
	for _, sec := range s.sections() {
		lists.open(sec, s.of(sec.state))
	}
	lists.sent(s.Sent, s.allSent)
	lists.hubs(s.Hubs)
	if lists.count == 0 {
		fmt.Fprintln(c.Stdout, "nothing is held, and nothing waits")
	}
}

// statusLists prints the lists of a status.
type statusLists struct {
	*app
	now    time.Time
	ends   handoff.Ends // how ids are shown
	table  *output.Table
	header []string
	count  int // number of lists
}

func (s *statusLists) begin(title string, header ...string) {
	s.count, s.header = s.count+1, header
	fmt.Fprintf(s.Stdout, "\n%s\n", s.Title(title))
	s.table = s.Table(columnsOf(s.Stdout), header...)
	s.table.Indent("  ")
}

func (s *statusLists) row(cells ...string) {
	list := make([]output.Cell, len(cells))
	for i, c := range cells {
		list[i] = output.Text(c)
		if s.header[i] == "STATE" {
			list[i] = output.State(c)
		}
	}
	s.table.Cells(list...)
}

func (s *statusLists) end() { _ = s.table.Flush() } // standard output keeps its first error

func (s *statusLists) held(rows []heldRow, goals map[handoff.ID]string) {
	if len(rows) == 0 {
		return
	}
	s.begin(heading(len(rows), "held here", ""), "HANDOFF", "FROM", "TASK", "SINCE", "LEASE", "FOR", "GOAL")
	var told []string
	for _, r := range rows {
		s.row(s.ends.Of(r.ID), nameOrNone(r.From), untrusted.Task(r.Task), s.ago(r.At), s.lease(&r), untrusted.Principal(r.Principal), goals[r.ID])
		if r.EndedBy != "" || !r.Shown || r.revoked() {
			told = append(told, r.line())
		}
	}
	s.end()
	for _, line := range told {
		fmt.Fprintf(s.Stdout, "  %s\n", line)
	}
}

func (s *statusLists) elsewhere(rows []elsewhereRow) {
	if len(rows) == 0 {
		return
	}
	s.begin(heading(len(rows), "held in other worktrees", ""), "HANDOFF", "STATE", "LEASE", "WORKTREE")
	for _, r := range rows {
		dir := r.where()
		if r.Worktree == "" {
			dir = "removed: githandoff resume " + r.ID.Short()
		}
		s.row(s.ends.Of(r.ID), r.State, s.left(r.Lease), dir)
	}
	s.end()
}

// lease says how long a claim still holds.
func (s *statusLists) lease(r *heldRow) string {
	if r.EndedBy != "" || r.State == string(lifecycle.Disputed) {
		return r.State
	}
	return s.left(r.Lease)
}

func (s *statusLists) left(at string) string { return s.when(at, left) }

func (s *statusLists) ago(at string) string { return s.when(at, output.Ago) }

// when says how far away a time of a row is; "" if the row has none.
func (s *statusLists) when(at string, say func(now, t time.Time) string) string {
	t, err := time.Parse(time.RFC3339, at)
	if err != nil {
		return ""
	}
	return say(s.now, t)
}

// left says how long it is until a time.
func left(now, t time.Time) string {
	if now.After(t) {
		return output.Span(now.Sub(t)) + " over"
	}
	return output.Span(t.Sub(now)) + " left"
}

func (s *statusLists) open(c section, rows []statusRow) {
	s.handoffs(heading(c.count, c.title, c.next), "FROM", func(r *statusRow) string { return nameOrNone(r.From) }, rows, c.count)
}

func (s *statusLists) sent(rows []statusRow, count int) {
	s.handoffs(heading(count, "sent", ""), "STATE", func(r *statusRow) string { return r.State }, rows, count)
}

// handoffs prints the first of some handoffs, and how many more there are. second is their second column.
func (s *statusLists) handoffs(title, column string, second func(r *statusRow) string, rows []statusRow, count int) {
	if count == 0 {
		return
	}
	s.begin(title, "HANDOFF", column, "TO", "TASK", "SINCE", "HOLDER", "DEADLINE")
	for _, r := range rows[:min(len(rows), mostListed)] {
		holder, deadline := "", r.Expires
		if r.Lease != "" {
			holder, deadline = untrusted.Name(r.Actor), r.Lease
		}
		s.row(s.ends.Of(r.ID), second(&r), r.place(), untrusted.Task(r.Task), s.ago(r.At), holder, s.left(deadline))
	}
	s.end()
	if more := count - mostListed; more > 0 {
		fmt.Fprintf(s.Stdout, "  and %s more: githandoff inbox --all\n", fault.Count(more, "handoff"))
	}
}

func (s *statusLists) hubs(rows []hubRow) {
	if len(rows) == 0 {
		return
	}
	s.begin(fault.Count(len(rows), "hub")+", as this clone read them last", "ALIAS", "READ", "REPOSITORY")
	for _, h := range rows {
		read := "never"
		if h.AsOf != "" {
			read = s.ago(h.AsOf)
		}
		s.row(h.Alias, read, h.Repo)
	}
	s.end()
}
