package report_test

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/report"
)

func now() time.Time { return time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC) }

func id(n int) string { return fmt.Sprintf("ho_01m80ywpy0tsg5tz%010d", n) }

// week returns a small log with a handoff of each kind.
func week() *report.Input {
	at := func(h float64) time.Time { return now().Add(-time.Duration(h * float64(time.Hour))) }
	held := func(by string, from, to time.Time) report.Span { return report.Span{By: by, From: from, To: to} }
	return &report.Input{
		Repo: "git+https://example.com/acme/client", Since: now().Add(-7 * 24 * time.Hour), Now: now(),
		Rows: []report.Row{
			{
				ID: id(1), Repo: "origin", Task: "LIN-423", From: "architect", To: "coder", By: "coder", State: report.Acknowledged,
				Offered: at(150), Claimed: at(149), Ended: at(120), Held: []report.Span{held("coder", at(149), at(120))}, Principal: "user:alice@example.com (token)",
			},
			{
				ID: id(2), Repo: "origin", Task: "LIN-423", From: "coder", To: "tester", By: "tester", State: report.Failed, Parent: id(1),
				Offered: at(119), Claimed: at(100), Ended: at(98), Held: []report.Span{held("tester", at(100), at(98))}, Said: "two tests fail on arm64",
			},
			{
				ID: id(3), Repo: "origin", Task: "LIN-423", From: "tester", To: "coder", By: "coder", State: report.Overdue, Parent: id(2), Lease: at(30),
				Offered: at(98), Claimed: at(60), Held: []report.Span{held("coder", at(60), time.Time{})},
			},
			{
				ID: id(4), Repo: "origin", Task: "LIN-423", From: "coder", To: "docs", By: "docs", State: report.Held, Parent: id(1), Lease: at(-1),
				Offered: at(110), Claimed: at(3), Held: []report.Span{held("coder", at(50), at(40)), held("docs", at(3), time.Time{})},
			},
			{ID: id(5), Repo: "here", From: "architect", To: "_", State: report.Undecided, Offered: at(20), Expires: at(-100)},
			{ID: id(6), Repo: "here", Task: "org/repo#7", From: "architect", To: "coder", State: report.Waiting, Offered: at(30), Expires: at(-100)},
			{ID: id(7), Repo: "here", From: "architect", To: "coder", State: report.Expired, Offered: at(160), Expires: at(5)},
			{ID: id(8), Repo: "here", From: "architect", To: "coder", State: report.Waiting, Offered: at(0.5), Expires: at(-100)},
		},
		Wrongs: []report.Wrong{{Reason: "untrusted_key", ID: id(9), Repo: "origin", Text: "no trusted key signed entry 12ab"}},
	}
}

func render(t testing.TB, in *report.Input) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, report.Write(&b, in))
	return b.String()
}

func TestPageSaysWhatHappened(t *testing.T) {
	page := render(t, week())
	for _, want := range []string{
		"waits for a person", "the lease ran out", "nobody took it", "expired without a receipt",
		"untrusted_key", "no trusted key signed entry 12ab", "two tests fail on arm64",
		"coder held 3 handoffs", ">LIN-423</h3>",
	} {
		assert.Contains(t, page, want)
	}
	stuck := regexp.MustCompile(`(?s)<section id="stuck".*?</section>`).FindString(page)
	assert.Equal(t, 4, strings.Count(stuck, "data-id="), stuck)
	assert.NotContains(t, stuck, id(8), "what was offered a moment ago is not stuck")
}

// The medians are those of spans with both ends: 1 h, 19 h, 38 h and 107 h to a claim, 29 h and 2 h to a
// receipt.
func TestPageTotals(t *testing.T) {
	page := render(t, week())
	totals := regexp.MustCompile(`(?s)<section id="totals".*?</section>`).FindString(page)
	assert.Regexp(t, `offer to claim</dt><dd>1d 4h`, totals)
	assert.Regexp(t, `claim to receipt</dt><dd>15h 30m`, totals)
	assert.Regexp(t, `Acknowledged a week</dt><dd>1.0`, totals)
	assert.Regexp(t, `<th scope="row">coder</th><td class="n">5</td><td class="n">4</td><td class="n">1</td>`, totals)
}

