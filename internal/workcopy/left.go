package workcopy

import (
	"context"
	"errors"
	"path/filepath"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/refs"
	"githandoff/internal/snapshot"
)

// Left returns the handoffs with a recorded but abandoned work copy: its process was killed before
// reporting it.
func (h *Handler) Left() ([]handoff.ID, error) {
	all, err := h.copies().All()
	var ids []handoff.ID
	for _, c := range all {
		if h.busy(c) == nil {
			ids = append(ids, c.ID)
		}
	}
	return ids, err
}

// Clear removes an unfinished worktree, and the record of a finished one. In a work tree that
// existed before, files stay as they are.
func (h *Handler) Clear(ctx context.Context, id handoff.ID) error {
	c, err := h.copies().Get(id)
	if err != nil || c == nil {
		return err
	}
	switch {
	case c.Here:
		return h.drop(id)
	case c.Made:
		return errors.Join(snapshot.Unmark(c.Dir), h.drop(id))
	}
	return h.clear(ctx, c)
}

// Unfinished names, for each work copy left half made by a killed process, the command to
// complete it.
func (h *Handler) Unfinished() ([]error, error) {
	all, err := h.copies().All()
	var list []error
	for _, c := range all {
		switch {
		case c.Made || h.busy(c) != nil:
		case c.Here:
			list = append(list, c.begunHere())
		default:
			list = append(list, fault.New(fault.Conflict, fault.WorkTreeTaken, "the worktree %s for handoff %s was not finished", c.Dir, c.ID).
				WithHints(fault.Run("githandoff", "resume", "--worktree="+c.Dir, string(c.ID)).Because("makes it again"),
					fault.Run("githandoff", "gc").Because("removes it once the handoff has ended")))
		}
	}
	return list, err
}

// Files returns the files locked by git to check a snapshot out, for checkouts left half done by a
// killed process.
func (h *Handler) Files() (files []string) {
	all, _ := h.copies().All() // Unfinished reports what cannot be read
	for _, c := range all {
		if c.Made || h.busy(c) != nil {
			continue
		}
		files = append(files, filepath.Join(h.Repo.CommonDir, "refs", "heads", c.Branch))
		if dir, err := refs.GitDirOf(c.Dir); err == nil && c.Here {
			files = append(files, filepath.Join(dir, "index"), filepath.Join(dir, "HEAD"))
		}
	}
	return files
}
