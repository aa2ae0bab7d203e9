package lifecycle

import (
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"githandoff/internal/fault"
	"githandoff/internal/gitobj"
	"githandoff/internal/handoff"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
)

// Lanes reads lanes and caches their entries: a command asks a lane for several handoffs, and
// again after each step.
type Lanes struct {
	Repo *refs.Repo
	Keys *Keys

	// Walked is called for each entry read. It may be nil.
	Walked func()

	kept    keptEntries
	latest  latestEntries
	witness witnesses

	// indexes are the walked lanes, by tip, each from its oldest entry on. A later walk covers
	// only newer entries.
	indexes map[string][]indexed
}

// maxLane bounds the walk of one lane. 1,024 lanes then have room for a thousand million events
// at one home.
const maxLane = 1 << 20

// Walk calls visit for each commit of a lane, newest first, with its raw bytes, until visit
// returns false. Where a root key joined two histories, the commits the hub lacked come before
// those it had. The commits are not verified.
func (l *Lanes) Walk(ctx context.Context, tip string, visit func(oid string, raw []byte) (bool, error)) error {
	w := &laneWalk{lanes: l, visit: visit}
	defer w.close()
	_, err := w.from(ctx, tip, nil)
	return err
}

type laneWalk struct {
	lanes *Lanes
	visit func(oid string, raw []byte) (bool, error)
	n     int

	asked int          // number of entries read one at a time; after many, reading ahead pays
	line  *refs.Stream // stream of the next entries; nil until reading ahead starts
}