// The page cannot make requests: a policy forbids them, and the page contains no address.
func TestPageIsSelfContained(t *testing.T) {
	page := render(t, week())
	assert.Regexp(t, `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-[A-Za-z0-9+/]{43}='; script-src 'sha256-[A-Za-z0-9+/]{43}='; base-uri 'none'; form-action 'none'">`, page)
	assert.NotRegexp(t, `(?i)\s(src|srcset|action|poster)\s*=|@import|url\(|style="|\son[a-z]+\s*=`, page)
	for _, m := range regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		assert.True(t, strings.HasPrefix(m[1], "#"), m[1])
	}
}

// attack returns a log in which every text tries to become part of the page.
func attack() *report.Input {
	in := week()
	for i, text := range hostile() {
		r := in.Rows[i%len(in.Rows)]
		r.ID, r.Parent = id(100+i), id(99+i)
		r.Task, r.From, r.To, r.By, r.Repo, r.Said, r.Principal = text, text, text, text, text, text, text
		r.State, r.Held = report.Held, []report.Span{{By: text, From: now().Add(-time.Hour)}}
		r.Claimed = now().Add(-time.Hour)
		in.Rows = append(in.Rows, r)
		in.Wrongs = append(in.Wrongs, report.Wrong{Reason: text, ID: text, Repo: text, Text: text})
		in.Unread = append(in.Unread, text)
	}
	in.Repo = hostile()[0]
	return in
}

func hostile() []string {
	return []string{
		`<script>window.pwned = 1</script>`,
		`</script><script>window.pwned = 1</script>`,
		`"><img src=x onerror="window.pwned = 1">`,
		`' onfocus=window.pwned=1 autofocus x='`,
		`</title></style><svg onload=window.pwned=1>`,
		`<!--<script>`, `]]><script>window.pwned=1</script>`, `javascript:window.pwned=1`,
		`</textarea><iframe srcdoc="<script>parent.pwned=1</script>">`, "\u2028window.pwned=1//", "{{.CSS}}", `\u003cscript\u003e`,
		`<style>*{display:none}</style>`, `<base href="https://evil.example/">`, `<meta http-equiv=refresh content="0;url=https://evil.example/">`,
	}
}

func TestPageEscapes(t *testing.T) {
	page := render(t, attack())
	assert.Equal(t, 2, strings.Count(page, "<script"), "the block of data, and our own script")
	assert.Equal(t, 1, strings.Count(page, "<style"))
	for _, tag := range []string{"<img", "<iframe", "<base", "<svg onload", "<meta http-equiv=refresh"} {
		assert.False(t, strings.Contains(page, tag), tag)
	}
}

// Handoffs that name each other as parents do not keep the page from being made.
func TestPageOfACircle(t *testing.T) {
	in := week()
	in.Rows[0].Parent, in.Rows[1].Parent = id(2), id(1)
	in.Rows[4].Parent = id(5)
	render(t, in)
}

func TestPageOfNothing(t *testing.T) {
	page := render(t, &report.Input{Repo: "local:0", Now: now()})
	assert.Contains(t, page, "Nothing is stuck.")
	assert.Contains(t, page, "No agent held a handoff")
}

// many returns a long log of forty agents and two repositories.
func many(n int) *report.Input {
	in := &report.Input{Repo: "git+https://example.com/acme/client", Now: now()}
	for i := range n {
		at := now().Add(-time.Duration(n-i) * 5 * time.Minute)
		r := report.Row{
			ID: id(i), Repo: []string{"here", "origin"}[i%2], Task: fmt.Sprintf("LIN-%d", i), From: fmt.Sprintf("agent%d", i%7),
			To: fmt.Sprintf("worker%d", i%40), By: fmt.Sprintf("worker%d", i%40), State: report.Acknowledged,
			Offered: at, Claimed: at.Add(time.Duration(i%50) * time.Minute), Ended: at.Add(time.Duration(60+i%300) * time.Minute),
		}
		if i%5 != 0 {
			r.Parent = id(i - 1)
		}
		if i%9 == 0 {
			r.State, r.Said = report.Failed, "no luck this time"
		}
		r.Held = []report.Span{{By: r.By, From: r.Claimed, To: r.Ended}}
		in.Rows = append(in.Rows, r)
	}
	return in
}

// However long the log is, the page draws a limited number of shapes.
func TestPageIsBounded(t *testing.T) {
	page := render(t, many(10_000))
	assert.Less(t, strings.Count(page, "<rect"), 40_000)
	assert.Contains(t, page, "older chains are not drawn")
	assert.Less(t, len(page), 12<<20)
}
