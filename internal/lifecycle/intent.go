package lifecycle

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"githandoff/internal/durable"
	"githandoff/internal/handoff"
	"githandoff/internal/private"
	"githandoff/internal/record"
	"githandoff/internal/refs"
)

// Intents remembers transactions that have begun and make an inbox ref. A SIGKILL inside git's
// own commit of one leaves a prefix of its edits; the next command in this clone finds the
// intent and brings the home back to all or nothing. No key is needed: the lane decides, and
// every object was written before.
//
// Other transactions need none. Their lane entry decides, and the next step overwrites any part
// of them in the inbox ref. Two leftovers would stay: an inbox ref of a handoff never offered,
// and a child named by its parent's receipt but not yet known to its own lane.
type Intents struct {
	Dir string // <common dir>/githandoff/intents
}

// Recovery settles transactions left half done by a killed process.
type Recovery struct {
	Repo    *refs.Repo
	Reader  *Reader
	Intents Intents
}

type intent struct {
	Home  string      `json:"home"` // repo id of the home
	Edits []refs.Edit `json:"edits"`

	path  string   // path of the intent's file; "" if none was written
	owner *os.File // the same file, held open and locked by this process
}

// begin writes the intent of a transaction that makes an inbox ref. The file is not synced: it
// guards against a killed process, not against a power cut, which git's own order of writes
// survives. This process owns the file, so no other one takes it for an abandoned one.
func (in Intents) begin(home Home, t refs.Transaction) (*intent, error) {
	i := &intent{Home: home.ID(), Edits: t.Edits}
	if IsLocal(home) {
		i.Edits = slices.Concat(t.Edits, t.LocalEdits)
	}
	if !slices.ContainsFunc(t.Edits, func(e refs.Edit) bool { return makesInbox(home, e) }) {
		return i, nil
	}
	var tag [8]byte
	if _, err := rand.Read(tag[:]); err != nil {
		return nil, err
	}
	i.path = filepath.Join(in.Dir, fmt.Sprintf("%x.json", tag))
	b, err := json.Marshal(i)
	if err != nil {
		return nil, err
	}
	if err = private.MakeDir(in.Dir); err == nil {
		i.owner, err = durable.Own(i.path, b)
	}
	if err != nil {
		return nil, fmt.Errorf("note a transaction: %w", err)
	}
	return i, nil
}

// makesInbox reports whether an edit makes an inbox ref of a home.
func makesInbox(home Home, e refs.Edit) bool {
	p, ok := home.Namespace().ParseHandoffRef(e.Ref)
	return ok && p.Kind == refs.KindInbox && e.Old == "" && e.New != ""
}

// forget removes an intent that is settled.
func (i *intent) forget() {
	if i.path != "" {
		_ = os.Remove(i.path)
	}
}

// leave leaves an intent to the next command, unless it is settled.
func (i *intent) leave() {
	if i.owner != nil {
		durable.Disown(i.owner)
	}
}

// left lists the intents whose process is gone.
func (in Intents) left() []*intent {
	names, err := os.ReadDir(in.Dir)
	if err != nil {
		return nil
	}
	var list []*intent
	for _, n := range names {
		i := &intent{path: filepath.Join(in.Dir, n.Name())}
		if filepath.Ext(i.path) != ".json" || durable.Owned(i.path) {
			continue
		}
		b, err := private.ReadState(i.path)
		if err != nil || b == nil {
			continue
		}
		if json.Unmarshal(b, i) != nil {
			if !json.Valid(b) {
				i.forget() // the write was cut off, and the transaction had not begun
			}
			continue // a newer version wrote it
		}
		list = append(list, i)
	}
	return list
}

// Run settles all transactions left half done by killed processes. Each home is asked once, for
// all of its intents. A home out of reach or still locked keeps its intents. homeOf returns nil
// for a home not to be asked now.
func (rc *Recovery) Run(ctx context.Context, homeOf func(repoID string) (Home, error)) error {
	var first error
	left := map[string][]*intent{}
	for _, i := range rc.Intents.left() {
		left[i.Home] = append(left[i.Home], i)
	}
	for _, repoID := range slices.Sorted(maps.Keys(left)) {
		home, err := homeOf(repoID)
		if err == nil && home != nil {
			err = rc.settleAll(ctx, home, left[repoID])
		}
		first = cmp.Or(first, err)
	}
	return first
}

// settleAll settles intents of one home.
func (rc *Recovery) settleAll(ctx context.Context, home Home, left []*intent) error {
	var edits []refs.Edit
	for _, i := range left {
		edits = append(edits, i.Edits...)
	}
	if err := home.Refresh(ctx, FetchSpecFor(home, edits)); err != nil {
		return err
	}
	for _, i := range left {
		if _, err := rc.settle(ctx, home, i); err != nil {
			return err
		}
	}
	return nil
}

