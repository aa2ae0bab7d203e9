package crossrepo

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/refs"
	"githandoff/internal/untrusted"
)

// laneTips has the two tips of a lane: in the memory of this clone, and at the hub when it was asked
// last. "" is none.
type laneTips struct {
	name     string // of the copy
	was, now string
}

// learn moves the memory of some lanes on to the mirror, which this command brought.
func (h *laneCopies) learn(ctx context.Context, ids []handoff.ID) error {
	if len(ids) == 0 {
		return nil
	}
	err := h.learnFrom(ctx, func() ([]laneTips, error) {
		var all []laneTips
		for _, id := range onePerLane(ids) {
			s, err := h.tipsOf(ctx, h.Namespace().Lane(id))
			if err != nil {
				return nil, err
			}
			all = append(all, s)
		}
		return all, nil
	})
	if err == nil {
		for _, id := range ids {
			h.fresh.Store(id.Lane(), true)
		}
	}
	return err
}

// onePerLane leaves out ids of whose lane another one is there.
func onePerLane(ids []handoff.ID) []handoff.ID {
	seen := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(ids), func(id handoff.ID) bool {
		again := seen[id.Lane()]
		seen[id.Lane()] = true
		return again
	})
}

// LearnAll is like learn for each lane in the mirror. It returns what Lost would say of a memory,
// without a second list of the mirror.
func (h *laneCopies) LearnAll(ctx context.Context, memory []refs.Ref) (lost []string, err error) {
	var all []laneTips
	err = h.learnFrom(ctx, func() (moved []laneTips, err error) {
		all, err = h.allTips(ctx)
		for _, s := range all {
			if s.now != s.was {
				moved = append(moved, s)
				continue
			}
			h.refused.Delete(s.name) // a caller that wants all lanes reads each of them anyway
		}
		return moved, err
	})
	if err != nil {
		return nil, err
	}
	there := make(map[string]string, len(all))
	for _, s := range all {
		h.fresh.Store(strings.TrimPrefix(s.name, h.Namespace().Lanes()), true)
		there[h.RemoteName(s.name)] = s.now
	}
	return h.missing(memory, there), nil
}

func (h *laneCopies) tipsOf(ctx context.Context, name string) (s laneTips, err error) {
	s.name = name
	if s.was, err = h.Repo.Resolve(ctx, name); err == nil {
		s.now, err = h.Repo.Resolve(ctx, h.mirrored(name))
	}
	return s, err
}

// errNoLane is the refusal of a ref in the log whose name is not that of a lane. It is not
// copied, since copies are never pruned: a ref below a lane would stand in the way of the lane
// for good, because git keeps no ref below another one.
var errNoLane = errors.New("no lane has such a name")

// mostOdd is how many refs other than lanes are named in one look. There may be many.
const mostOdd = 3

// allTips returns the lanes in the mirror. Any other ref there is added to the refusals.
func (h *laneCopies) allTips(ctx context.Context) ([]laneTips, error) {
	list, err := h.Repo.List(ctx, h.Namespace().Lanes(), h.Mirror().Lanes())
	if err != nil {
		return nil, err
	}
	was := map[string]string{}
	var all []laneTips
	odd := 0
	for _, ref := range list {
		if h.Namespace().InLog(ref.Name) {
			was[ref.Name] = ref.OID
		}
	}
	for _, ref := range list {
		lane, ok := strings.CutPrefix(ref.Name, h.Mirror().Lanes())
		if !ok {
			continue
		}
		name := h.Namespace().Lanes() + lane
		if !handoff.IsLane(lane) {
			if odd++; odd > mostOdd {
				continue
			}
			h.refused.Store(name, h.errRefused(name, ref.OID, "", errNoLane))
			continue
		}
		all = append(all, laneTips{name, was[name], ref.OID})
	}
	if more := odd - mostOdd; more > 0 {
		h.refused.Store(h.Namespace().Lanes(), fault.New(fault.Denied, fault.Rollback,
			"%s has %d more refs below %s with names that no lane has", h.Alias.Name, more, h.RemoteName(h.Namespace().Lanes())))
	}
	return all, nil
}

// learnFrom checks lanes and moves their copies on where they may move, in one transaction.
func (h *laneCopies) learnFrom(ctx context.Context, read func() ([]laneTips, error)) error {
	const tries = 5
	for try := 0; ; try++ {
		list, err := read()
		if err != nil {
			return err
		}
		edits, back, err := h.movesOf(ctx, list)
		if err != nil {
			return err
		}
		err = h.Repo.Apply(ctx, refs.Transaction{Edits: edits})
		if err == nil {
			return back
		}
		if try == tries || ctx.Err() != nil {
			return err
		}
		switch {
		case errors.As(err, new(*refs.StaleError)): // another command of this clone learned as well
		case fault.Is(err, fault.MissingObject): // a gc took objects just checked
			var names []string
			for _, s := range list {
				names = append(names, h.mirrored(s.name))
			}
			if _, _, err := h.mend(ctx, names...); err != nil {
				return err
			}
		case try > 0:
			return err
		default: // an older githandoff made copies of refs below a lane
			if dropped, derr := h.dropOdd(ctx); !dropped || derr != nil {
				return err
			}
		}
	}
}

