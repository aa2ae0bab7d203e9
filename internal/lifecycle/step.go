package lifecycle

import (
	"context"
	"errors"
	"maps"
	"slices"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/record"
	"githandoff/internal/refs"
)

// batch collects one transaction: inbox refs that move, lane entries, inbox
// refs that go, in that order.
type batch struct {
	engine *Engine
	home   Home
	tx     refs.Transaction
	gone   []refs.Edit
	after  *State // that the transaction leaves, where the plan can tell
	lanes  map[string]*refs.Edit
	order  []*refs.Edit
}

func (e *Engine) newBatch(home Home) *batch {
	return &batch{engine: e, home: home, lanes: map[string]*refs.Edit{}}
}

// move gives an inbox ref a new commit and returns its id.
func (b *batch) move(ref, old string, o *refs.Object) {
	b.tx.Objects = append(b.tx.Objects, o)
	b.tx.Edits = append(b.tx.Edits, refs.Edit{Ref: ref, Old: old, New: o.OID})
}

// drop deletes an inbox ref.
func (b *batch) drop(ref, old string) {
	b.gone = append(b.gone, refs.Edit{Ref: ref, Old: old})
}

// dropAll deletes the inbox refs of a handoff, but for the one in an agent's inbox.
func (b *batch) dropAll(s *State, but string) {
	for _, agent := range slices.Sorted(maps.Keys(s.tips)) {
		if tip := s.tips[agent]; tip != "" && agent != but {
			b.drop(b.home.Space().Inbox(agent, s.ID), tip)
		}
	}
}

// dropWhole deletes the refs of a handoff that is over, its snapshot's before them.
func (b *batch) dropWhole(ctx context.Context, s *State) error {
	if err := b.dropWork(ctx, s); err != nil {
		return err
	}
	b.dropAll(s, "")
	return nil
}

// entry appends an entry to the lane of rec's id, pinned at laneTip unless an
// earlier entry of the same batch stands there already.
func (b *batch) entry(ctx context.Context, rec record.Record, payload, laneTip string) error {
	name := b.home.Space().Lane(rec.ID)
	lane := b.lanes[name]
	if lane == nil {
		lane = &refs.Edit{Ref: name, Old: laneTip, New: laneTip}
		b.lanes[name] = lane
		b.order = append(b.order, lane)
	}
	rec.Payload = payload
	o, err := b.engine.Author.commit(ctx, &rec, refs.EmptyTree, lane.New)
	if err != nil {
		return err
	}
	b.tx.Objects = append(b.tx.Objects, o)
	lane.New = o.OID
	return nil
}

func (b *batch) transaction() refs.Transaction {
	t := b.tx
	t.Objects = append(t.Objects, emptyTree)
	for _, lane := range b.order {
		t.Edits = append(t.Edits, *lane)
	}
	t.Edits = append(t.Edits, b.gone...)
	return t
}

var emptyTree = &refs.Object{OID: refs.EmptyTree, Type: "tree"}

// rounds bounds how often a step is decided anew because others were faster.
const rounds = 40

// act decides and applies until a transaction holds: load the state, let plan
// build the batch, apply. When only the lane moved, with nothing about this
// handoff, plan is simply asked again; when the handoff moved, plan sees it and
// says who won. refreshed says that the space is fresh as it is; a step on a
// hub tries with what is known first, and looks when that fails.
func (e *Engine) act(ctx context.Context, home Home, p Place, refreshed bool, plan func(*State, *batch) error) (*State, error) {
	want := Want{Places: []Place{p}, Lanes: []handoff.ID{p.ID}}
	if !refreshed {
		if err := home.Refresh(ctx, want); err != nil {
			return nil, err
		}
	}
	for round := 0; ; round++ {
		s, err := e.Reader.Locate(ctx, home, p)
		if err != nil {
			return nil, err
		}
		b := e.newBatch(home)
		if err := plan(s, b); err != nil {
			if round == 0 && refreshed && s.Receipt == nil && worthALook(err) {
				// What is known may be old; look before saying no.
				rerr := home.Refresh(ctx, want)
				if rerr == nil {
					refreshed = false
					continue
				}
				if len(s.Entries) == 0 {
					return s, rerr // nothing is known that says no
				}
			}
			return s, err
		}
		t := b.transaction()
		if len(t.Edits) == 0 {
			return s, nil // nothing to do: done already
		}
		settled, err := e.apply(ctx, home, t)
		var stale *refs.StaleError
		if err == nil && b.after != nil && !settled {
			return b.after, nil
		}
		if err == nil {
			return e.Reader.Load(ctx, home, p)
		}
		if !errors.As(err, &stale) {
			return s, err
		}
		if round+1 == rounds {
			return s, fault.New(fault.Unavailable, fault.Busy, "handoff %s: others changed its lane %d times in a row", p.ID, rounds).
				WithHints(fault.Fact("run the same command again"))
		}
		if round > 1 {
			if err := refs.Pause(ctx, min(round-2, 4)); err != nil {
				return s, err
			}
		}
		// Besides the place that was asked for: the one that it was to move to.
		moved := WantOf(home, t.Edits)
		if stale.Read && moved.covers(want) {
			continue
		}
		moved.Places, moved.Lanes = append(moved.Places, want.Places...), append(moved.Lanes, want.Lanes...)
		if err := home.Refresh(ctx, moved); err != nil {
			return s, err
		}
	}
}

