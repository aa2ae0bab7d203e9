package crossrepo

import (
	"context"
	"strings"

	"githandoff/internal/handoff"
	"githandoff/internal/refs"
)

// LooksFirst implements lifecycle.Scout. A push that is refused is followed by a look and
// by another push, so that where the first one is likely to fail the look comes first:
// two connections in place of three. The result of the last offer predicts the next one.
// A lane of which this clone has no copy counts as moved, unless the clone has read the
// whole log, or nothing of the hub at all.
func (h *Hub) LooksFirst(ctx context.Context, id handoff.ID) bool {
	if h.LaneIsFresh(id) {
		return false
	}
	lane := h.Namespace().Lane(id)
	tip, err := h.Repo.Resolve(ctx, lane)
	if err != nil {
		return false
	}
	k := readKnown(&h.remote)
	if !k.Moved && (tip != "" || k.Whole || h.LastRead().IsZero()) {
		return false
	}
	h.scouted.Store(lane, tip)
	return true
}

// met notes whether the lanes of a push were where this clone had them.
func met(h *Hub, edits []refs.Edit, moved []string) {
	k := readKnown(&h.remote)
	before := k
	for _, e := range edits {
		if tip, ok := h.scouted.LoadAndDelete(e.Ref); ok {
			k.Moved = tip != e.Old
		}
		for _, name := range moved {
			k.Moved = k.Moved || name == h.RemoteName(e.Ref) && strings.HasPrefix(e.Ref, h.Namespace().Lanes())
		}
	}
	if k != before {
		writeKnown(&h.remote, k)
	}
}
