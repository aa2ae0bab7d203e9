package output

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Patience is one line at the foot of a terminal with the work in progress. It appears when
// something takes longer than a second, rewrites itself, and is gone before anything else is
// printed. Without a terminal it is a remark, made once for each place that lets the command
// wait for ten seconds.
type Patience struct {
	out      io.Writer
	terminal bool // out is a terminal, which shows the line
	now      func() time.Time
	delay    time.Duration // wait before the line
	long     time.Duration // wait before a remark

	mu    sync.Mutex
	told  []string // places that had their remark
	text  string
	count int
	since time.Time // start of the awaited work
	drawn time.Time // when the line was written last
	timer *time.Timer
	shown bool
}

const (
	patienceDelay = time.Second
	patienceLong  = 10 * time.Second
	patienceStep  = 200 * time.Millisecond
)

// NewPatience makes the line of a command. terminal tells whether out can show it.
func NewPatience(out io.Writer, terminal bool, now func() time.Time) *Patience {
	return &Patience{out: out, terminal: terminal, now: now, delay: patienceDelay, long: patienceLong}
}

// At shows what the command does at a place outside of this machine, until the returned function
// is called.
func (p *Patience) At(verb, place string) (done func()) {
	if p == nil || p.terminal {
		return p.For(verb + " " + place)
	}
	timer := time.AfterFunc(p.long, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if !slices.Contains(p.told, place) {
			p.told = append(p.told, place)
			fmt.Fprintf(p.out, "githandoff: waiting for %s …\n", place)
		}
	})
	return func() { timer.Stop() }
}

// For shows what the command waits for, until the returned function is called.
func (p *Patience) For(text string) (done func()) {
	if p == nil || !p.terminal {
		return func() {}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	before, count, since := p.text, p.count, p.since
	p.text, p.count, p.since = text, 0, p.now()
	if p.timer == nil {
		p.timer = time.AfterFunc(p.delay, p.tick)
	}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.text, p.count, p.since = before, count, since
		if before == "" {
			p.timer.Stop()
			p.timer = nil
			p.hide()
		}
	}
}

// Count reports that one more item of the awaited work is done. what names the work, if
// nothing else is awaited.
func (p *Patience) Count(what string) {
	if p == nil || !p.terminal {
		return
	}
	p.mu.Lock()
	idle := p.text == ""
	p.mu.Unlock()
	if idle {
		p.For(what)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count++
	if now := p.now(); now.Sub(p.since) >= p.delay && now.Sub(p.drawn) >= patienceStep {
		p.draw(now)
	}
}

// tick draws the line, and comes again.
func (p *Patience) tick() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer == nil || p.text == "" {
		return
	}
	if now := p.now(); now.Sub(p.since) >= p.delay {
		p.draw(now)
	}
	p.timer.Reset(patienceStep)
}

// draw writes the line over the one of before.
func (p *Patience) draw(now time.Time) {
	count := ""
	if p.count > 0 {
		count = " " + strconv.Itoa(p.count)
	}
	fmt.Fprintf(p.out, "\r\x1b[K%s%s, %s", p.text, count, Span(now.Sub(p.since)))
	p.drawn, p.shown = now, true
}

// Hide takes the line away before something else is printed. It comes back.
func (p *Patience) Hide() {
	if p == nil || !p.terminal {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hide()
}

// Stop takes the line away for good.
func (p *Patience) Stop() {
	if p == nil || !p.terminal {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text = ""
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
	p.hide()
}

func (p *Patience) hide() {
	if p.shown {
		fmt.Fprint(p.out, "\r\x1b[K")
		p.shown = false
	}
}

// Before returns a writer to w which hides the line first. It is a terminal if w is.
func (p *Patience) Before(w io.Writer) io.Writer { return &beforeLine{w, p} }

type beforeLine struct {
	io.Writer
	line *Patience
}

func (b *beforeLine) Write(data []byte) (int, error) {
	b.line.Hide()
	return b.Writer.Write(data)
}
