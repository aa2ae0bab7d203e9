package crossrepo

import (
	"context"
	"slices"
	"time"

	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
)

// recent is how long ago a hub was read at most for a claim that is tried without a look.
const recent = time.Hour

// Recalls reports whether it is worth a try to claim what this clone knows of a hub: it
// read the hub a short time ago, and the last such try was not in vain.
func Recalls(h *Hub) bool {
	return time.Since(h.LastRead()) < recent && !readKnown(&h.remote).Contested
}

// Recall moves the copy of a lane on to the mirror of an earlier look, and reports whether
// the copy says all that look brought. A claim on that state needs no look: it is leased
// at what was seen, so that the hub refuses it if anything has moved.
func Recall(ctx context.Context, h *Hub, id handoff.ID) bool {
	s, err := h.shownOf(ctx, h.Namespace().Lane(id))
	switch {
	case err != nil || s.was == "" && s.now == "" || h.Refused(s.name) != nil:
		return false
	case s.now == "" || s.now == s.was || s.was != "" && h.ancestor(ctx, s.now, s.was):
		return true // a step of this clone has moved the copy on since
	case h.judge != nil && h.judge.MayMove(ctx, s.was, s.now) != nil:
		return false
	}
	return h.Repo.Apply(ctx, refs.Transaction{Edits: []refs.Edit{{Ref: s.name, Old: s.was, New: s.now}}}) == nil
}

// Along asks for more with the next look at a hub, for whichever reason that is made. It
// returns what reports whether there was one, and ends that.
func Along(h *Hub, spec lifecycle.FetchSpec) (end func() (looked bool)) {
	h.along = &spec
	return func() bool {
		looked := h.along == nil
		h.along = nil
		return looked
	}
}

// withAlong adds to a look what is asked for along with it.
func (h *asking) withAlong(l Look) (_ Look, brought func()) {
	along := h.along
	if along == nil {
		return l, func() {}
	}
	l.Inboxes = append(slices.Clone(l.Inboxes), along.Inboxes...)
	l.Log = l.Log || along.Log
	return l, func() { h.along = nil }
}

// Met notes whether a claim that was tried without a look came too late.
func Met(h *Hub, late bool) {
	if k := readKnown(&h.remote); k.Contested != late {
		k.Contested = late
		writeKnown(&h.remote, k)
	}
}