// settleBefore settles the intents left for the inbox refs that a transaction makes. Otherwise each
// new try of it would add an entry to a lane that has one already. The copies here may be older
// than the step: if they show no entry of it, that proves nothing, and the intent stays.
func (rc *Recovery) settleBefore(ctx context.Context, home Home, t refs.Transaction) error {
	for _, e := range t.Edits {
		if !makesInbox(home, e) {
			continue
		}
		for _, i := range rc.Intents.left() {
			same := func(other refs.Edit) bool { return other.Ref == e.Ref && makesInbox(home, other) }
			if i.Home != home.ID() || !slices.ContainsFunc(i.Edits, same) {
				continue
			}
			logged, _, err := rc.reachedLog(ctx, home, i.Edits)
			if err == nil && logged {
				_, err = rc.settle(ctx, home, i)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// settle compares the refs of an intent with its edits. If none of its lanes has the intent's
// entry, git had moved at most the inbox refs, which come first. The refs it created are
// deleted, unless the same step was taken again since; the next step overwrites the others. If
// a lane has the entry, settle makes the remaining edits. A missing inbox ref was ended by another
// step, or the hub's git left it out, see leftOut. Each edit is pinned to the values in the intent. An
// intent without a lane only deletes refs after a receipt, and is completed too. settle reports
// whether the step is in the log.
func (rc *Recovery) settle(ctx context.Context, home Home, i *intent) (logged bool, err error) {
	if err := rc.Repo.Locks.Await(ctx, i.Edits); err != nil {
		return false, err
	}
	logged, sweeps, err := rc.reachedLog(ctx, home, i.Edits)
	if err != nil {
		return false, err
	}
	forward := logged || sweeps
	var fix refs.Transaction
	for _, edit := range i.Edits {
		fixEdit := rc.fixRef
		if _, isWork := home.Namespace().ParseWork(edit.Ref); isWork {
			fixEdit = rc.fixWork
		}
		more, err := fixEdit(ctx, home, edit, forward)
		if err != nil {
			return false, err
		}
		fix.Edits = append(fix.Edits, more...)
	}
	if len(fix.Edits) > 0 {
		if err := home.Apply(ctx, fix); err != nil {
			return false, err
		}
	}
	i.forget()
	return logged, nil
}

// fixRef returns the edit that a ref of an intent still needs. Forward means that the step is in the log.
func (rc *Recovery) fixRef(ctx context.Context, home Home, edit refs.Edit, forward bool) ([]refs.Edit, error) {
	now, err := rc.Repo.Resolve(ctx, edit.Ref)
	if err != nil {
		return nil, err
	}
	p, isPlace := home.Namespace().ParseHandoffRef(edit.Ref)
	makes := makesInbox(home, edit)
	switch {
	case forward && makes && now == "":
		if leftOut, err := rc.leftOut(ctx, home, p.ID, edit.New); err != nil || !leftOut {
			return nil, err
		}
		return []refs.Edit{edit}, nil
	case forward && isPlace && p.Kind == refs.KindInbox && edit.New != "": // already moved, or the handoff has ended
		return nil, nil
	case forward && now == edit.Old && edit.Old != edit.New:
		return []refs.Edit{edit}, nil
	case !forward && makes && now == edit.New:
		if noise, err := rc.unlogged(ctx, home, p.ID, edit.New); err != nil || !noise {
			return nil, err
		}
		return []refs.Edit{{Ref: edit.Ref, Old: edit.New}}, nil
	}
	return nil, nil
}

// leftOut reports whether a missing inbox ref was never made: git at a hub leaves out each ref
// whose history it could not look into, even from an atomic push. Then nobody took a step of the
// handoff, and it is in no inbox. A commit whose content is lost here cannot be sent.
func (rc *Recovery) leftOut(ctx context.Context, home Home, id handoff.ID, oid string) (bool, error) {
	s, err := rc.Reader.Load(ctx, home, Place{ID: id})
	if err != nil || s.Tip != "" {
		return false, err
	}
	lost, err := refs.FindLost(ctx, rc.Repo, []refs.Ref{{OID: oid}})
	if err != nil || len(lost) > 0 {
		return false, err
	}
	c, err := rc.commit(ctx, oid)
	if err != nil || c == nil {
		return false, err
	}
	switch s.Phase() {
	case Absent:
		return true, nil
	case Open:
		last := s.Entries[len(s.Entries)-1]
		return last.Record().Nonce == c.Record.Nonce && sameRecord(c, last.Commit), nil
	}
	return false, nil
}

// unlogged reports whether a commit of an inbox ref has no entry in its lane.
func (rc *Recovery) unlogged(ctx context.Context, home Home, id handoff.ID, oid string) (bool, error) {
	s, err := rc.Reader.Load(ctx, home, Place{ID: id})
	if err != nil {
		return false, err
	}
	c, err := rc.commit(ctx, oid)
	return c != nil && !s.logged(c), err
}

// commit reads the commit of an inbox ref; nil if it is not one of a handoff.
func (rc *Recovery) commit(ctx context.Context, oid string) (*record.Commit, error) {
	o, err := refs.ReadNamed(ctx, rc.Repo, oid, record.MaxCommit, "commit "+oid)
	if err != nil {
		return nil, err
	}
	c, err := record.ParseCommit(o.Body)
	if err != nil {
		return nil, nil //nolint:nilerr // the commit is not one of githandoff
	}
	return c, nil
}

// reachedLog reports whether one of the lanes has the entry meant for it in the edits. Others may
// have appended to it since. If there is no lane among the edits, they sweep.
func (rc *Recovery) reachedLog(ctx context.Context, home Home, edits []refs.Edit) (logged, sweeps bool, err error) {
	sweeps = true
	for _, edit := range edits {
		if !home.Namespace().InLog(edit.Ref) {
			continue
		}
		sweeps = false
		tip, err := rc.Repo.Resolve(ctx, edit.Ref)
		if err != nil {
			return false, false, err
		}
		err = rc.Reader.Lanes.Walk(ctx, tip, func(oid string, _ []byte) (bool, error) {
			logged = oid == edit.New
			return !logged && oid != edit.Old, nil
		})
		if err != nil || logged {
			return logged, false, err
		}
	}
	return false, sweeps, nil
}
