package logpage

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"githandoff/internal/handoff"
	"githandoff/internal/record"
	"githandoff/internal/report"
)

// Log makes handoffs of steps.
type Log struct {
	rows   map[key]*row
	wrongs []report.Wrong
	seen   map[report.Wrong]bool
}

type key struct {
	repo string
	id   handoff.ID
}

type row struct {
	report.Row
	last time.Time // time of the newest step
}

// New makes an empty log.
func New() *Log { return &Log{rows: map[key]*row{}, seen: map[report.Wrong]bool{}} }

// Wrong takes a problem.
func (l *Log) Wrong(w report.Wrong) {
	if !l.seen[w] {
		l.seen[w] = true
		l.wrongs = append(l.wrongs, w)
	}
}

// Step takes a valid step at the home with a short name. Steps of one handoff come in their order.
func (l *Log) Step(repo string, r *record.Record) {
	row := l.at(repo, r)
	if row == nil {
		return // nothing counts before the offer
	}
	if r.At.After(row.last) {
		row.last = r.At
	}
	switch r.Event {
	case record.Routed:
		row.To = r.To
	case record.Claimed:
		letGo(row, r.At)
		if row.Claimed.IsZero() {
			row.Claimed = r.At
		}
		row.By, row.State, row.Lease = r.Actor, report.Held, r.Lease
		row.Held = append(row.Held, report.Span{By: r.Actor, From: r.At})
	case record.Progressed:
		if !r.Lease.IsZero() {
			row.Lease = r.Lease
		}
	case record.Released:
		letGo(row, r.At)
		row.By, row.State, row.Lease = "", report.Waiting, time.Time{}
	}
	if r.Event.Receipt() {
		letGo(row, r.At)
		row.By, row.Ended, row.State = r.Actor, r.At, endOf(r.Event)
		row.Said = endReason(r)
	}
}

// at returns the row of the handoff of a step, and makes it for an offer; nil if there is none.
func (l *Log) at(repo string, r *record.Record) *row {
	k := key{repo, r.ID}
	if l.rows[k] == nil && r.Event == record.Offered {
		l.rows[k] = &row{Row: report.Row{
			ID: string(r.ID), Repo: repo, Task: r.Task, From: r.From, To: r.To, Parent: string(r.Parent),
			Principal: r.Principal, State: report.Waiting, Offered: r.At, Expires: r.Expires,
		}}
	}
	return l.rows[k]
}

// letGo ends the time for which an agent held the handoff.
func letGo(row *row, at time.Time) {
	if n := len(row.Held); n > 0 && row.Held[n-1].To.IsZero() {
		row.Held[n-1].To = at
	}
}

func endOf(e record.Event) report.State {
	switch e {
	case record.Acknowledged:
		return report.Acknowledged
	case record.Rerouted:
		return report.Rerouted
	case record.Revoked:
		return report.Revoked
	case record.Expired:
		return report.Collected
	}
	return report.Failed
}

// endReason returns the text with which an agent or person failed or revoked a handoff.
func endReason(r *record.Record) string {
	var data map[string]string
	if r.Event == record.Acknowledged || json.Unmarshal([]byte(r.Data), &data) != nil {
		return ""
	}
	return cmp.Or(data["error"], data["reason"], data["summary"])
}

// list returns the handoffs which are open, or have an entry since then.
func (l *Log) list(since, now time.Time) []report.Row {
	var list []report.Row
	for _, row := range l.rows {
		if row.Ended.IsZero() {
			row.State = openState(&row.Row, now)
		} else if row.last.Before(since) {
			continue
		}
		list = append(list, row.Row)
	}
	slices.SortFunc(list, func(a, b report.Row) int {
		return cmp.Or(a.Offered.Compare(b.Offered), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Repo, b.Repo))
	})
	return list
}

// shorten gives each id on the page its unique end.
func shorten(in *report.Input) {
	var ids []handoff.ID
	for i := range in.Rows {
		ids = append(ids, handoff.ID(in.Rows[i].ID))
	}
	for i := range in.Wrongs {
		ids = append(ids, handoff.ID(in.Wrongs[i].ID))
	}
	ends := handoff.EndsOf(ids)
	for i := range in.Rows {
		in.Rows[i].Short = ends.Of(handoff.ID(in.Rows[i].ID))
	}
	for i := range in.Wrongs {
		if id := in.Wrongs[i].ID; id != "" {
			in.Wrongs[i].Short = ends.Of(handoff.ID(id))
		}
	}
}

// openState returns the state of a handoff without a receipt.
func openState(row *report.Row, now time.Time) report.State {
	switch {
	case row.State == report.Held && now.After(row.Lease):
		return report.Overdue
	case row.State == report.Held:
		return report.Held
	case now.After(row.Expires):
		return report.Expired
	case row.To == handoff.Nobody:
		return report.Undecided
	}
	return report.Waiting
}
