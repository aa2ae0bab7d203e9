package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
)

// lane has the claims of one agent over time.
type lane struct {
	Agent  string
	Text   string // description for readers who do not see the bars
	Height int    // height in pixels
	Bars   []bar
}

// bar is a time during which an agent held handoffs. X and Width are percentages.
type bar struct {
	X, Width string
	Y        int
	Class    State
	Title    string

	from, to float64 // start and end, as parts of the whole from 0 to 1
	n        int     // number of handoffs in the bar
}

const (
	maxLanes = 40
	maxRows  = 6 // rows of bars in one lane
	rowStep  = 12

	grain = 1.0 / 1200 // bars of one state closer than this are merged
)

// held is one span with its handoff.
type held struct {
	Span
	row *Row
}

// lanesOf draws what each agent held between two moments. More agents than maxLanes
// are counted.
func lanesOf(rows []Row, from, now time.Time) (lanes []lane, left int) {
	byAgent := map[string][]held{}
	for i := range rows {
		for _, s := range rows[i].Held {
			if s.To.IsZero() {
				s.To = now
			}
			if s.To.Before(from) {
				continue
			}
			byAgent[s.By] = append(byAgent[s.By], held{s, &rows[i]})
		}
	}
	agents := slices.SortedFunc(maps.Keys(byAgent), func(a, b string) int {
		return cmp.Or(len(byAgent[b])-len(byAgent[a]), cmp.Compare(a, b))
	})
	agents, left = first(agents, maxLanes)
	slices.Sort(agents)
	for _, a := range agents {
		lanes = append(lanes, laneOf(a, byAgent[a], from, now))
	}
	return lanes, left
}

func laneOf(agent string, spans []held, from, now time.Time) lane {
	slices.SortFunc(spans, func(a, b held) int { return cmp.Or(a.From.Compare(b.From), cmp.Compare(a.row.ID, b.row.ID)) })
	whole := max(now.Sub(from), time.Second)
	part := func(t time.Time) float64 { return min(1, max(0, float64(t.Sub(from))/float64(whole))) }
	var busy time.Duration
	var rows [maxRows][]bar
	for _, s := range spans {
		busy += max(0, s.To.Sub(s.From))
		b := bar{from: part(s.From), to: part(s.To), n: 1, Class: classOf(s), Title: titleOf(s)}
		place(&rows, b)
	}
	l := lane{Agent: agent, Text: fmt.Sprintf("%s held %d handoffs for %s in all", agent, len(spans), spell(busy))}
	for y, row := range rows {
		for _, b := range row {
			b.Y = 2 + y*rowStep
			b.X, b.Width = percent(b.from), percent(max(b.to-b.from, grain))
			if b.n > 1 {
				b.Title = fmt.Sprintf("%d handoffs, %s", b.n, b.Class)
			}
			l.Bars = append(l.Bars, b)
			l.Height = max(l.Height, b.Y+rowStep)
		}
	}
	return l
}

// place puts a bar into the first free row, or adds it to its neighbour if nobody could tell
// the two apart. So a lane has a bounded number of bars.
func place(rows *[maxRows][]bar, b bar) {
	for y := range rows {
		if len(rows[y]) == 0 {
			rows[y] = append(rows[y], b)
			return
		}
		last := &rows[y][len(rows[y])-1]
		if b.from >= last.to+grain || y == maxRows-1 && b.from-last.from >= grain && b.Class != last.Class {
			rows[y] = append(rows[y], b)
			return
		}
		if near := b.to-last.from < 2*grain; near && b.Class == last.Class || y == maxRows-1 {
			last.to, last.n = max(last.to, b.to), last.n+b.n
			return
		}
	}
}

// classOf returns the state at the end of a span: rerouted for all but the last one of a handoff.
func classOf(s held) State {
	last := s.row.Held[len(s.row.Held)-1]
	if last.From != s.From || last.By != s.By {
		return Rerouted // the agent gave it back, or another one took it over
	}
	return s.row.State
}

func titleOf(s held) string {
	return fmt.Sprintf("%s %s from %s: %s, %s", s.row.Name(), s.row.Task, s.row.From, classOf(s), spell(s.To.Sub(s.From)))
}

func percent(part float64) string { return strconv.FormatFloat(part*100, 'f', 3, 64) + "%" }

// tick is a mark of the time axis.
type tick struct{ X, Anchor, Label string }

func ticks(from, now time.Time) []tick {
	const n = 5
	layout := "Jan 2"
	if now.Sub(from) < 4*24*time.Hour {
		layout = "Jan 2 15:04"
	}
	list := make([]tick, 0, n)
	for i := range n {
		at := from.Add(now.Sub(from) * time.Duration(i) / (n - 1))
		t := tick{X: percent(float64(i) / (n - 1)), Anchor: "middle", Label: at.UTC().Format(layout)}
		switch i {
		case 0:
			t.Anchor = "start"
		case n - 1:
			t.Anchor = "end"
		}
		list = append(list, t)
	}
	return list
}
