package crossrepo

import (
	"context"
	"errors"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/refs"
)

// rewound asks the hub again for a lane that does not descend from its copy. Another command of
// this clone may have moved the copy since the first answer.
func (c *laneCopy) rewound(ctx context.Context) (to string, err error) {
	now, err := c.refetchLane(ctx, c.name)
	if err != nil {
		return "", err
	}
	again := &laneCopy{c.laneCopies, laneTips{c.name, c.was, now}}
	if now == "" || now == c.was {
		return c.was, nil
	}
	if ok, err := c.extends(ctx, now, c.was); err != nil {
		return "", err
	} else if ok {
		return again.next(ctx)
	}
	cut, ok, err := again.cut(ctx)
	if err != nil {
		return "", err
	}
	if !ok {
		return "", c.Alias.errRollback(c.RemoteName(c.name))
	}
	c.stuck.Delete(c.name)
	again.was = cut
	to, err = again.next(ctx)
	if fault.Is(err, fault.Rollback) { // the copy keeps the commits that this clone saw before the untrusted merge
		err = errors.Join(c.Repo.Apply(ctx, refs.Transaction{Edits: []refs.Edit{{Ref: c.name, Old: c.was, New: cut}}}), err)
	}
	return to, err
}

// cut finds the tip of a copy before an untrusted merge, if that tip is known and the hub has
// nothing after it. It is not ok if the copy is in order.
func (c *laneCopy) cut(ctx context.Context) (tip string, ok bool, err error) {
	if c.checker.MayMove(ctx, "", c.was) == nil {
		return "", false, nil
	}
	return c.checker.Cut(ctx, c.was, c.now)
}

// cleanBelow returns the tip of a lane before the first merge by a stranger; "" if there is none, or it cannot
// be read.
func (c *laneCopy) cleanBelow(ctx context.Context, tip string) string {
	if cut, ok, err := c.checker.Cut(ctx, tip, ""); ok && err == nil {
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
