package receipt

import (
	"context"

	"githandoff/internal/handoff"
	"githandoff/internal/refs"
)

// FreeWork drops the snapshot of a sent handoff.
func (w *Writer) FreeWork(ctx context.Context, id handoff.ID) []refs.Edit {
	old, err := w.Repo.Resolve(ctx, refs.WorkOut(id))
	if err != nil || old == "" {
		return nil
	}
	return []refs.Edit{{Ref: refs.WorkOut(id), Old: old}}
}
