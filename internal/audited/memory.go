package audited

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"githandoff/internal/gitobj"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/private"
	"githandoff/internal/refs"
)

const (
	schema = "githandoff-audited/1"

	// maxFile bounds the file: room for a million and a half entries.
	maxFile = 64 << 20 // bytes

	// cleanWord begins the line with the digest of clean refs: nothing was wrong with them.
	cleanWord = "clean "

	// seen begins the view of a lane judged with its inbox refs, and unseen is the view of one
	// judged without them.
	seen   = "refs:"
	unseen = "-"
)

// Memory remembers the lanes of one home.
type Memory struct {
	// audit judges every entry of a lane, see [lifecycle.Reader.Audit].
	audit func(ctx context.Context, home lifecycle.Home, lane refs.Ref, a lifecycle.LaneAudit) error

	repo    *refs.Repo
	path    string
	context string // digest of the program, the trust list and the home
	home    lifecycle.Home
	opened  time.Time

	lanes map[string]*known // lanes in the file; empty if the file does not count
	clean string            // digest of the clean refs in the file; "" for none
	next  map[string]*known // lanes for the next file, by name

	unchanged bool     // all refs are as in the file's clean state
	reading   *reading // nil until the first lane is read
}

// known remembers one lane at one tip.
type known struct {
	tip, view string
	sound     bool
	newest    time.Time
	homes     []string
	entries   []lifecycle.LearnedEntry // all entries of a sound lane; of any other lane, those with a known signature
}

