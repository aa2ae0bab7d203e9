package report

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

//go:embed page.js
var pageJS string

const (
	maxStuck  = 200
	maxWrongs = 500
	longWait  = 24 * time.Hour // an offer nobody took by then is stuck
	maxSaid   = 300            // bytes of text shown from a receipt
)

// page is the data of the template.
type page struct {
	Policy template.HTMLAttr
	CSS    template.CSS
	JS     template.JS

	Repo, From, Until string
	Span              string
	Total             Total
	ByAgent, ByRepo   []Total
	Bars              []throughputBar
	BarsText          string
	Lanes             []lane
	LanesLeft         int
	Ticks             []tick
	Chains            []chain
	ChainsLeft        int
	Stuck             []stuck
	StuckLeft         int
	Wrongs            []Wrong
	WrongsLeft        int
	Unread            []string
	States            []State
	Data              []datum
}

// datum is a row as the script of the page reads it. Times are seconds since 1970;
// zero means none.
type datum struct {
	ID, Short, State, Task, From, To, By, Repo, Parent, Principal, Said string
	Offered, Ended                                                      int64
	Claim, Finish                                                       int64 // durations in seconds; -1 for none
	ClaimText, FinishText, OfferedText                                  string
}

// stuck is a handoff waiting for somebody's action.
type stuck struct {
	Row
	Why, For string
}

// Write writes the page.
func Write(w io.Writer, in *Input) error {
	t, err := template.New("page").Funcs(template.FuncMap{"dict": named}).Parse(pageHTML)
	if err != nil {
		return err
	}
	return t.Execute(w, pageOf(in))
}

func pageOf(in *Input) *page {
	from := begin(in)
	over := in.Now.Sub(from)
	p := &page{
		Policy: template.HTMLAttr(`content="` + policy() + `"`), //nolint:gosec // made of constants only
		CSS:    template.CSS(pageCSS),                           //nolint:gosec // embedded file
		JS:     template.JS(pageJS),                             //nolint:gosec // embedded file
		Repo:   in.Repo, From: stamp(from), Until: stamp(in.Now), Span: spell(over),
		Total:   totalOf(in.Rows, over),
		ByAgent: totalsBy(in.Rows, over, worker),
		ByRepo:  totalsBy(in.Rows, over, func(r *Row) string { return r.Repo }),
		Ticks:   ticks(from, in.Now), Unread: in.Unread, States: states(),
	}
	p.Bars, p.BarsText = drawThroughput(throughput(in.Rows, from, in.Now))
	p.Lanes, p.LanesLeft = lanesOf(in.Rows, from, in.Now)
	p.Chains, p.ChainsLeft = chainsOf(in.Rows, in.Now)
	p.Stuck, p.StuckLeft = first(stuckOf(in.Rows, in.Now), maxStuck)
	p.Wrongs, p.WrongsLeft = first(in.Wrongs, maxWrongs)
	for i := range in.Rows {
		p.Data = append(p.Data, datumOf(&in.Rows[i]))
	}
	return p
}

func first[T any](list []T, n int) (some []T, left int) {
	if len(list) <= n {
		return list, 0
	}
	return list[:n], len(list) - n
}

// begin returns the left end of the time axis.
func begin(in *Input) time.Time {
	if !in.Since.IsZero() {
		return in.Since
	}
	from := in.Now.Add(-time.Hour)
	for i := range in.Rows {
		if t := in.Rows[i].Offered; !t.IsZero() && t.Before(from) {
			from = t
		}
	}
	return from
}

// policy forbids the page everything but its own style and script.
func policy() string {
	return "default-src 'none'; style-src '" + hash(pageCSS) + "'; script-src '" + hash(pageJS) +
		"'; base-uri 'none'; form-action 'none'"
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

// clip cuts a text for a narrow place.
func clip(n int, s string) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n-1]) + "…"
}

func datumOf(r *Row) datum {
	d := datum{
		ID: r.ID, Short: r.Name(), State: string(r.State), Task: r.Task, From: r.From, To: r.To, By: r.By,
		Repo: r.Repo, Parent: r.Parent, Principal: r.Principal, Said: strings.ToValidUTF8(r.Said[:min(len(r.Said), maxSaid)], ""),
		Offered: r.Offered.Unix(), OfferedText: r.Offered.UTC().Format("2006-01-02 15:04"), Claim: -1, Finish: -1,
	}
	if !r.Ended.IsZero() {
		d.Ended = r.Ended.Unix()
	}
	if t, ok := r.ToClaim(); ok {
		d.Claim, d.ClaimText = int64(t/time.Second), spell(t)
	}
	if t, ok := r.ToFinish(); ok {
		d.Finish, d.FinishText = int64(t/time.Second), spell(t)
	}
	return d
}

// stuckOf lists the handoffs in need of an action, the oldest first.
func stuckOf(rows []Row, now time.Time) []stuck {
	var list []stuck
	for _, r := range rows {
		s := stuck{Row: r, For: spell(now.Sub(r.Offered))}
		switch {
		case r.State == Overdue:
			s.Why, s.For = "the lease ran out", spell(now.Sub(r.Lease))
		case r.State == Undecided:
			s.Why = "waits for a person"
		case r.State == Expired:
			s.Why, s.For = "expired without a receipt", spell(now.Sub(r.Expires))
		case r.State == Waiting && now.Sub(r.Offered) >= longWait:
			s.Why = "nobody took it"
		default:
			continue
		}
		list = append(list, s)
	}
	slices.SortStableFunc(list, func(a, b stuck) int { return a.Offered.Compare(b.Offered) })
	return list
}

// throughputBar is one bar of a chart of 100 by 100 percent.
type throughputBar struct {
	X, Width                       string
	DoneY, DoneH, FailedY, FailedH string
	Title                          string
}

func drawThroughput(days []day) (bars []throughputBar, text string) {
	most, done, failed := 1, 0, 0
	for _, d := range days {
		most = max(most, d.Done+d.Failed)
		done, failed = done+d.Done, failed+d.Failed
	}
	n := float64(len(days))
	for i, d := range days {
		doneH, failedH := float64(d.Done)/float64(most), float64(d.Failed)/float64(most)
		bars = append(bars, throughputBar{
			X: percent((float64(i) + 0.1) / n), Width: percent(0.8 / n),
			DoneY: percent(1 - doneH), DoneH: percent(doneH),
			FailedY: percent(1 - doneH - failedH), FailedH: percent(failedH),
			Title: d.Label + ": " + count(d.Done, "acknowledged") + ", " + count(d.Failed, "failed, revoked or expired"),
		})
	}
	return bars, count(done, "acknowledged") + " and " + count(failed, "failed, revoked or expired") + "; at most " + count(most, "in one bar")
}

func count(n int, what string) string { return strconv.Itoa(n) + " " + what }

func named(name string, list []Total) map[string][]Total { return map[string][]Total{name: list} }
