package crossrepo

import (
	"context"
	"slices"
	"strings"

	"githandoff/internal/refs"
)

// LaneJudge decides which part of a lane may become the memory of this clone.
type LaneJudge interface {
	// MayMove says why the copy of a lane must not move from one tip to another.
	MayMove(ctx context.Context, from, to string) error
	// Cut finds the tip that a copy had before a stranger's merge was put on it.
	Cut(ctx context.Context, tip, below string) (cut string, ok bool, err error)
}

// Refused implements lifecycle.Wary.
func (h *lanes) Refused(lane string) error {
	if why, ok := h.refused.Load(lane); ok {
		return why.(error)
	}
	return nil
}

func (h *lanes) checkRefused(edits []refs.Edit) error {
	for _, e := range edits {
		if err := h.Refused(e.Ref); err != nil {
			return err
		}
	}
	return nil
}

// Refusals are the errors of single lanes of this hub, sorted.
func (h *lanes) Refusals() []error {
	var all []error
	h.refused.Range(func(_, why any) bool {
		all = append(all, why.(error))
		return true
	})
	slices.SortFunc(all, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return all
}
