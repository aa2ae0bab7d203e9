package notes

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"githandoff/internal/handoff"
)

// Shown returns the form of a note for people, one line per handoff: its last event, its short id,
// its sender and its receiver. The handoffs come in the order of their ids, and so of their times.
//
//	acknowledged …84kbrz41 investigator → fixer
func Shown(lines []string) []string {
	last := make(map[handoff.ID]ParsedLine)
	for _, l := range lines {
		e, err := ParseLine(l)
		if err != nil {
			continue
		}
		if have, ok := last[e.ID]; !ok || later(e, have) {
			last[e.ID] = e
		}
	}
	ids := slices.Sorted(maps.Keys(last))
	ends := handoff.EndsOf(ids)
	var shown []string
	for _, id := range ids {
		e := last[id]
		to, _, _ := strings.Cut(e.To, "@")
		shown = append(shown, strings.Join([]string{e.Event, ends.Of(id), e.From, arrow, cmp.Or(to, handoff.Nobody)}, " "))
	}
	return shown
}

// later orders the events of a handoff by time, and those of one second in the order of a handoff's
// life.
func later(e, than ParsedLine) bool {
	if !e.At.Equal(than.At) {
		return e.At.After(than.At)
	}
	return slices.Index(events(), e.Event) >= slices.Index(events(), than.Event)
}
