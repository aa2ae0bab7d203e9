package untrusted

import "strings"

// Quote is a sender's text in a list that only a person looks at: its first line, escaped,
// of MaxOutside bytes at most, between quotation marks. Output for an agent never has it:
// there such a text belongs into a fence.
func Quote(s string) string {
	line, _, more := strings.Cut(strings.TrimSpace(s), "\n")
	var b strings.Builder
	for _, r := range line {
		c := Line(string(r))
		if r == '"' {
			c = "'" // the closing mark is ours
		}
		if b.Len()+len(c) > MaxOutside-len(`"…"`) {
			more = true
			break
		}
		b.WriteString(c)
	}
	if more {
		return `"` + b.String() + `…"`
	}
	return `"` + b.String() + `"`
}
