package fault

import (
	"fmt"
	"strings"
)

// Count returns a number with its noun, "1 key" or "2 keys".
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

// Nearest returns the known word at most two edits from word; "" if there is none, or if word
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

// distance counts the edits between two words: a letter more, a letter less, another letter, or
// two letters in the wrong order (optimal string alignment).
func distance(a, b string) int {
	above, row := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next := make([]int, len(b)+1)
		next[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next[j+1] = min(row[j]+cost, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], above[j-1]+1)
			}
		}
		above, row = row, next
	}
	return row[len(b)]
}