// Open reads the memory of a home, for audits by a state machine. Program stands for the rules of
// this program. The memory is empty if program is "", or if the file cannot be read or must not be
// believed.
func Open(e *lifecycle.Engine, home lifecycle.Home, program string) (*Memory, error) {
	trust, err := e.Keys.Trust.Digest()
	if err != nil {
		return nil, err
	}
	m := &Memory{
		repo: e.Repo, audit: e.Reader.Audit,
		path: e.Repo.Own("audited/" + digest(string(home.Namespace()))[:12]), home: home,
		context: digest(strings.Join([]string{program, trust, home.ID()}, "\n")),
		opened:  e.Now(),
		lanes:   map[string]*known{}, next: map[string]*known{},
	}
	if program == "" {
		m.path = ""
		return m, nil
	}
	if b, err := private.ReadLargeState(m.path, maxFile); err == nil {
		m.parse(string(b))
	}
	return m, nil
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// parse takes the file if it is whole, and for this context.
func (m *Memory) parse(text string) {
	end := strings.LastIndex(strings.TrimSuffix(text, "\n"), "\n") + 1
	if text[end:] != "sum "+digest(text[:end])+"\n" {
		return
	}
	first, rest, _ := strings.Cut(text[:end], "\n")
	if first != schema+" "+m.context {
		return
	}
	clean := ""
	if line, after, ok := strings.Cut(rest, "\n"); ok && strings.HasPrefix(line, cleanWord) {
		clean, rest = line[len(cleanWord):], after
	}
	lanes := map[string]*known{}
	var at *known
	for line := range strings.Lines(rest) {
		line = strings.TrimSuffix(line, "\n")
		if name, said, ok := strings.Cut(line, " "); ok {
			if at = parseLane(said); at == nil {
				return
			}
			lanes[name] = at
			continue
		}
		if at == nil || line == "" || !gitobj.IsID(line[1:]) {
			return
		}
		at.entries = append(at.entries, lifecycle.LearnedEntry{OID: line[1:], Signed: line[0] == '+'})
	}
	m.lanes, m.clean = lanes, clean
}

// parseLane reads the rest of a line after the name of a lane; nil if it is malformed.
func parseLane(said string) *known {
	f := strings.Fields(said)
	if len(f) < 5 || !gitobj.IsID(f[0]) {
		return nil
	}
	n, err := strconv.Atoi(f[4])
	newest, terr := handoff.ParseTime(f[2])
	if err != nil || terr != nil || n < 0 || n > maxFile/(len(f[0])+2) {
		return nil
	}
	return &known{
		tip: f[0], sound: f[1] == "sound", newest: newest, view: f[3], homes: f[5:],
		entries: make([]lifecycle.LearnedEntry, 0, n),
	}
}

// Sound reports whether a lane was found sound at this tip, with inbox refs of this digest.
func (m *Memory) Sound(at refs.Ref, view string) bool {
	l := m.sound(at)
	return l != nil && l.view == seen+view
}

// Unchanged reports whether the refs of the home, given by their digest and their lanes, are
// the clean ones of the file. If so, Lanes asks no View.
func (m *Memory) Unchanged(digest string, lanes []refs.Ref) bool {
	m.unchanged = digest != "" && digest == m.clean && !slices.ContainsFunc(lanes, func(lane refs.Ref) bool { return !m.sound(lane).clean() })
	return m.unchanged
}

// clean reports whether a lane is remembered as sound, with clean inbox refs.
func (l *known) clean() bool { return l != nil && l.sound && strings.HasPrefix(l.view, seen) }

// sound returns the memory of a lane found sound at this tip; nil if there is none.
func (m *Memory) sound(at refs.Ref) *known {
	l := m.lanes[at.Name]
	if l == nil || !l.sound || l.tip != at.OID {
		return nil
	}
	// After the clock was set back, an entry may be too early; and a home may have lost a name.
	if l.newest.After(m.opened.Add(lifecycle.ClockSkew)) {
		return nil
	}
	for _, home := range l.homes {
		if !m.home.Is(home) {
			return nil
		}
	}
	return l
}

// signed returns the set of a lane's entries with a known signature.
func (m *Memory) signed(name string) func(oid string) bool {
	l := m.lanes[name]
	if l == nil {
		return nil
	}
	known := make(map[string]bool, len(l.entries))
	for _, e := range l.entries {
		if e.Signed {
			known[e.OID] = true
		}
	}
	return func(oid string) bool { return known[oid] }
}

// learn remembers the findings of an audit about a lane.
func (m *Memory) learn(at refs.Ref, view string, lesson lifecycle.Lesson) {
	l := &known{tip: at.OID, view: view, sound: lesson.Sound, newest: lesson.Newest, entries: lesson.Entries}
	if !l.sound {
		l.entries = slices.DeleteFunc(slices.Clone(l.entries), func(e lifecycle.LearnedEntry) bool { return !e.Signed })
		l.newest = time.Time{}
	} else {
		l.homes = slices.Sorted(maps.Keys(lesson.Homes))
	}
	if len(l.entries) > 0 {
		m.next[at.Name] = l
	}
}

// save writes the findings of this audit to the file, if they differ from it. If this fails, it
// costs the next audit its time, and nothing else.
func (m *Memory) save(clean string) {
	if m.path == "" || maps.Equal(m.lanes, m.next) && (clean == "" || clean == m.clean) {
		return
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s\n", schema, m.context)
	if clean != "" {
		fmt.Fprintln(&b, cleanWord+clean)
	}
	for _, name := range slices.Sorted(maps.Keys(m.next)) {
		l := m.next[name]
		if b.Len()+(len(l.tip)+2)*len(l.entries) > maxFile-1<<20 {
			break
		}
		verdict := "mixed"
		if l.sound {
			verdict = "sound"
		}
		fmt.Fprintln(&b, name, l.tip, verdict, handoff.FormatTime(l.newest), l.view, len(l.entries), strings.Join(l.homes, " "))
		for _, e := range l.entries {
			mark := byte('-')
			if e.Signed {
				mark = '+'
			}
			b.WriteByte(mark)
			b.WriteString(e.OID)
			b.WriteByte('\n')
		}
	}
	fmt.Fprintf(&b, "sum %s\n", digest(b.String()))
	_ = private.WriteFile(m.path, b.Bytes())
}
