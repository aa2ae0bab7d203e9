package crossrepo

import (
	"context"
	"errors"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/refs"
)

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

// cleanBelow returns the tip of a lane before the first merge by a stranger; "" if there is none, or it cannot
// be read.
func (m *laneMove) cleanBelow(ctx context.Context, tip string) string {
	if cut, ok, err := m.checker.Cut(ctx, tip, ""); ok && err == nil {
		return cut
	}
	return ""
}

// refetchLane fetches the lane of a copy into the mirror once more, and returns where the hub has it.
func (h *laneCopies) refetchLane(ctx context.Context, name string) (now string, err error) {
	// A fetch does not move a symbolic ref. Only somebody here makes one.
	_, _ = h.Repo.Runner.Run(ctx, gitexec.Cmd{Args: []string{"symbolic-ref", "--quiet", "--delete", h.mirrored(name)}})
	spec := specOf(h.RemoteName(name), h.mirrored(name))
	if err := h.errUnreachable(h.fetch(ctx, fetchRequest{specs: []string{spec}})); err != nil {
		return "", err
	}
	return h.Repo.Resolve(ctx, h.mirrored(name))
}
