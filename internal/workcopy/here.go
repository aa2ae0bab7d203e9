package workcopy

import (
	"context"

	"githandoff/internal/durable"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/snapshot"
)

// planHere plans the work copy of a handoff in this work tree, which is on another branch until
// then. One begun by a killed command is continued.
func (h *Handler) planHere(ctx context.Context, id handoff.ID, w *handoff.Work) (*Copy, error) {
	if h.Repo.Worktree == "" {
		return nil, fault.New(fault.Usage, fault.BareRepository, "a bare repository has no work tree into which a snapshot could be checked out")
	}
	before, made, err := h.before(ctx, id, w)
	if err != nil || made {
		return before, err
	}
	if before != nil && before.Here && !before.Made {
		if err := h.busy(before); err != nil {
			return nil, err
		}
		if before.Dir != h.Repo.Worktree || before.Commit != w.Commit {
			return nil, before.begunHere()
		}
		before.cutOff = true
		return before, nil
	}
	c := &Copy{
		ID: id, Dir: h.Repo.Worktree, Branch: "handoff/" + tail(id), Head: w.Head, Commit: w.Commit,
		Here: true, From: h.Repo.Head,
	}
	if h.Repo.Branch == c.Branch {
		c.Made = true // a resume has finished it, or was killed just before the end
		return c, nil
	}
	return c, h.branchFree(ctx, c)
}

// Fits refuses a snapshot which git would not check out, and a plan for this work tree if a file
// in it would be lost. Nothing is changed before.
func (h *Handler) Fits(ctx context.Context, c *Copy, contents *snapshot.Contents) error {
	switch {
	case c.Made || c.cutOff:
		return nil
	case !c.Here:
		return snapshot.Sound(ctx, contents)
	}
	return contents.FitsHere(ctx)
}

// begunHere: the work tree is half the user's own state and half the snapshot's.
func (c *Copy) begunHere() error {
	return fault.New(fault.Conflict, fault.WorkTreeTaken, "a checkout of the snapshot of handoff %s in %s was cut off", c.ID, c.Dir).
		WithHints(fault.Run("githandoff", "-C", c.Dir, "resume", "--here", string(c.ID)).Because("completes it; nothing that was changed since is lost"),
			fault.Run("git", "-C", c.Dir, "stash", "push", "--include-untracked").Because("puts aside what is there: use this to go back instead"))
}

// busy refuses a work copy which another process is making.
func (h *Handler) busy(c *Copy) error {
	if c.owner == nil && durable.Owned(h.ownerFile(c.ID)) {
		return fault.New(fault.Conflict, fault.WorkTreeTaken, "another process checks the snapshot out in %s now", c.Dir)
	}
	return nil
}

// makeHere checks a snapshot out in this work tree. Its record stays until the checkout is
// complete, unless it never began.
func (h *Handler) makeHere(ctx context.Context, c *Copy, contents *snapshot.Contents) error {
	if err := h.Fits(ctx, c, contents); err != nil {
		return err
	}
	if err := h.copies().Put(c.ID, c); err != nil {
		return err
	}
	if c.cutOff {
		if err := contents.FinishHere(ctx, c.Branch, c.From); err != nil {
			return err
		}
	} else if err := contents.CheckOutHere(ctx, c.Branch); err != nil {
		if fault.Is(err, fault.WorkTreeTaken) {
			_ = h.drop(c.ID)
		}
		return err
	}
	c.Made = true
	return h.copies().Put(c.ID, c)
}