// apply applies a transaction. One that was made before is settled: what it leaves
// may have moved on since.
func (e *Engine) apply(ctx context.Context, home Home, t refs.Transaction) (settled bool, err error) {
	i, err := e.Recovery.Intents.begin(home, t)
	if err != nil {
		return false, err
	}
	err = home.Apply(ctx, t)
	if err == nil || errors.Is(err, refs.ErrRefused) { // it is there, or none of it
		i.forget()
		return false, err
	}
	var stale *refs.StaleError
	if !errors.As(err, &stale) {
		return false, err
	}
	// Moved by others, or by a git of ours that was killed half-way or before it
	// could say that it was done.
	logged, serr := e.Recovery.settle(ctx, home, i)
	switch {
	case serr != nil:
		return false, serr
	case logged:
		return true, applyAside(ctx, e.Repo, t.Aside)
	}
	return false, err
}

// applyAside makes those of edits that were not made yet.
func applyAside(ctx context.Context, repo *refs.Repo, edits []refs.Edit) error {
	var rest []refs.Edit
	for _, edit := range edits {
		now, err := repo.Resolve(ctx, edit.Ref)
		if err != nil {
			return err
		}
		if now == edit.Old {
			rest = append(rest, edit)
		}
	}
	return repo.Apply(ctx, refs.Transaction{Edits: rest})
}

// worthALook: a refusal that a fresher copy of the hub could change.
func worthALook(err error) bool {
	switch fault.CodeOf(err) {
	case fault.NotFound, fault.Conflict, fault.Denied:
		return true
	}
	return false
}

// successor is the record of the next step on s, without what the event adds.
func successor(s *State) record.Record {
	r := record.Record{
		ID: s.ID, From: s.Offer.From, To: s.To, Home: s.Offer.Home,
		Digest: s.Offer.Digest, Expires: s.Offer.Expires, Task: s.Offer.Task, Token: s.Offer.Token,
	}
	if s.Claim != nil {
		r.Claim = s.Claim.Nonce
	}
	if r.Token != "" {
		r.Principal = s.Offer.Principal
	}
	return r
}

// advance puts a commit on top of the inbox ref, and its entry into the lane.
func (b *batch) advance(ctx context.Context, s *State, rec record.Record) error {
	if len(s.Chain) == 0 {
		return fault.New(fault.NotFound, fault.UnknownHandoff, "handoff %s is held, but its payload is gone from %s", s.ID, b.home.ID()).
			WithHints(fault.Fact("the next githandoff sync of its sender delivers it again"))
	}
	o, err := b.engine.Author.commit(ctx, &rec, s.Chain[0].Commit.Tree, s.base())
	if err != nil {
		return err
	}
	b.move(b.home.Space().Inbox(s.To, s.ID), s.tips[s.To], o)
	b.dropAll(s, s.To)
	return b.entry(ctx, rec, s.Payload, s.LaneTip)
}

// end appends the receipt and deletes the inbox ref.
func (b *batch) end(ctx context.Context, s *State, rec record.Record) error {
	if err := b.entry(ctx, rec, s.Payload, s.LaneTip); err != nil {
		return err
	}
	return b.dropWhole(ctx, s)
}
