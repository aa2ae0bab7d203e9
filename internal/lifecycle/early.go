package lifecycle

import (
	"os"
	"slices"
	"strings"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/obo"
	"githandoff/internal/private"
	"githandoff/internal/record"
)

// ClockSkew is how far the clocks of two machines may differ. An entry that is
// ahead of the reader's clock by more does not count yet, and one that is behind
// the entries below it by more never counts.
const ClockSkew = obo.ClockSkew

// Ahead remembers the entries that were ahead of this clone's clock when it first saw them:
// one line each, "<oid> <time>", with the time at which it saw them. The lane does not
// contain that time, and it decides two things. Such an entry never counts once another
// entry stands on it that is older by its own date: the writer of that one could not see
// it. And a lease in it ends a day after that time. The empty Ahead remembers nothing.
type Ahead struct {
	Path string // <common git dir>/githandoff/ahead

	since map[string]time.Time // nil until it was read
}

// Limits of the memory. Only entries by trusted keys get there, and the newest are kept.
const (
	maxAhead  = 4096 // lines
	keptAhead = maxAhead / 2
)

// seen is when this clone first saw an entry that was ahead of its clock; zero
// where it never did.
func (a *Ahead) seen(oid string) time.Time {
	if a.since == nil {
		a.read()
	}
	return a.since[oid]
}

// note remembers that an entry is ahead of the clock now. A reader that may not
// write judges by its clock alone.
func (a *Ahead) note(oid string, now time.Time) {
	if !a.seen(oid).IsZero() {
		return
	}
	a.since[oid] = now
	if a.Path == "" {
		return
	}
	line := oid + " " + handoff.FormatTime(now) + "\n"
	if len(a.since) >= maxAhead {
		a.shorten(line)
		return
	}
	f, err := os.OpenFile(a.Path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return
	}
	_, _ = f.WriteString(line)
	_ = f.Close()
}

// shorten keeps the newer half of the file, and puts line on top of it.
func (a *Ahead) shorten(line string) {
	b, _ := os.ReadFile(a.Path)
	lines := slices.Collect(strings.Lines(string(b)))
	if len(lines) > keptAhead {
		lines = lines[len(lines)-keptAhead:]
	}
	_ = private.WriteFile(a.Path, []byte(strings.Join(lines, "")+line))
}

// read takes a line that cannot be read for none.
func (a *Ahead) read() {
	a.since = map[string]time.Time{}
	if a.Path == "" {
		return
	}
	b, _ := os.ReadFile(a.Path)
	for line := range strings.Lines(string(b)) {
		oid, at, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if t, err := handoff.ParseTime(at); err == nil && a.since[oid].IsZero() {
			a.since[oid] = t
		}
	}
}

// early says why an entry does not count yet, or never will because it was
// overtaken; nil if its time is not ahead. The signature was checked. Later
// reports whether an entry that stands on it is older than a time.
func (rd *Reader) early(entry *Entry, later func(than time.Time) bool) error {
	r, now := entry.Record(), rd.Keys.now()
	if r.At.After(now.Add(ClockSkew)) {
		rd.Ahead.note(entry.OID, now)
		return denied(fault.NotYetValid, "%s by %s is dated %s, but here it is %s: it does not count until then (key %s)",
			r.Event, r.Actor, handoff.FormatTime(r.At), handoff.FormatTime(now), r.Key)
	}
	seen := rd.Ahead.seen(entry.OID)
	if seen.IsZero() || !later(r.At.Add(-ClockSkew)) {
		return nil
	}
	return denied(fault.NotYetValid, "%s by %s is dated %s, was here at %s already, and others went on without it (key %s)",
		r.Event, r.Actor, handoff.FormatTime(r.At), handoff.FormatTime(seen), r.Key)
}

// capLease ends a lease a day after this clone first saw the entry that gives
// it, where that one was ahead of the clock.
func (rd *Reader) capLease(s *State, entry *Entry) {
	if seen := rd.Ahead.seen(entry.OID); !seen.IsZero() && !s.Lease.IsZero() {
		s.Lease = sooner(s.Lease, seen.Add(MaxLease))
	}
}

// olderAmong says whether one of the entries is older than a time, other than an
// offer that is repeated: that one bears the date of the first.
func olderAmong(entries []*Entry, than time.Time) bool {
	return slices.ContainsFunc(entries, func(e *Entry) bool {
		return e.Record().Event != record.Offered && e.Record().At.Before(than)
	})
}
