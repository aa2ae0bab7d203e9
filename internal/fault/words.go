package fault

import (
	"fmt"
	"strings"
)

// Count is a number with its noun, "1 key" or "2 keys".
func Count(n int, one string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(one, "y") && !strings.HasSuffix(one, "ey"):
		one = strings.TrimSuffix(one, "y") + "ies"
	default:
		one += "s"
	}
	return fmt.Sprint(n, " ", one)
}

// Nearest is the known word at most two edits from word; "" if there is none, or if word
// itself is known. A short word allows fewer edits.
func Nearest(word string, known []string) string {
	near, best := "", min(3, (len(word)+1)/3+1)
	for _, k := range known {
		if k == word {
			return ""
		}
		if n := distance(k, word); n < best {
			near, best = k, n
		}
	}
	return near
}

// distance counts the edits between two words (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(diagonal+cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