// movesOf checks lanes. back is the error of a hub that lacks commits seen by this clone.
func (h *laneCopies) movesOf(ctx context.Context, list []laneTips) (edits []refs.Edit, back, err error) {
	for _, s := range list {
		m := &laneMove{h, s}
		switch to, err := m.next(ctx); {
		case fault.Is(err, fault.Rollback):
			back = err
		case err != nil:
			return nil, nil, err
		case to != m.was:
			edits = append(edits, refs.Edit{Ref: m.name, Old: m.was, New: to})
		}
	}
	return edits, back, nil
}

// errRefused returns the refusal of a hub's lane that this clone does not follow. Its administrator can
// put it back to a former tip, if one is known.
func (h *laneCopies) errRefused(lane, tip, was string, why error) error {
	name := h.RemoteName(lane)
	f := fault.New(fault.Denied, fault.Rollback, "%s has a history in %s that this clone refuses: %w", h.Alias.Name, untrusted.Ref(name), why)
	if was == "" {
		return f
	}
	return f.WithHints(inHub(h.Alias, "puts the lane back", "update-ref", name, was, tip))
}

// laneMove decides about the copy of one lane: it moves on to where the hub's lane is, or stays.
type laneMove struct {
	*laneCopies
	laneTips
}

// next returns the next tip of the copy, which is its present one if it stays. Why it stays is added to
// the refusals, which are errors of single lanes. The error is of a hub whose lane lacks commits seen by
// this clone. If commits are lost here, the lane is fetched again.
func (m *laneMove) next(ctx context.Context) (to string, err error) {
	to, err = m.decide(ctx)
	if !fault.Is(err, fault.MissingObject) && !fault.Is(m.Refused(m.name), fault.MissingObject) {
		return to, err
	}
	_, _, err = m.mend(ctx, m.name, m.mirrored(m.name))
	if err != nil && !fault.Is(err, fault.MissingObject) { // an object that the hub has lost as well stays lost
		return "", err
	}
	if m.laneTips, err = m.tipsOf(ctx, m.name); err != nil {
		return "", err
	}
	return m.decide(ctx)
}

// decide is like next, and fetches no lost commits.
func (m *laneMove) decide(ctx context.Context) (to string, err error) {
	switch {
	case m.was == "" && m.now == "":
		m.refused.Delete(m.name)
		return "", nil
	case m.now == m.was || m.now == "":
		return m.unmoved(ctx)
	case m.checker == nil:
		if ok, err := m.extends(ctx, m.now, m.was); err != nil {
			return "", err
		} else if ok {
			return m.now, nil
		}
		return "", m.Alias.errRollback(m.RemoteName(m.name))
	}
	why := m.checker.MayMove(ctx, m.was, m.now)
	switch {
	case why == nil:
		m.refused.Delete(m.name)
		return m.now, nil
	case ctx.Err() != nil:
		return "", ctx.Err()
	}
	if ok, err := m.extends(ctx, m.now, m.was); err != nil {
		return "", err
	} else if ok {
		m.refuse(m.now, cmp.Or(m.was, m.cleanBelow(ctx, m.now)), why)
		return m.was, nil
	}
	return m.rewound(ctx)
}

// unmoved returns the next tip of a copy that stands where the hub's lane does, or whose lane the hub
// has no more: the same one. A copy with a stranger's merge goes back to its former tip, once the hub
// was cleaned.
func (m *laneMove) unmoved(ctx context.Context) (to string, err error) {
	if m.checker == nil {
		return m.was, nil
	}
	why := m.checker.MayMove(ctx, m.was, m.was)
	if why == nil {
		m.refused.Delete(m.name)
		return m.was, nil
	}
	if m.now != m.was {
		if cut, ok, err := m.cut(ctx); ok || err != nil {
			m.refused.Delete(m.name)
			return cut, err
		}
	}
	m.refuse(m.was, m.cleanBelow(ctx, m.was), why)
	return m.was, nil
}

// refuse notes why the copy stays: because of the hub's tip, which its administrator can put back to was,
// or because this clone lost a part of the lane.
func (m *laneMove) refuse(tip, was string, why error) {
	if !fault.Is(why, fault.MissingObject) {
		why = m.errRefused(m.name, tip, was, why)
	}
	m.refused.Store(m.name, why)
}
