package lifecycle

import (
	"bytes"
	"context"
	"maps"
	"slices"

	"githandoff/internal/fault"
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
	// Overtaken: a withdrawal that came after the receipt. It does not count, and
	// nothing is wrong.
	Overtaken bool
	// Early: it does not count yet, or was overtaken before it did. It takes
	// nothing away from the handoff: it is as if it were not there.
	Early bool
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
	w := &laneWalk{engine: e, visit: visit}
	defer w.close()
	_, err := w.from(ctx, tip, nil)
	return err
}

type laneWalk struct {
	engine *Engine
	visit  func(oid string, raw []byte) (bool, error)
	n      int

	asked int        // entries, one at a time
	line  *refs.Line // of what comes next; nil while that is not worth it
}

// from walks until it meets one of the known commits. It says whether to go on.
func (w *laneWalk) from(ctx context.Context, tip string, known map[string]bool) (bool, error) {
	for tip != "" && !known[tip] {
		o, err := w.read(ctx, tip)
		if err != nil {
			return false, err
		}
		if w.engine.Walked != nil {
			w.engine.Walked()
		}
		if more, err := w.visit(o.OID, o.Body); err != nil || !more {
			return false, err
		}
		parents := parentsOf(o.Body)
		if len(parents) > 1 {
			if err := w.engine.joins(ctx, o); err != nil {
				return false, err
			}
			below, err := w.below(ctx, parents[0], known)
			if err != nil {
				return false, err
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

// below are the known commits, and tip with all that it stands on.
func (w *laneWalk) below(ctx context.Context, tip string, known map[string]bool) (map[string]bool, error) {
	below := maps.Clone(known)
	if below == nil {
		below = map[string]bool{}
	}
	other := &laneWalk{engine: w.engine, n: w.n}
	defer other.close()
	for todo := []string{tip}; len(todo) > 0; {
		oid := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if below[oid] {
			continue
		}
		below[oid] = true
		o, err := other.read(ctx, oid)
		if err != nil {
			return nil, err
		}
		parents := parentsOf(o.Body)
		slices.Reverse(parents) // the first one is read next
		todo = append(todo, parents...)
	}
	return below, nil
}

func (w *laneWalk) read(ctx context.Context, oid string) (*refs.Object, error) {
	if w.n++; w.n > maxLane {
		return nil, denied(fault.TooLarge, "lane of more than %d entries", maxLane)
	}
	o := w.ahead(ctx, oid)
	if o == nil {
		o = w.engine.entries.get(oid)
	}
	if o != nil {
		return o, nil
	}
	w.asked++
	return w.engine.readLane(ctx, oid)
}

// ahead returns the entry if it was read ahead. What is not where it is expected,
// or cannot be read like that, is asked for by its id: the answer to that counts.
func (w *laneWalk) ahead(ctx context.Context, oid string) *refs.Object {
	if w.line == nil && w.asked >= refs.ManyAsked {
		w.asked = 0
		w.line, _ = w.engine.Repo.Line(ctx, oid, record.MaxCommit)
	}
	if w.line == nil {
		return nil
	}
	o, err := w.line.Next()
	if err != nil || o.OID != oid {
		w.close()
		return nil
	}
	w.engine.entries.keep(o)
	return o
}

func (w *laneWalk) close() {
	if w.line != nil {
		w.line.Close()
		w.line = nil
	}
}

// readLane reads one entry of a lane.
func (e *Engine) readLane(ctx context.Context, oid string) (*refs.Object, error) {
	o, err := e.Repo.Read(ctx, oid, record.MaxCommit)
	if fault.Is(err, fault.TooLarge) {
		o, err = e.unreadable(ctx, oid)
	}
	if err != nil {
		return nil, err
	}
	if o == nil || o.Type != "commit" {
		return nil, denied(fault.Rollback, "lane entry %s is missing", oid)
	}
	e.entries.keep(o)
	return o, nil
}

// parentsOf reads the parents of a raw commit that nobody vouched for yet.
func parentsOf(raw []byte) []string {
	var parents []string
	for line := range bytes.Lines(raw) {
		if len(line) == 1 { // the end of the headers
			break
		}
		if p, ok := bytes.CutPrefix(line, []byte("parent ")); ok {
			if oid := string(bytes.TrimSuffix(p, []byte("\n"))); handoff.IsHex(oid, 40) {
				parents = append(parents, oid)
			}
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

// WalkLane shows the raw commits of a lane, newest first, until visit returns
// false. Nothing about them was checked.
func (e *Engine) WalkLane(ctx context.Context, tip string, visit func(oid string, raw []byte) (bool, error)) error {
	return e.walkLane(ctx, tip, visit)
}
