package notes

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
)

// Entry is what one line says.
type Entry struct {
	At     time.Time // UTC, whole seconds
	Event  string
	ID     handoff.ID
	From   string
	To     string
	Digest string // "sha256:" and hex, of the envelope
}

const arrow = "→"

// Line renders an event, without a line end. It checks nothing: [Add] refuses
// what [ParseLine] would not read back.
func Line(at time.Time, event string, id handoff.ID, from, to, digest string) string {
	return strings.Join([]string{at.UTC().Format(time.RFC3339), event, string(id), from, arrow, to, digest}, " ")
}

// ParseLine reads a line that [Line] rendered, and refuses every other.
func ParseLine(s string) (Entry, error) {
	f := strings.Split(s, " ")
	if len(f) != 7 || f[4] != arrow {
		return Entry{}, malformedLine(s, "want seven words, the fifth an arrow")
	}
	at, err := time.Parse(time.RFC3339, f[0])
	if err != nil || at.UTC().Format(time.RFC3339) != f[0] {
		return Entry{}, malformedLine(s, "the time is not UTC in whole seconds")
	}
	if !word(f[1], 32, 'a', 'z') {
		return Entry{}, malformedLine(s, "the event is not a lower-case word")
	}
	id, err := handoff.ParseID(f[2])
	if err != nil {
		return Entry{}, malformedLine(s, err.Error())
	}
	for _, party := range []string{f[3], f[5]} {
		if err := checkParty(party); err != nil {
			return Entry{}, malformedLine(s, err.Error())
		}
	}
	if digest, ok := strings.CutPrefix(f[6], "sha256:"); !ok || !handoff.IsHex(digest, 64) {
		return Entry{}, malformedLine(s, "the digest is not sha256 in lower-case hex")
	}
	return Entry{At: at.UTC(), Event: f[1], ID: id, From: f[3], To: f[5], Digest: f[6]}, nil
}

func checkParty(s string) error {
	agent, alias, elsewhere := strings.Cut(s, "@")
	if elsewhere && (!word(alias, 100, '!', '~') || strings.Contains(alias, "@")) {
		return fmt.Errorf("party %q: the alias is not printable ASCII", s)
	}
	if s == "_" || elsewhere && agent == "" {
		return nil
	}
	return handoff.CheckAgent(agent)
}

// word reports whether s has 1 to most bytes, each from lo to hi.
func word(s string, most int, lo, hi byte) bool {
	for i := range len(s) {
		if s[i] < lo || s[i] > hi {
			return false
		}
	}
	return s != "" && len(s) <= most
}

func malformedLine(s, why string) error {
	return fault.New(fault.Invalid, "malformed", "note line %.200q: %s", s, why)
}

// splitLines returns the lines of a note as they stand, without empty ones.
func splitLines(note []byte) []string {
	return slices.DeleteFunc(strings.Split(string(note), "\n"), func(l string) bool { return l == "" })
}

// union returns the lines sorted, each once: what cat_sort_uniq leaves.
func union(lines []string) []string {
	slices.Sort(lines)
	return slices.Compact(lines)
}

// join renders lines as a note.
func join(lines []string) []byte {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l)
		b.WriteByte('\n')
	}
	return []byte(b.String())
}
