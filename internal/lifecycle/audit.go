package lifecycle

import (
	"context"
	"slices"

	"githandoff/internal/handoff"
	"githandoff/internal/record"
	"githandoff/internal/refs"
)

// LaneAudit is what one lane says about everything in it.
type LaneAudit struct {
	Entries []*Entry // oldest first; each with its dispute
	States  map[handoff.ID]*State
}

// AuditLane reads a lane from end to end, checks every signature and judges
// every entry. Ids do not span lanes, so lanes can be audited one at a time.
func (e *Engine) AuditLane(ctx context.Context, home Home, tip string) (*LaneAudit, error) {
	a := &LaneAudit{States: map[handoff.ID]*State{}}
	err := e.walkLane(ctx, tip, func(oid string, raw []byte) (bool, error) {
		a.Entries = append(a.Entries, readEntry(oid, raw))
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	slices.Reverse(a.Entries)
	for _, entry := range a.Entries {
		id := entry.Record().ID
		if id == "" {
			continue // not ours at all; its dispute says so
		}
		s := a.States[id]
		if s == nil {
			s = &State{ID: id, LaneTip: tip}
			a.States[id] = s
		}
		s.Entries = append(s.Entries, entry)
	}
	for _, s := range a.States {
		e.replay(ctx, home, s)
	}
	return a, nil
}

// readEntry reads one commit of a lane. One that is not in our form keeps the
// id that it claims to speak of, if any, so that it disputes that handoff.
func readEntry(oid string, raw []byte) *Entry {
	c, err := record.ParseCommit(raw)
	if err == nil {
		e := &Entry{OID: oid, Commit: c}
		if c.Tree != refs.EmptyTree {
			e.Dispute = denied("malformed_object", "lane entry %s has a tree that is not empty", oid)
		}
		return e
	}
	stranger := &record.Record{}
	if r, serr := record.Scan(raw); serr == nil {
		stranger.Event, stranger.Actor, stranger.At = r.Event, r.Actor, r.At
		if id, perr := handoff.ParseID(string(r.ID)); perr == nil {
			stranger.ID = id
		}
	}
	return &Entry{
		OID: oid, Commit: &record.Commit{Record: stranger},
		Dispute: denied("malformed_object", "lane entry %s: %w", oid, err),
	}
}