// from walks until it meets one of the known commits. It reports whether to go on.
func (w *laneWalk) from(ctx context.Context, tip string, known map[string]bool) (bool, error) {
	for tip != "" && !known[tip] {
		o, err := w.read(ctx, tip)
		if err != nil {
			return false, err
		}
		if w.lanes.Walked != nil {
			w.lanes.Walked()
		}
		if more, err := w.visit(o.OID, o.Body); err != nil || !more {
			return false, err
		}
		parents := gitobj.Parents(o.Body)
		if len(parents) > 1 {
			if err := w.lanes.joins(ctx, o); err != nil {
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
		tip = gitobj.FirstParent(o.Body)
	}
	return true, nil
}

// below returns the known commits, tip, and every commit below tip.
func (w *laneWalk) below(ctx context.Context, tip string, known map[string]bool) (map[string]bool, error) {
	below := maps.Clone(known)
	if below == nil {
		below = map[string]bool{}
	}
	other := &laneWalk{lanes: w.lanes, n: w.n}
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
		parents := gitobj.Parents(o.Body)
		slices.Reverse(parents) // so that the first parent is read next
		todo = append(todo, parents...)
	}
	return below, nil
}

// read returns the next entry. After many of them, the rest is read ahead.
func (w *laneWalk) read(ctx context.Context, oid string) (*refs.Object, error) {
	if w.n++; w.n > maxLane {
		return nil, denied(fault.TooLarge, "lane of more than %d entries", maxLane)
	}
	if w.asked < refs.ManyAsked {
		if w.lanes.kept.byOID[oid] == nil {
			w.asked++
		}
		return w.lanes.read(ctx, oid)
	}
	if w.line == nil {
		w.line, _ = refs.FirstParents(ctx, w.lanes.Repo, oid, record.MaxCommit)
	}
	if o := w.line.Take(oid); o != nil {
		w.lanes.kept.keep(o)
		return o, nil
	}
	w.asked, w.line = 0, nil
	return w.lanes.read(ctx, oid)
}

func (w *laneWalk) close() {
	if w.line != nil {
		w.line.Close()
	}
}

// read reads one entry of a lane, if it is not in memory.
func (l *Lanes) read(ctx context.Context, oid string) (*refs.Object, error) {
	if o := l.kept.byOID[oid]; o != nil {
		return o, nil
	}
	o, err := l.Repo.Read(ctx, oid, record.MaxCommit)
	if fault.Is(err, fault.TooLarge) {
		o, err = l.unreadable(ctx, oid)
	}
	if err != nil {
		return nil, err
	}
	if o == nil {
		return nil, refs.Missing("lane entry " + oid)
	}
	if o.Type != "commit" {
		return nil, denied(fault.Rollback, "lane entry %s is a %s", oid, o.Type)
	}
	l.kept.keep(o)
	return o, nil
}

// unreadable returns a stand-in for an entry larger than any of ours. It is about no handoff, and
// keeps only the parents.
func (l *Lanes) unreadable(ctx context.Context, oid string) (*refs.Object, error) {
	o, err := l.Repo.ReadHead(ctx, oid, record.MaxCommit)
	if err != nil || o == nil {
		return nil, err
	}
	body := []byte(tooLarge)
	for _, p := range gitobj.Parents(o.Body) {
		body = append(body, "parent "+p+"\n"...)
	}
	return &refs.Object{OID: o.OID, Type: o.Type, Body: append(body, '\n')}, nil
}

// tooLarge begins the stand-in for an oversized entry. No commit begins with it.
const tooLarge = "too large\n"

// about returns the entries about id, oldest first. It reads the whole
// lane: a late "offered" entry must not hide the receipt behind it.
func (l *Lanes) about(ctx context.Context, tip string, id handoff.ID) ([]*Entry, error) {
	index, err := l.index(ctx, tip)
	if err != nil {
		return nil, fmt.Errorf("read lane %s: %w", id.Lane(), err)
	}
	var found []*Entry
	strange := 0
	for _, at := range index {
		if string(at.id[:]) != string(id) {
			continue
		}
		o, err := l.read(ctx, at.name())
		if err != nil {
			return nil, fmt.Errorf("read lane %s: %w", id.Lane(), err)
		}
		entry := l.latest.read(id, o, l.Keys.Trust)
		if entry.Record().ID != id {
			continue
		}
		if len(found) >= manyEntries && (entry.Dispute != nil || l.Keys.CheckTrustedSigner(entry.Commit) != nil) {
			if strange++; strange > 1 {
				continue
			}
		}
		found = append(found, entry)
	}
	return found, nil
}

// manyEntries bounds the entries of one handoff, like the commits of its inbox ref. Beyond it,
// one entry without a trusted signature is enough for a dispute; a hub can write any number of
// them.
const manyEntries = maxChain

// IDs returns the matching ids in the entries of a lane, oldest entry first, and at most two:
// its caller only needs to know whether there is a second one. The entries are not verified.
func (l *Lanes) IDs(ctx context.Context, tip string, match func(handoff.ID) bool) ([]handoff.ID, error) {
	index, err := l.index(ctx, tip)
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

// indexed is an entry of a lane and the handoff it claims to be about, zero if it claims none.
type indexed struct {
	id   [29]byte
	oid  [32]byte
	size uint8 // length of the object id in bytes
}

func (at *indexed) name() string { return hex.EncodeToString(at.oid[:at.size]) }

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
		joined = joined || len(gitobj.Parents(raw)) > 1 // an earlier index covers one side of a join
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
	n := len(index)
	for _, other := range l.indexes {
		n += len(other)
	}
	if l.indexes == nil || n > maxLane { // keep no more entries than one lane may have
		l.indexes = map[string][]indexed{}
	}
	l.indexes[tip] = index
	return index, nil
}

// indexOf reads the handoff a raw commit claims to be about.
func indexOf(oid string, raw []byte) indexed {
	var at indexed
	n, _ := hex.Decode(at.oid[:], []byte(oid)) // cannot fail: the entry was read by this id
	at.size = uint8(n)
	copy(at.id[:], record.IDOf(raw))
	return at
}

// keptEntries remembers entries of lanes by object id: the last few mebibytes read.
type keptEntries struct {
	byOID map[string]*refs.Object
	size  int // size of the objects in bytes
}

const maxKept = 4 << 20

func (k *keptEntries) keep(o *refs.Object) {
	if k.byOID == nil || k.size > maxKept {
		*k = keptEntries{byOID: map[string]*refs.Object{}}
	}
	if k.byOID[o.OID] == nil {
		k.byOID[o.OID] = o
		k.size += len(o.Body)
	}
}

// latestEntries remembers the entries of the handoff that was read last, because a command reads it again before
// and after each of its steps. An entry is parsed once, and its signature is checked once, unless the
// trust changes in between.
type latestEntries struct {
	id    handoff.ID
	byOID map[string]*knownEntry
}

type knownEntry struct {
	asRead Entry
	judged *Entry // as it was returned last
}

// read returns an entry about a handoff, not judged yet.
func (l *latestEntries) read(id handoff.ID, o *refs.Object, trust *sign.Trust) *Entry {
	if l.id != id {
		*l = latestEntries{id: id, byOID: map[string]*knownEntry{}}
	}
	known := l.byOID[o.OID]
	if known == nil {
		known = &knownEntry{asRead: *readEntry(o.OID, o.Body)}
		if len(l.byOID) < manyEntries {
			l.byOID[o.OID] = known
		}
	}
	entry := known.asRead
	if before := known.judged; before != nil && before.signature.holds(trust) {
		entry.signature = before.signature
	}
	known.judged = &entry
	return &entry
}
