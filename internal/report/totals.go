package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// Total sums up the handoffs of one agent or one repository, or all of them.
type Total struct {
	Name                       string
	All, Open, Done, Failed    int
	ToClaim, ToFinish, PerWeek string
}

// tally collects what a Total is made of.
type tally struct {
	total        Total
	claims, ends []time.Duration
}

func (t *tally) add(r *Row) {
	t.total.All++
	switch r.State {
	case Acknowledged:
		t.total.Done++
	case Failed, Revoked, Collected:
		t.total.Failed++
	}
	if r.State.Open() {
		t.total.Open++
	}
	if d, ok := r.ToClaim(); ok {
		t.claims = append(t.claims, d)
	}
	if d, ok := r.ToFinish(); ok {
		t.ends = append(t.ends, d)
	}
}

// sum returns the total over a time.
func (t *tally) sum(over time.Duration) Total {
	out := t.total
	out.ToClaim, out.ToFinish = median(t.claims), median(t.ends)
	weeks := max(over.Hours()/(7*24), 1.0/7)
	out.PerWeek = strconv.FormatFloat(float64(out.Done)/weeks, 'f', 1, 64)
	return out
}

func totalOf(rows []Row, over time.Duration) Total {
	var t tally
	for i := range rows {
		t.add(&rows[i])
	}
	return t.sum(over)
}

// totalsBy groups the rows by a name. Those with the most handoffs come first.
func totalsBy(rows []Row, over time.Duration, name func(*Row) string) []Total {
	groups := map[string]*tally{}
	for i := range rows {
		n := name(&rows[i])
		if groups[n] == nil {
			groups[n] = &tally{total: Total{Name: n}}
		}
		groups[n].add(&rows[i])
	}
	var list []Total
	for _, g := range groups {
		list = append(list, g.sum(over))
	}
	slices.SortFunc(list, func(a, b Total) int { return cmp.Or(b.All-a.All, cmp.Compare(a.Name, b.Name)) })
	return list
}

// worker returns the agent a row counts for: its holder, or else its target.
func worker(r *Row) string {
	switch {
	case len(r.Held) > 0:
		return r.Held[len(r.Held)-1].By
	case r.To == "_":
		return "a person"
	}
	return r.To
}

// median spells the middle of some times; "–" if there are none.
func median(list []time.Duration) string {
	if len(list) == 0 {
		return "–"
	}
	slices.Sort(list)
	mid := len(list) / 2
	if len(list)%2 == 0 {
		return spell((list[mid-1] + list[mid]) / 2)
	}
	return spell(list[mid])
}

// spell writes a length of time in its two largest units: 2d 3h, 1h 05m, 4m 32s, 7s.
func spell(d time.Duration) string {
	d = d.Round(time.Second)
	const day = 24 * time.Hour
	switch {
	case d >= day:
		return fmt.Sprintf("%dd %dh", d/day, d%day/time.Hour)
	case d >= time.Hour:
		return fmt.Sprintf("%dh %02dm", d/time.Hour, d%time.Hour/time.Minute)
	case d >= time.Minute:
		return fmt.Sprintf("%dm %02ds", d/time.Minute, d%time.Minute/time.Second)
	}
	return fmt.Sprintf("%ds", d/time.Second)
}

// day is one bar of the throughput: what ended in one slice of time.
type day struct {
	Label        string
	Done, Failed int
}

const maxBars = 60

// throughput counts ended handoffs by day, or by longer slices of equal length if there are
// many days.
func throughput(rows []Row, from, now time.Time) []day {
	const oneDay = 24 * time.Hour
	first := from.UTC().Truncate(oneDay)
	days := int(now.Sub(first)/oneDay) + 1
	per := (days + maxBars - 1) / maxBars
	bars := make([]day, (days+per-1)/per)
	for i := range bars {
		bars[i].Label = first.Add(time.Duration(i*per) * oneDay).Format("2006-01-02")
	}
	for i := range rows {
		r := &rows[i]
		if r.Ended.Before(first) || r.State.Open() || r.State == Rerouted {
			continue
		}
		at := min(int(r.Ended.Sub(first)/oneDay)/per, len(bars)-1)
		if r.State == Acknowledged {
			bars[at].Done++
		} else {
			bars[at].Failed++
		}
	}
	return bars
}
