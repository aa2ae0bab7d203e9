package notes

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
)

// ParsedLine is the content of one line.
type ParsedLine struct {
	At     time.Time // UTC, whole seconds
	Event  string
	ID     handoff.ID
	From   string
	To     string
	Digest string // digest of the envelope: "sha256:" and hex
}

const arrow = "→"

// Line renders an event, without a line end. It checks nothing: [Add] refuses
// what [ParseLine] would not read back.
func Line(at time.Time, event string, id handoff.ID, from, to, digest string) string {
	return strings.Join([]string{at.UTC().Format(time.RFC3339), event, string(id), from, arrow, to, digest}, " ")
}

// ParseLine reads a line rendered by [Line], and refuses every other.
func ParseLine(s string) (ParsedLine, error) {
	f := strings.Split(s, " ")
	if len(f) != 7 || f[4] != arrow {
		return ParsedLine{}, malformedLine(s, "want seven words, the fifth an arrow")
	}
	at, err := time.Parse(time.RFC3339, f[0])
	if err != nil || at.UTC().Format(time.RFC3339) != f[0] {
		return ParsedLine{}, malformedLine(s, "the time is not UTC in whole seconds")
	}
	if !slices.Contains(events(), f[1]) {
		return ParsedLine{}, malformedLine(s, "there is no such event")
	}
	id, err := handoff.ParseID(f[2])
	if err != nil {
		return ParsedLine{}, malformedLine(s, err.Error())
	}
	for _, party := range []string{f[3], f[5]} {
		if err := checkParty(party); err != nil {
			return ParsedLine{}, malformedLine(s, err.Error())
		}
	}
	if digest, ok := strings.CutPrefix(f[6], "sha256:"); !ok || !handoff.IsHex(digest, 64) {
		return ParsedLine{}, malformedLine(s, "the digest is not sha256 in lower-case hex")
	}
	return ParsedLine{At: at.UTC(), Event: f[1], ID: id, From: f[3], To: f[5], Digest: f[6]}, nil
}

// events lists the events of a note, in the order of a handoff's life.
func events() []string {
	return []string{"offered", "routed", "claimed", "progressed", "released", "acknowledged", "failed", "rerouted", "revoked", "expired"}
}

func checkParty(s string) error {
	agent, alias, elsewhere := strings.Cut(s, "@")
	if elsewhere && !IsAlias(alias) {
		return fmt.Errorf("party %q: the alias is not 1 to 64 of A-Z a-z 0-9 . _ / + -", s)
	}
	if s == handoff.Nobody || elsewhere && agent == "" {
		return nil
	}
	return handoff.CheckAgent(agent)
}

// IsAlias reports whether a line can name a home by this alias. Aliases of another form are left
// out of lines, because git shows a note unchanged, so it must not contain prose.
func IsAlias(s string) bool {
	const most = 64
	return s != "" && len(s) <= most && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._/+-") == ""
}

func malformedLine(s, why string) error {
	return fault.New(fault.Invalid, fault.Malformed, "note line %.200q: %s", s, why)
}

// parsed returns the well-formed lines of a note.
func parsed(body []byte) []string {
	var lines []string
	for line := range bytes.Lines(body) {
		if len(line) > maxLine || len(line) < minLine {
			continue // no line of githandoff has this length
		}
		l := string(bytes.TrimSuffix(line, []byte("\n")))
		if _, err := ParseLine(l); err == nil {
			lines = append(lines, l)
		}
	}
	return lines
}

// Least and greatest length of a line, its end included.
const (
	minLine = 20 + 29 + 71
	maxLine = 512
)

// Clean returns the well-formed lines of a note, sorted, each once.
func Clean(body []byte) []string { return union(parsed(body)) }

// InForm reports whether a note has this package's own form: at most [MaxNote] bytes of
// well-formed lines, sorted, none twice.
func InForm(body []byte) bool {
	return len(body) > 0 && len(body) <= MaxNote && bytes.Equal(body, join(Clean(body)))
}

// union returns the lines sorted, each once: what cat_sort_uniq leaves.
func union(lines []string) []string {
	slices.Sort(lines)
	return slices.Compact(lines)
}

// Union returns the lines of two notes, sorted, each once, as far as a note has room.
func Union(a, b []string) []string { return newest(union(append(slices.Clone(a), b...))) }

// MaxNote bounds a note, in bytes. A larger note loses its oldest lines.
const MaxNote = 64 << 10

// newest leaves out the oldest of sorted lines until the note fits.
func newest(lines []string) []string {
	size := 0
	for i, line := range slices.Backward(lines) {
		if size += len(line) + 1; size > MaxNote {
			return lines[i+1:]
		}
	}
	return lines
}

// join renders lines as a note.
func join(lines []string) []byte {
	if len(lines) == 0 {
		return nil
	}
	return []byte(strings.Join(lines, "\n") + "\n")
}
