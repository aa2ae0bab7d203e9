package logpage

import (
	"bytes"

	"githandoff/internal/report"
	"githandoff/internal/untrusted"
)

// Page returns the page of a log. It fills in the rows and the problems of in.
func (l *Log) Page(in *report.Input) ([]byte, error) {
	in.Rows, in.Wrongs = l.list(in.Since, in.Now), l.wrongs
	for i := range in.Wrongs {
		in.Wrongs[i].Text = untrusted.Line(in.Wrongs[i].Text)
	}
	for i := range in.Rows {
		escape(&in.Rows[i])
	}
	shorten(in)
	var page bytes.Buffer
	err := report.Write(&page, in)
	return page.Bytes(), err
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
