package lifecycle

import (
	"context"
	"encoding/hex"
	"slices"

	"githandoff/internal/record"
	"githandoff/internal/refs"
)

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

// index walks a lane, down to where it was walked before.
func (l *Lanes) index(ctx context.Context, tip string) ([]indexed, error) {
	if index, ok := l.indexes[tip]; ok || tip == "" {
		return index, nil
	}
	var added []indexed
	known, joined := "", false
	err := l.Walk(ctx, tip, func(oid string, raw []byte) (bool, error) {
		if _, ok := l.indexes[oid]; ok && !joined {
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
	if below := l.indexes[known]; len(below) > 0 {
		index = append(below, added...)
	}
	delete(l.indexes, known)
	l.indexes.keep(tip, index)
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
