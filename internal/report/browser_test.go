package report_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
	"githandoff/internal/report"
)

// browser is Chromium with one tab, and records the errors of its page.
type browser struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex
	requests []string // other than that for the page itself
	errors   []string // exceptions, and requests that the policy blocked
}

// open starts Chromium and opens a page in it.
func open(t *testing.T, in *report.Input) *browser {
	t.Helper()
	gittest.Need(t, "chromium")
	file := filepath.Join(t.TempDir(), "page.html")
	require.NoError(t, os.WriteFile(file, []byte(render(t, in)), 0o644))
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath("chromium"), chromedp.NoSandbox, chromedp.WindowSize(1280, 900))
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewContext(ctx)
	t.Cleanup(stop)
	b := &browser{t: t, ctx: ctx}
	require.NoError(t, chromedp.Listen(ctx, b.hear))
	_, err := chromedp.Call(ctx, network.Enable, network.EnableParams{})
	require.NoError(t, err)
	b.do(chromedp.Navigate("file://"+file), chromedp.WaitReady("#rows"))
	return b
}

func (b *browser) hear(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		if e.Type != network.ResourceTypeDocument || !strings.HasPrefix(e.Request.URL, "file://") {
			b.requests = append(b.requests, e.Request.URL)
		}
	case *runtime.EventExceptionThrown:
		b.errors = append(b.errors, e.ExceptionDetails.Text)
	case *log.EventEntryAdded:
		b.errors = append(b.errors, e.Entry.Text)
	}
}

func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	require.NoError(b.t, chromedp.Do(b.ctx, steps...))
}

// eval returns the value of an expression in the page. It waits for a promise.
func eval[T any](b *browser, expression string) T {
	b.t.Helper()
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	require.NoError(b.t, err)
	return value
}

func run(script string) chromedp.Action[chromedp.Void] {
	return chromedp.Evaluate[chromedp.Void](script)
}

// quiet requires that the page made no requests and that nothing in it failed.
func (b *browser) quiet() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	assert.Empty(b.t, b.requests, "the page asks for nothing")
	assert.Empty(b.t, b.errors)
}

func (b *browser) scheme(name string) {
	features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features})
	require.NoError(b.t, err)
}

// shot saves a screenshot in $GITHANDOFF_SHOTS.
func (b *browser) shot(name string) {
	dir := os.Getenv("GITHANDOFF_SHOTS")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	require.NoError(b.t, err)
	require.NoError(b.t, os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644))
}

// axe returns the source of axe-core, which "make axe" installs.
func axe(t *testing.T) string {
	t.Helper()
	file := filepath.Join(os.Getenv("GITHANDOFF_AXE"), "node_modules", "axe-core", "axe.min.js")
	source, err := os.ReadFile(file)
	if err != nil {
		gittest.Missing(t, "axe-core is not installed: make axe installs it below $GITHANDOFF_AXE")
	}
	return string(source)
}

type violation struct {
	ID, Help string
	Nodes    []struct{ HTML string }
}

// The page is accessible without sight or a mouse, in the light and the dark theme.
func TestBrowserAccessible(t *testing.T) {
	source := axe(t)
	b := open(t, week())
	for _, scheme := range []string{"light", "dark"} {
		b.scheme(scheme)
		b.shot("week-" + scheme)
		b.do(run(source))
		found := eval[[]byte](b, `axe.run({resultTypes: ["violations"]}).then((r) => r.violations)`)
		var list []violation
		require.NoError(t, json.Unmarshal(found, &list))
		for _, v := range list {
			assert.Fail(t, scheme+": "+v.ID, "%s: %v", v.Help, v.Nodes)
		}
	}
	b.quiet()
}

// A log that tries to inject script is shown only as text.
func TestBrowserInjection(t *testing.T) {
	b := open(t, attack())
	assert.Equal(t, "undefined", eval[string](b, `typeof window.pwned`))
	assert.Equal(t, 2, eval[int](b, `document.scripts.length`))
	assert.Equal(t, 0, eval[int](b, `document.querySelectorAll("img, iframe, base, textarea, meta[http-equiv=refresh]").length`))
	assert.Equal(t, hostile()[0], eval[string](b, `document.querySelector("h1 .id").textContent`))
	b.do(chromedp.SendKeys("#find", "</script>"))
	assert.Equal(t, hostile()[1], eval[string](b, `[...document.querySelectorAll("#rows tr")].map((r) => r.cells[2].textContent).find((t) => t.startsWith("</script>"))`))
	b.shot("attack")
	b.quiet()
}

