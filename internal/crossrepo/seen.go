package crossrepo

import (
	"context"
	"time"

	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
)

// recent is how old the last read of a hub may be for a claim without a look.
const recent = time.Hour

// MayClaimSeen reports whether it is worth a try to claim what this clone knows of the hub: it
// read the hub a short time ago, and the last such try was not in vain.
func (h *fetcher) MayClaimSeen() bool {
	return time.Since(h.LastRead()) < recent && !h.book.findings().Contested
}

// idle is how long a clone may leave a hub unread before it fetches the whole inbox again: by then
// the other agents have changed it.
const idle = 10 * time.Minute

// DueForWhole reports whether an agent sharing its inbox with a crowd should fetch all of it,
// with the log: it has not done so for a while, or was busy otherwise, and this clone fetches
// the log along.
func (h *fetcher) DueForWhole() bool {
	looked := time.Unix(h.book.findings().Looked, 0)
	return h.wantsLog() && (time.Since(looked) >= recent || time.Since(h.LastRead()) >= idle)
}

// NoteWhole notes such a fetch.
func (h *fetcher) NoteWhole() {
	h.book.note(func(k *findings) { k.Looked = time.Now().Unix() })
}

// AdvanceSeen moves the copy of a lane on to the mirror of an earlier look, and reports whether
// the copy then says everything the look brought. A claim on that state needs no look: it is
// leased at what was seen, so the hub refuses it if anything has moved.
func (h *fetcher) AdvanceSeen(ctx context.Context, id handoff.ID) bool {
	s, err := h.tipsOf(ctx, h.Namespace().Lane(id))
	if err != nil || s.was == "" && s.now == "" || h.Stuck(s.name) != nil {
		return false
	}
	if ahead, err := h.extends(ctx, s.was, s.now); err != nil || ahead {
		return err == nil // a step of this clone has moved the copy past the mirror
	}
	if h.checker.MayMove(ctx, s.was, s.now) != nil {
		return false
	}
	return h.Repo.Apply(ctx, refs.Transaction{Edits: []refs.Edit{{Ref: s.name, Old: s.was, New: s.now}}}) == nil
}

// FetchAlong fetches nothing itself. The first look at the hub until stop is called, whatever its reason, brings
// spec as well. stop reports whether there was one.
func (h *fetcher) FetchAlong(spec lifecycle.FetchSpec) (stop func() (looked bool)) {
	h.along = &spec
	return func() (looked bool) {
		looked = h.along == nil
		h.along = nil
		return looked
	}
}

// NoteContested notes whether others claim from the hub as well: a claim tried without a look came too
// late.
func (h *fetcher) NoteContested(contested bool) {
	h.book.note(func(k *findings) { k.Contested = contested })
}
