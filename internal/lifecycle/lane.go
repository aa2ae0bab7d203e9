package lifecycle

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"githandoff/internal/handoff"
	"githandoff/internal/record"
	"githandoff/internal/refs"
)

// Entry is one entry of a lane that speaks of a handoff.
type Entry struct {
	OID    string
	Commit *record.Commit
	// Dispute says why the entry does not count; nil if it does.
	Dispute error
}

// Record is the content of the entry.
func (e *Entry) Record() *record.Record { return e.Commit.Record }

// maxLane bounds the walk of one lane. With 1,024 lanes that is room for a
// thousand million events at one home.
const maxLane = 1 << 20

// walkLane calls visit for each commit of a lane, newest first, with its raw
// bytes, until visit returns false. Where a root key joined two histories it
// shows what the hub had not before what it had.
func (e *Engine) walkLane(ctx context.Context, tip string, visit func(oid string, raw []byte) (bool, error)) error {
	_, err := (&laneWalk{engine: e, visit: visit}).from(ctx, tip, nil)
	return err
}

type laneWalk struct {
	engine *Engine
	visit  func(oid string, raw []byte) (bool, error)
	n      int
}

// from walks until it meets one of the known commits. It says whether to go on.
func (w *laneWalk) from(ctx context.Context, tip string, known map[string]bool) (bool, error) {
	for tip != "" && !known[tip] {
		o, err := w.read(ctx, tip)
		if err != nil {
			return false, err
		}
		if more, err := w.visit(o.OID, o.Body); err != nil || !more {
			return false, err
		}
		parents := parentsOf(o.Body)
		if len(parents) > 1 {
			if err := w.engine.joins(o); err != nil {
				return false, err
			}
			other := &laneWalk{engine: w.engine, n: w.n}
			below := map[string]bool{}
			other.visit = func(oid string, _ []byte) (bool, error) { below[oid] = true; return true, nil }
			if _, err := other.from(ctx, parents[0], known); err != nil {
				return false, err
			}
			for oid := range known {
				below[oid] = true
			}
			if more, err := w.from(ctx, parents[1], below); err != nil || !more {
				return false, err
			}
		}
		tip = ""
		if len(parents) > 0 {
			tip = parents[0]
		}
	}
	return true, nil
}

func (w *laneWalk) read(ctx context.Context, oid string) (*refs.Object, error) {
	if w.n++; w.n > maxLane {
		return nil, denied("too_large", "lane of more than %d entries", maxLane)
	}
	if o := w.engine.entries[oid]; o != nil {
		return o, nil
	}
	o, err := w.engine.Repo.Read(ctx, oid, record.MaxCommit)
	if err != nil {
		return nil, err
	}
	if o == nil || o.Type != "commit" {
		return nil, denied("rollback", "lane entry %s is missing", oid)
	}
	w.engine.keep(o)
	return o, nil
}

// keptEntries bounds the entries that an engine remembers: a few mebibytes.
const keptEntries = 4096

// keep remembers an entry of a lane. A command looks at the same lane again
// after each step, and where homes are old lanes are long; one that looks at many
// handoffs does so lane by lane.
func (e *Engine) keep(o *refs.Object) {
	if e.entries == nil || len(e.entries) == keptEntries {
		e.entries = map[string]*refs.Object{}
	}
	e.entries[o.OID] = o
}

// parentsOf reads the parents of a raw commit that nobody vouched for yet.
func parentsOf(raw []byte) []string {
	var parents []string
	for line := range bytes.Lines(raw) {
		s := strings.TrimSuffix(string(line), "\n")
		if s == "" {
			break
		}
		if p, ok := strings.CutPrefix(s, "parent "); ok && handoff.IsHex(p, 40) {
			parents = append(parents, p)
		}
	}
	return parents
}

// firstParent is "" where a commit has none.
func firstParent(raw []byte) string {
	if parents := parentsOf(raw); len(parents) > 0 {
		return parents[0]
	}
	return ""
}

// laneEntries returns the entries about id, oldest first. It reads the whole
// lane: a late "offered" entry must not hide the receipt behind it.
func (e *Engine) laneEntries(ctx context.Context, tip string, id handoff.ID) ([]*Entry, error) {
	var found []*Entry
	err := e.walkLane(ctx, tip, func(oid string, raw []byte) (bool, error) {
		if !speaksOf(raw, id) {
			return true, nil
		}
		if entry := readEntry(oid, raw); entry.Record().ID == id {
			found = append(found, entry)
		}
		return true, nil
	})
	if err != nil {
		return nil, fmt.Errorf("read lane %s: %w", id.Lane(), err)
	}
	slices.Reverse(found)
	return found, nil
}

// WalkLane shows the raw commits of a lane, newest first, until visit returns
// false. Nothing about them was checked.
func (e *Engine) WalkLane(ctx context.Context, tip string, visit func(oid string, raw []byte) (bool, error)) error {
	return e.walkLane(ctx, tip, visit)
}
