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
// bytes, until visit returns false.
func walkLane(ctx context.Context, repo *refs.Repo, tip string, visit func(oid string, raw []byte) (bool, error)) error {
	for n := 0; tip != ""; n++ {
		if n == maxLane {
			return denied("too_large", "lane of more than %d entries", maxLane)
		}
		o, err := repo.Read(ctx, tip, record.MaxCommit)
		if err != nil {
			return err
		}
		if o == nil || o.Type != "commit" {
			return denied("rollback", "lane entry %s is missing", tip)
		}
		more, err := visit(o.OID, o.Body)
		if err != nil || !more {
			return err
		}
		tip = firstParent(o.Body)
	}
	return nil
}

// firstParent reads the parent of a raw commit that nobody vouched for yet.
func firstParent(raw []byte) string {
	for line := range bytes.Lines(raw) {
		s := strings.TrimSuffix(string(line), "\n")
		if s == "" {
			return ""
		}
		if p, ok := strings.CutPrefix(s, "parent "); ok && handoff.IsHex(p, 40) {
			return p
		}
	}
	return ""
}

// laneEntries returns the entries about id, oldest first. It reads the whole
// lane: a late "offered" entry must not hide the receipt behind it.
func laneEntries(ctx context.Context, repo *refs.Repo, tip string, id handoff.ID) ([]*Entry, error) {
	var found []*Entry
	err := walkLane(ctx, repo, tip, func(oid string, raw []byte) (bool, error) {
		if !speaksOf(raw, id) {
			return true, nil
		}
		if e := readEntry(oid, raw); e.Record().ID == id {
			found = append(found, e)
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
	return walkLane(ctx, e.Repo, tip, visit)
}
