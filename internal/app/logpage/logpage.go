package logpage

import (
	"bytes"
	"time"

	"githandoff/internal/report"
	"githandoff/internal/untrusted"
)

// Request is one page.
type Request struct {
	Repo  string    // repo id of the clone that makes the page
	Since time.Time // handoffs that ended before are left out; zero leaves out none
	Now   time.Time

	// Read visits every valid step, those of one handoff in their order, and every problem. It
	// returns the unread hubs, one line each.
	Read  func(step func(Entry), wrong func(report.Wrong)) (unread []string, err error)
	Write func(page []byte) error // writes the whole page, or nothing
}

// Result is the content of the page.
type Result struct {
	Handoffs, Wrong int
	Bytes           int
}

// Make reads the log and writes the page.
func Make(req *Request) (*Result, error) {
	all := newRows()
	var wrongs []report.Wrong
	seen := map[report.Wrong]bool{}
	unread, err := req.Read(all.add, func(w report.Wrong) {
		if !seen[w] {
			seen[w] = true
			wrongs = append(wrongs, w)
		}
	})
	if err != nil {
		return nil, err
	}
	in := &report.Input{
		Repo: req.Repo, Since: req.Since, Now: req.Now, Rows: all.list(req.Since, req.Now),
		Wrongs: wrongs, Unread: unread,
	}
	for i := range wrongs {
		wrongs[i].Text = untrusted.Line(wrongs[i].Text)
	}
	for i := range in.Rows {
		escape(&in.Rows[i])
	}
	shorten(in)
	var page bytes.Buffer
	if err := report.Write(&page, in); err != nil {
		return nil, err
	}
	if err := req.Write(page.Bytes()); err != nil {
		return nil, err
	}
	return &Result{Handoffs: len(in.Rows), Wrong: len(wrongs), Bytes: page.Len()}, nil
}

// escape makes characters in foreign texts visible which HTML would obey silently, for example
// those which change the direction of a line.
func escape(r *report.Row) {
	for _, text := range []*string{&r.Task, &r.From, &r.To, &r.By, &r.Principal, &r.Said} {
		*text = untrusted.Line(*text)
	}
	for i := range r.Held {
		r.Held[i].By = untrusted.Line(r.Held[i].By)
	}
}
