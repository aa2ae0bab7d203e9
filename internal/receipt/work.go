package receipt

import (
	"context"

	"githandoff/internal/handoff"
	"githandoff/internal/refs"
)

// FreeWork lets go of the snapshot of what was sent.
func (w *Writer) FreeWork(ctx context.Context, id handoff.ID) []refs.Edit {
	old, err := w.Repo.Resolve(ctx, refs.WorkOut(id))
	if err != nil || old == "" {
		return nil
	}
	return []refs.Edit{{Ref: refs.WorkOut(id), Old: old}}
}
