package lifecycle

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/record"
	"githandoff/internal/refs"
)

// LaneAudit receives one lane, handoff by handoff: each entry, oldest first, with its dispute,
// then the resulting state without the entries. An audit keeps only the ids of a lane in
// memory, not its entries.
type LaneAudit struct {
	Entry func(*Entry) error
	State func(*State) error // not called for entries without a handoff, or in the lane of another

	// Inbox returns the inbox ref of a handoff that was offered to an agent, "" if there is none. Its
	// commits must agree with the lane.
	Inbox func(id handoff.ID, to string) string

	// Signed reports whether an earlier audit, under the same trust, checked the signature of an
	// entry. It may be nil.
	Signed func(oid string) bool
	// Learn is called once at the end, with the findings a later audit can rely on. It may be
	// nil.
	Learn func(Lesson)
}

// Audit reads a lane from end to end, checks every signature and judges every entry. An id
// belongs to one lane, so lanes can be audited one at a time. A lane with a broken history is
// refused before any of it is shown. Entries copied from another lane are disputed one by one.
// Signatures are checked on all processors, ahead of the judgement, which takes one entry after
// the other.
func (rd *Reader) Audit(ctx context.Context, home Home, lane refs.Ref, a LaneAudit) error {
	index, err := rd.Lanes.index(ctx, lane.OID)
	if err != nil {
		return err
	}
	defer delete(rd.Lanes.indexes, lane.OID) // an audit reads each lane once, so its index is not kept
	order := make([]int, len(index))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(x, y int) int {
		return cmp.Or(bytes.Compare(index[x].id[:], index[y].id[:]), cmp.Compare(x, y))
	})
	l := &laneAudit{LaneAudit: a, reader: rd, home: home, lane: lane, index: index, order: order, state: &State{LaneTip: lane.OID}}
	l.lesson.Sound = true
	r := rd.Lanes.readAgain(ctx, index, order)
	defer r.line.Close()
	for len(l.order) > 0 {
		entries, err := l.readChecked(ctx, r, l.order[:min(len(l.order), checkedAhead)])
		if err != nil {
			return err
		}
		for _, entry := range entries {
			if err := l.next(ctx, entry); err != nil {
				return err
			}
		}
	}
	if a.Learn != nil {
		a.Learn(l.lesson)
	}
	return nil
}

// checkedAhead is the number of entries read before their signatures are checked together:
// enough for any number of processors, and little memory.
const checkedAhead = 512

// laneAudit is the audit of one lane in progress.
type laneAudit struct {
	LaneAudit
	reader *Reader
	home   Home
	lane   refs.Ref
	index  []indexed
	order  []int  // indexes of the entries still to be judged
	state  *State // state of the handoff whose entries are being judged
	lesson Lesson
}

// readChecked reads entries and checks their signatures.
func (l *laneAudit) readChecked(ctx context.Context, r *secondReading, order []int) ([]*Entry, error) {
	raw := make([]*refs.Object, len(order))
	for i, at := range order {
		o, err := r.read(ctx, at)
		if err != nil {
			return nil, err
		}
		raw[i] = o
	}
	entries := make([]*Entry, len(order))
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(order)) {
		all.Go(func() {
			for i := next.Add(1) - 1; int(i) < len(raw); i = next.Add(1) - 1 {
				entries[i] = readEntry(raw[i].OID, raw[i].Body)
				known := l.Signed != nil && l.Signed(raw[i].OID)
				if !known || !entries[i].takeAsSigned(l.reader.Keys.Trust) {
					entries[i].checkSignature(l.reader.Keys.Trust)
				}
			}
		})
	}
	all.Wait()
	return entries, nil
}

// next shows the next entry with its dispute, and the state of its handoff after the last one.
func (l *laneAudit) next(ctx context.Context, entry *Entry) error {
	rd, s, at := l.reader, l.state, l.order[0]
	l.order = l.order[1:]
	switch id := entry.Record().ID; {
	case id == "": // the entry's dispute says that it is no record of githandoff
	case l.home.Namespace().Lane(id) != l.lane.Name:
		entry.Dispute = denied(fault.Disputed, "lane entry %s is a copy: %s is for %s", entry.OID, id, l.home.Namespace().Lane(id))
	default:
		if s.ID == "" && l.Inbox != nil {
			s.Chain = rd.chainAt(ctx, id, l.Inbox(id, entry.Record().To))
		}
		s.ID = id
		rd.replayEntry(ctx, l.home, s, entry, l.above(ctx, at))
	}
	l.lesson.take(rd, entry)
	if err := l.Entry(entry); err != nil {
		return err
	}
	if len(l.order) > 0 && l.index[l.order[0]].id == l.index[at].id {
		return nil
	}
	l.state = &State{LaneTip: l.lane.OID}
	if s.ID == "" {
		return nil
	}
	return l.State(s)
}

