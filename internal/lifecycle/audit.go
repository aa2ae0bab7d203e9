package lifecycle

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/record"
	"githandoff/internal/refs"
)

// LaneAudit is shown what one lane says, handoff by handoff: each entry, oldest
// first, with its dispute, and then what they amount to, without the entries.
// Nothing that was shown is kept: an audit takes the memory of the ids in a
// lane, not of what its entries say.
type LaneAudit struct {
	Entry func(*Entry) error
	State func(*State) error // not of what speaks of no handoff, or of one of another lane

	// Inbox names the inbox ref of a handoff, "" where none is there: what it leads
	// to must be what the lane says.
	Inbox func(handoff.ID) string
}

// Audit reads a lane from end to end, checks every signature and judges
// every entry. Ids do not span lanes, so lanes can be audited one at a time. A
// lane that does not hang together is refused before anything of it is shown; what
// is a copy of another one is disputed, entry by entry.
func (rd *Reader) Audit(ctx context.Context, home Home, lane refs.Ref, a LaneAudit) error {
	index, err := rd.Lanes.index(ctx, lane.OID)
	if err != nil {
		return err
	}
	defer delete(rd.Lanes.indexes, lane.OID) // an audit comes by once, and there are many lanes
	order := make([]int, len(index))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(x, y int) int {
		return cmp.Or(bytes.Compare(index[x].id[:], index[y].id[:]), cmp.Compare(x, y))
	})
	r := rd.Lanes.readAgain(ctx, index, order)
	defer r.close()
	s := &State{LaneTip: lane.OID}
	for i, at := range order {
		o, err := r.read(ctx, at)
		if err != nil {
			return err
		}
		entry := readEntry(o.OID, o.Body)
		switch id := entry.Record().ID; {
		case id == "": // it is not ours at all; its dispute says so
		case home.Space().Lane(id) != lane.Name:
			entry.Dispute = denied(fault.Disputed, "lane entry %s is a copy: %s is for %s", entry.OID, id, home.Space().Lane(id))
		default:
			if s.ID == "" && a.Inbox != nil {
				s.ID = id
				s.Chain = rd.chainAt(ctx, s, a.Inbox(id))
			}
			s.ID = id
			rd.replayEntry(ctx, home, s, entry, asked, func(than time.Time) bool {
				return rd.Lanes.olderLater(ctx, index, order[i+1:], at, than)
			})
		}
		if err := a.Entry(entry); err != nil {
			return err
		}
		if i+1 < len(order) && index[order[i+1]].id == index[at].id {
			continue
		}
		if s.ID != "" {
			if err := a.State(s); err != nil {
				return err
			}
		}
		s = &State{LaneTip: lane.OID}
	}
	return nil
}

// olderLater reports whether one of the entries that come later speaks of the same
// handoff and is older than a time. It is asked of the few entries that were ahead
// of the clock once.
func (l *Lanes) olderLater(ctx context.Context, index []indexed, order []int, of int, than time.Time) bool {
	for _, at := range order {
		if index[at].id != index[of].id {
			break
		}
		if o, err := l.read(ctx, index[at].name()); err == nil && olderAmong([]*Entry{readEntry(o.OID, o.Body)}, than) {
			return true
		}
	}
	return false
}

// secondReading reads entries of a lane that was walked already. What is not
// kept since then is read ahead.
type secondReading struct {
	lanes *Lanes
	index []indexed
	gone  []int        // those not kept, in the order in which they will be read
	line  *refs.Stream // of them; nil while that is not worth it
}

func (l *Lanes) readAgain(ctx context.Context, index []indexed, order []int) *secondReading {
	r := &secondReading{lanes: l, index: index}
	for _, at := range order {
		if l.kept.get(index[at].name()) == nil {
			r.gone = append(r.gone, at)
		}
	}
	if gone := r.gone; len(gone) >= refs.ManyAsked {
		r.line, _ = refs.ReadAhead(ctx, l.Repo, func(yield func(string) bool) {
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
		if r.line != nil {
			if o, err := r.line.Next(); err == nil && o.OID == oid {
				return o, nil
			}
			r.close()
		}
	}
	if o := r.lanes.kept.get(oid); o != nil {
		return o, nil
	}
	return r.lanes.read(ctx, oid) // whose answer counts
}

func (r *secondReading) close() {
	if r.line != nil {
		r.line.Close()
		r.line = nil
	}
}
