package lifecycle

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"

	"githandoff/internal/handoff"
	"githandoff/internal/record"
	"githandoff/internal/refs"
)

// laneEntries returns the entries about id, oldest first. It reads the whole
// lane: a late "offered" entry must not hide the receipt behind it.
func (e *Engine) laneEntries(ctx context.Context, tip string, id handoff.ID) ([]*Entry, error) {
	index, err := e.indexLane(ctx, tip)
	if err != nil {
		return nil, fmt.Errorf("read lane %s: %w", id.Lane(), err)
	}
	var found []*Entry
	strange := 0
	for _, at := range index {
		if string(at.id[:]) != string(id) {
			continue
		}
		o := e.entries.get(at.name())
		if o == nil {
			if o, err = e.readLane(ctx, at.name()); err != nil {
				return nil, fmt.Errorf("read lane %s: %w", id.Lane(), err)
			}
		}
		entry := readEntry(o.OID, o.Body)
		if entry.Record().ID != id {
			continue
		}
		if len(found) >= manyEntries && (entry.Dispute != nil || e.Vouched(entry.Commit) != nil) {
			if strange++; strange > 1 {
				continue
			}
		}
		found = append(found, entry)
	}
	return found, nil
}

// LaneIDs returns the ids that match of those which the entries of a lane claim
// to speak of, oldest entry first, and no more than two: whether there is another
// one is what is asked. Nothing about them was checked.
func (e *Engine) LaneIDs(ctx context.Context, tip string, match func(handoff.ID) bool) ([]handoff.ID, error) {
	index, err := e.indexLane(ctx, tip)
	if err != nil {
		return nil, err
	}
	var ids []handoff.ID
	for _, at := range index {
		id, perr := handoff.ParseID(string(at.id[:]))
		if perr == nil && match(id) && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
		if len(ids) == 2 {
			break
		}
	}
	return ids, nil
}

// manyEntries of one handoff are as many as its inbox ref has commits. Of what
// nobody trusted signed beyond that one is enough to dispute it; a hub can make as
// many as a lane has room for.
const manyEntries = maxChain

// indexed is an entry of a lane and the handoff that it claims to speak of, zero
// where it claims no such thing.
type indexed struct {
	id  [29]byte
	oid [20]byte
}

func (at indexed) name() string { return hex.EncodeToString(at.oid[:]) }

// laneIndexes are lanes that were walked, by tip, each from its oldest entry on:
// a command asks a lane for several handoffs, and again after each step. Only
// what was appended since has to be walked then.
type laneIndexes map[string][]indexed

// indexLane walks a lane, down to where it was walked before.
func (e *Engine) indexLane(ctx context.Context, tip string) ([]indexed, error) {
	if index, ok := e.lanes[tip]; ok || tip == "" {
		return index, nil
	}
	var added []indexed
	known, joined := "", false
	err := e.walkLane(ctx, tip, func(oid string, raw []byte) (bool, error) {
		if _, ok := e.lanes[oid]; ok && !joined {
			known = oid
			return false, nil
		}
		joined = joined || len(parentsOf(raw)) > 1 // what is below is not in one piece
		added = append(added, indexOf(oid, raw))
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	slices.Reverse(added)
	index := added
	if below := e.lanes[known]; len(below) > 0 {
		index = append(below, added...)
	}
	delete(e.lanes, known)
	e.lanes.keep(tip, index)
	return index, nil
}

// keep remembers one more lane, and not more entries than one lane may have.
func (l *laneIndexes) keep(tip string, index []indexed) {
	n := len(index)
	for _, other := range *l {
		n += len(other)
	}
	if *l == nil || n > maxLane {
		*l = laneIndexes{}
	}
	(*l)[tip] = index
}

// indexOf reads the handoff that a raw commit claims to speak of.
func indexOf(oid string, raw []byte) indexed {
	var at indexed
	_, _ = hex.Decode(at.oid[:], []byte(oid)) // it was read by this id
	copy(at.id[:], record.SpeaksOf(raw))
	return at
}

// keptEntries remembers entries of lanes by object id: a few mebibytes of those
// that were read last.
type keptEntries struct {
	byOID map[string]*refs.Object
	size  int // bytes
}

const maxKept = 4 << 20

func (k *keptEntries) get(oid string) *refs.Object { return k.byOID[oid] }

func (k *keptEntries) keep(o *refs.Object) {
	if k.byOID == nil || k.size > maxKept {
		*k = keptEntries{byOID: map[string]*refs.Object{}}
	}
	if k.byOID[o.OID] == nil {
		k.byOID[o.OID] = o
		k.size += len(o.Body)
	}
}
