package crossrepo

import (
	"cmp"
	"context"
	"errors"

	"githandoff/internal/fault"
	"githandoff/internal/refs"
)

// laneMove decides about the copy of one lane: it moves on to where the hub's lane is, or stays.
type laneMove struct {
	*laneCopies
	laneTips
}

// next returns the next tip of the copy, which is its present one if it stays. Why it stays is added to
// the refusals, which are errors of single lanes. The error is of a hub whose lane lacks commits seen by
// this clone. If commits are lost here, because a gc took objects just fetched, the lane is fetched
// again.
func (m *laneMove) next(ctx context.Context) (to string, err error) {
	to, err = m.decide(ctx)
	if !fault.Is(err, fault.MissingObject) && !fault.Is(m.Refused(m.name), fault.MissingObject) {
		return to, err
	}
	if err := m.mendLane(ctx); err != nil {
		return "", err
	}
	return m.decide(ctx)
}

// mendLane brings the objects of the copy and its mirror that are lost here. An object that the hub has lost
// as well stays lost, which is no error.
func (m *laneMove) mendLane(ctx context.Context) error {
	_, _, err := m.mend(ctx, m.name, m.mirrored(m.name))
	if err != nil && !fault.Is(err, fault.MissingObject) {
		return err
	}
	m.laneTips, err = m.tipsOf(ctx, m.name)
	return err
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
// has no more: the same one. If the copy took over a stranger's merge before copies were looked at, it
// is its former tip, provided that the hub was cleaned.
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

// cleanBelow returns the tip of a lane before the first merge by a stranger; "" if there is none, or it cannot
// be read.
func (m *laneMove) cleanBelow(ctx context.Context, tip string) string {
	if cut, ok, err := m.checker.Cut(ctx, tip, ""); ok && err == nil {
		return cut
	}
	return ""
}

// refuse notes why the copy stays: because of the hub's tip, which its administrator can put back to was,
// or because this clone lost a part of the lane.
func (m *laneMove) refuse(tip, was string, why error) {
	if !fault.Is(why, fault.MissingObject) {
		why = m.errRefused(m.name, tip, was, why)
	}
	m.refused.Store(m.name, why)
}

// rewound looks again at a lane whose mirror does not stand on the copy. Another command of this clone
// may have moved the copy on since the hub was asked, so it is asked again.
func (m *laneMove) rewound(ctx context.Context) (to string, err error) {
	now, err := m.refetchLane(ctx, m.name)
	if err != nil {
		return "", err
	}
	again := &laneMove{m.laneCopies, laneTips{m.name, m.was, now}}
	if now == "" || now == m.was {
		return m.was, nil
	}
	if ok, err := m.extends(ctx, now, m.was); err != nil {
		return "", err
	} else if ok {
		return again.next(ctx)
	}
	cut, ok, err := again.cut(ctx)
	if err != nil {
		return "", err
	}
	if !ok {
		return "", m.Alias.errRollback(m.RemoteName(m.name))
	}
	m.refused.Delete(m.name)
	again.was = cut
	to, err = again.next(ctx)
	if fault.Is(err, fault.Rollback) { // the copy keeps the commits seen by this clone
		err = errors.Join(m.Repo.Apply(ctx, refs.Transaction{Edits: []refs.Edit{{Ref: m.name, Old: m.was, New: cut}}}), err)
	}
	return to, err
}

// cut finds the tip of a copy before an untrusted merge, if that tip is known and the hub has
// no more than that. Not ok if the copy is in order.
func (m *laneMove) cut(ctx context.Context) (tip string, ok bool, err error) {
	if m.checker == nil || m.checker.MayMove(ctx, "", m.was) == nil {
		return "", false, nil
	}
	return m.checker.Cut(ctx, m.was, m.now)
}
