package lifecycle

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"githandoff/internal/fault"
	"githandoff/internal/record"
	"githandoff/internal/refs"
)

// batch collects one transaction, in this order: inbox refs that move, lane entries,
// inbox refs that are deleted.
type batch struct {
	engine *Engine
	home   Home
	tx     refs.Transaction
	gone   []refs.Edit
	after  *State // the state that the transaction leaves, if the plan can tell
	lanes  map[string]*refs.Edit
	order  []*refs.Edit
}

func (e *Engine) newBatch(home Home) *batch {
	return &batch{engine: e, home: home, lanes: map[string]*refs.Edit{}}
}

// build adds a step to the transaction: what its row of the table says of the inbox ref,
// and its entry in the lane.
func (b *batch) build(ctx context.Context, s *State, rec *record.Record) error {
	step, _ := StepOf(rec.Event)
	switch step.Inbox {
	case Moves:
		return b.advance(ctx, s, rec)
	case Carries:
		return b.carry(ctx, s, rec)
	case Deletes:
		return b.end(ctx, s, rec)
	}
	return fmt.Errorf("no step %q on a handoff that was offered", rec.Event)
}

// advance puts a commit on top of the inbox ref.
func (b *batch) advance(ctx context.Context, s *State, rec *record.Record) error {
	if len(s.Chain) == 0 {
		return fault.New(fault.NotFound, fault.UnknownHandoff, "handoff %s is held, but its payload is gone from %s", s.ID, b.home.ID()).
			WithHints(fault.Fact("the next githandoff sync of its sender delivers it again"))
	}
	o, err := b.engine.Author.commit(ctx, rec, s.Chain[0].Commit.Tree, s.base())
	if err != nil {
		return err
	}
	b.move(b.home.Namespace().Inbox(rec.To, s.ID), s.tips[rec.To], o)
	if err := b.dropAll(ctx, s, rec.To); err != nil {
		return err
	}
	return b.entry(ctx, *rec, s.Payload, s.LaneTip)
}

// carry moves the inbox ref, and the ref of the snapshot, into the inbox of another
// agent, with a commit on top.
func (b *batch) carry(ctx context.Context, s *State, rec *record.Record) (err error) {
	if s.tips[rec.To], err = b.engine.Repo.Resolve(ctx, b.home.Namespace().Inbox(rec.To, s.ID)); err != nil {
		return err
	}
	work := b.engine.Verifier.WorkOf(ctx, s)
	if err := BringWork(ctx, b.engine.Repo, b.home, s, work); err != nil {
		return err
	}
	if err := b.keepWork(ctx, rec.To, s.ID, work); err != nil {
		return err
	}
	return b.advance(ctx, s, rec)
}

// end appends the receipt and deletes the refs of the handoff.
func (b *batch) end(ctx context.Context, s *State, rec *record.Record) error {
	if err := b.entry(ctx, *rec, s.Payload, s.LaneTip); err != nil {
		return err
	}
	return b.dropAll(ctx, s, "")
}

// move gives an inbox ref a new commit.
func (b *batch) move(ref, old string, o *refs.Object) {
	b.tx.Objects = append(b.tx.Objects, o)
	b.tx.Edits = append(b.tx.Edits, refs.Edit{Ref: ref, Old: old, New: o.OID})
}

// drop deletes an inbox ref.
func (b *batch) drop(ref, old string) {
	b.gone = append(b.gone, refs.Edit{Ref: ref, Old: old})
}

// dropAll deletes the refs of a handoff, except those in an agent's inbox. The refs of its
// snapshot go first.
func (b *batch) dropAll(ctx context.Context, s *State, but string) error {
	if err := b.dropWork(ctx, s, but); err != nil {
		return err
	}
	for _, agent := range slices.Sorted(maps.Keys(s.tips)) {
		if tip := s.tips[agent]; tip != "" && agent != but {
			b.drop(b.home.Namespace().Inbox(agent, s.ID), tip)
		}
	}
	return nil
}

// entry appends an entry to the lane of rec's id, pinned at laneTip unless an
// earlier entry of the same batch stands there already.
func (b *batch) entry(ctx context.Context, rec record.Record, payload, laneTip string) error {
	name := b.home.Namespace().Lane(rec.ID)
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
