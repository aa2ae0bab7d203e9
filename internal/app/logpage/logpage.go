package logpage

import (
	"bytes"
	"context"
	"time"

	"githandoff/internal/report"
	"githandoff/internal/untrusted"
)

// Log is the log of this repository and of its hubs.
type Log interface {
	// Read visits every valid step, those of one handoff in their order, and every problem.
	Read(ctx context.Context, step func(Entry), wrong func(report.Wrong)) error
	// Unread lists the unread hubs, one line each.
	Unread() []string
}

// Request is one page.
type Request struct {
	Repo  string    // repo id of the looking clone
	Since time.Time // handoffs ended before are left out; zero means none are
	Now   time.Time
	Write func(page []byte) error // the whole page, or nothing
}

// Result is the content of the page.
type Result struct {
	Handoffs, Wrong int
	Bytes           int
}

// Handler makes pages.
type Handler struct{ Log Log }

// Handle reads the log and writes the page.
func (h *Handler) Handle(ctx context.Context, req *Request) (*Result, error) {
	all := newRows()
	var wrongs []report.Wrong
	seen := map[report.Wrong]bool{}
	err := h.Log.Read(ctx, all.add, func(w report.Wrong) {
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
		Wrongs: wrongs, Unread: h.Log.Unread(),
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