// above yields the entries of the same handoff above this one. Only the few entries once ahead of the
// clock need them.
func (l *laneAudit) above(ctx context.Context, of int) iter.Seq[*Entry] {
	return func(yield func(*Entry) bool) {
		for _, at := range l.order {
			if l.index[at].id != l.index[of].id {
				return
			}
			if o, err := l.reader.Lanes.read(ctx, l.index[at].name()); err == nil && !yield(readEntry(o.OID, o.Body)) {
				return
			}
		}
	}
}

// secondReading reads the entries of a lane again after the walk. Entries no longer in memory
// are read ahead.
type secondReading struct {
	lanes *Lanes
	index []indexed
	gone  []int        // indexes of entries no longer in memory, in reading order
	line  *refs.Stream // stream of the entries in gone; nil if they are too few for one
}

func (l *Lanes) readAgain(ctx context.Context, index []indexed, order []int) *secondReading {
	r := &secondReading{lanes: l, index: index}
	for _, at := range order {
		if l.kept.byOID[index[at].name()] == nil {
			r.gone = append(r.gone, at)
		}
	}
	if gone := r.gone; len(gone) >= refs.ManyAsked {
		r.line, _ = refs.ReadAhead(ctx, l.Repo, "commit", func(yield func(string) bool) {
			for _, at := range gone {
				if !yield(index[at].name()) {
					return
				}
			}
		}, record.MaxCommit)
	}
	return r
}

func (r *secondReading) read(ctx context.Context, at int) (*refs.Object, error) {
	oid := r.index[at].name()
	if len(r.gone) > 0 && r.gone[0] == at {
		r.gone = r.gone[1:]
		if o := r.line.Take(oid); o != nil {
			return o, nil
		}
	}
	return r.lanes.read(ctx, oid)
}

// Lesson has the findings of a lane's audit. They stay true for the same lane tip, the same
// trust, and the same rules of this program. A commit id is the digest of the whole commit, so
// it stands for the entry.
type Lesson struct {
	// Entries are all entries in the order of their judgement.
	Entries []LearnedEntry
	// Sound means every entry counts because of the lane and the trust alone: not because of the
	// clock, another lane, or the memory of this clone.
	Sound bool
	// Newest is the latest time in an entry. A clock showing an earlier one could judge
	// differently.
	Newest time.Time
	// Homes are the homes named in the entries.
	Homes map[string]bool
}

// LearnedEntry is an entry. Signed means its signature was made by the key it names.
type LearnedEntry struct {
	OID    string
	Signed bool
}

// take adds a judged entry to the lesson.
func (l *Lesson) take(rd *Reader, entry *Entry) {
	r := entry.Record()
	l.Entries = append(l.Entries, LearnedEntry{OID: entry.OID, Signed: entry.signed()})
	if r.At.After(l.Newest) {
		l.Newest = r.At
	}
	if l.Homes == nil {
		l.Homes = map[string]bool{}
	}
	l.Homes[r.Home] = true
	l.Sound = l.Sound && entry.Dispute == nil && !rd.dependent(entry)
}

// dependent reports whether the verdict on an entry depends on more than its lane and the
// trust. A merge counts while its key is valid now. An entry once ahead of the clock may be
// overtaken. The offer of a return handoff depends on another lane.
func (rd *Reader) dependent(entry *Entry) bool {
	r := entry.Record()
	if r.Event == record.Joined || len(entry.Commit.Parents) > 1 || !rd.Ahead.seen(entry.OID).IsZero() {
		return true
	}
	return r.Event == record.Offered && (entry.signature == nil || maySend(entry.signature.key, r.From, r.At) != nil)
}

// Sound shows a lane found sound by an earlier audit, as [Reader.Audit] does, without judging
// it again. Next returns its commits in the order of the lesson. A missing one is refused like
// a lane with a lost entry.
func Sound(ctx context.Context, lane refs.Ref, entries []LearnedEntry, next func(context.Context, string) (*refs.Object, error), a LaneAudit) error {
	s := &State{LaneTip: lane.OID}
	for _, learned := range entries {
		o, err := next(ctx, learned.OID)
		if err != nil {
			return err
		}
		if o == nil || o.Type != "commit" {
			return refs.Missing("lane entry " + learned.OID)
		}
		r, err := record.Reread(o.Body)
		if err != nil {
			return fmt.Errorf("read lane entry %s: %w", learned.OID, err)
		}
		if s.ID != "" && s.ID != r.ID {
			if err := a.State(s); err != nil {
				return err
			}
			s = &State{LaneTip: lane.OID}
		}
		s.ID = r.ID
		s.apply(r)
		if err := a.Entry(&Entry{OID: learned.OID, Commit: &record.Commit{Record: r}}); err != nil {
			return err
		}
	}
	if s.ID == "" {
		return nil
	}
	return a.State(s)
}