// The policy also blocks requests and scripts that the page's own script adds.
func TestBrowserPolicy(t *testing.T) {
	b := open(t, week())
	b.do(run(`const s = document.createElement("script"); s.textContent = "window.pwned = 1"; document.body.append(s); const i = new Image(); i.src = "https://example.com/x.png"; 0`))
	assert.Equal(t, "undefined", eval[string](b, `typeof window.pwned`))
	assert.Equal(t, "stopped", eval[string](b, `fetch("https://example.com/").then(() => "asked", () => "stopped")`))
	b.mu.Lock()
	defer b.mu.Unlock()
	assert.GreaterOrEqual(t, len(b.errors), 3, "%q", b.errors)
}

// The table can be sorted with the keyboard, and filtered.
func TestBrowserTable(t *testing.T) {
	b := open(t, week())
	first := func() string { return eval[string](b, `document.querySelector("#rows tr").cells[1].textContent`) }
	b.do(chromedp.Focus("#find"), chromedp.SendKeys("#find", "lin-423 coder"))
	assert.Equal(t, 4, eval[int](b, `document.querySelectorAll("#rows tr").length`))
	assert.Contains(t, eval[string](b, `document.getElementById("count").textContent`), "1 to 4 of 4 (8 in all)")
	// Tab moves the focus from the field over the choice of a state and the scrolled region to the second
	// column.
	for range 6 {
		b.do(chromedp.KeyEvent(kb.Tab))
		if eval[string](b, `document.activeElement.textContent`) == "State" {
			break
		}
	}
	require.Equal(t, "State", eval[string](b, `document.activeElement.textContent`))
	b.do(chromedp.KeyEvent(kb.Enter))
	assert.Equal(t, "ascending", eval[string](b, `document.activeElement.parentElement.getAttribute("aria-sort")`))
	assert.Equal(t, "acknowledged", first())
	b.do(chromedp.KeyEvent(kb.Enter))
	assert.Equal(t, "overdue", first())
	b.do(chromedp.SetValue("#state", "failed"), run(`document.getElementById("state").dispatchEvent(new Event("change"))`))
	assert.Equal(t, 1, eval[int](b, `document.querySelectorAll("#rows tr").length`))
	// A click on a box of a chain shows its handoff.
	b.do(chromedp.Focus(`.chain a[data-id$="1"]`), chromedp.KeyEvent(kb.Enter))
	assert.Equal(t, id(1), eval[string](b, `document.getElementById("find").value`))
	b.quiet()
}

func TestBrowserPrints(t *testing.T) {
	b := open(t, many(300))
	pdf, err := chromedp.Run(b.ctx, chromedp.PrintToPDF(chromedp.PDFPaper(chromedp.PaperA4)))
	require.NoError(t, err)
	assert.Equal(t, "%PDF", string(pdf[:4]))
	if dir := os.Getenv("GITHANDOFF_SHOTS"); dir != "" {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "page.pdf"), pdf, 0o644))
	}
	b.do(run(`dispatchEvent(new Event("beforeprint"))`))
	assert.Equal(t, 300, eval[int](b, `document.querySelectorAll("#rows tr").length`), "all rows are printed")
	b.do(run(`dispatchEvent(new Event("afterprint"))`))
	assert.Equal(t, 100, eval[int](b, `document.querySelectorAll("#rows tr").length`))
	b.quiet()
}

// For a log of 10,000 handoffs only the first rows are drawn at first. The time until then is logged and not
// judged, since it depends on the load of the machine.
func TestBrowserPaintsMany(t *testing.T) {
	b := open(t, many(10_000))
	b.shot("many")
	took := eval[float64](b, `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => {
		const nav = performance.getEntriesByType("navigation")[0], paint = performance.getEntriesByName("first-contentful-paint")[0];
		done(Math.max(nav.loadEventEnd, paint ? paint.startTime : 0));
	})))`)
	assert.Positive(t, took)
	t.Logf("painted after %.0f ms", took)
	assert.Equal(t, 100, eval[int](b, `document.querySelectorAll("#rows tr").length`))
	b.quiet()
}
