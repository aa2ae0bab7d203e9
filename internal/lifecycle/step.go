package lifecycle

import (
	"context"
	"errors"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/refs"
)

// rounds bounds how often a step is decided anew because others were faster.
const rounds = 40

// act takes a step: load the state, let plan build the transaction, apply it, until one
// holds. If only other entries moved the lane, plan is asked again. If the handoff itself
// moved, plan sees that and says who won. Refreshed says that the namespace is up to date; a
// step on a hub first tries with the copies that are known, and fetches when that fails.
func (e *Engine) act(ctx context.Context, home Home, p Place, refreshed bool, plan func(*State, *batch) error) (*State, error) {
	spec := FetchSpec{Places: []Place{p}, Lanes: []handoff.ID{p.ID}}
	if !refreshed {
		first := spec
		first.Log = true
		if err := home.Refresh(ctx, first); err != nil {
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
				// The copies may be old; fetch before refusing.
				rerr := home.Refresh(ctx, spec)
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
		moved := FetchSpecFor(home, t.Edits)
		if stale.Read && moved.covers(spec) {
			continue
		}
		moved.Places, moved.Lanes = append(moved.Places, spec.Places...), append(moved.Lanes, spec.Lanes...)
		if err := home.Refresh(ctx, moved); err != nil {
			return s, err
		}
	}
}

// apply applies a transaction. Settled says that an earlier try had applied it; the state
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
		return true, applyLocalEdits(ctx, e.Repo, t.LocalEdits)
	}
	return false, err
}

// applyLocalEdits makes those of edits that were not made yet.
func applyLocalEdits(ctx context.Context, repo *refs.Repo, edits []refs.Edit) error {
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

// worthALook reports whether a fresher copy of the hub could change a refusal.
func worthALook(err error) bool {
	switch fault.CodeOf(err) {
	case fault.NotFound, fault.Conflict, fault.Denied:
		return true
	}
	return false
}
