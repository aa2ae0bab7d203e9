package handoff

import (
	"maps"
	"slices"
)

// shortEnd is how many last characters of an id people are shown, at least: 40 random
// bits, of which two among a million handoffs of one lane hardly ever agree.
const shortEnd = 8

// Short is an ellipsis and the last eight characters of an id, for a place where no other
// id is known. [Ends] makes sure that an end means one handoff only.
func (id ID) Short() string { return end(id, shortEnd) }

// Ends are the shortest ends of ids that mean one of them each.
type Ends map[ID]string

// EndsOf finds them. Each has eight characters or more.
func EndsOf(ids []ID) Ends {
	ends := Ends{}
	for _, id := range ids {
		ends[id] = ""
	}
	sorted := slices.SortedFunc(maps.Keys(ends), func(a, b ID) int { return slices.Compare(backwards(a), backwards(b)) })
	length := make([]int, len(sorted))
	for i := range sorted { // whoever agrees the longest with an id is its neighbour
		length[i] = max(length[i], shortEnd)
		if i+1 < len(sorted) {
			n := common(sorted[i], sorted[i+1]) + 1
			length[i], length[i+1] = max(length[i], n), n
		}
	}
	for i, id := range sorted {
		ends[id] = end(id, length[i])
	}
	return ends
}

// Of is the end of an id. One that was not among the ids has its usual one.
func (e Ends) Of(id ID) string {
	if known, ok := e[id]; ok {
		return known
	}
	return id.Short()
}

func end(id ID, n int) string {
	if len(id) != IDLen || n >= IDLen-len(idPrefix) {
		return string(id)
	}
	return "…" + string(id[len(id)-n:])
}

func backwards(id ID) []byte {
	b := []byte(id)
	slices.Reverse(b)
	return b
}

// common is how many last characters two ids have in common.
func common(a, b ID) int {
	n := 0
	for n < min(len(a), len(b)) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}
