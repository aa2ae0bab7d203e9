package crossrepo

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"githandoff/internal/handoff"
	"githandoff/internal/refs"
)

// laneCopies are the copies of a hub's lanes in this clone. They only move forward, and only to
// checked commits: they are this clone's memory of the hub. The mirror has the hub's present
// lanes.
type laneCopies struct {
	remote
	checker LaneChecker

	fetched  sync.Map    // lanes fetched into the mirror by this command
	whole    atomic.Bool // this command fetched every lane into the mirror
	laneless atomic.Bool // the hub listed its refs, and no lane was among them
	fresh    sync.Map    // lanes fetched and checked by this command
	stuck    sync.Map    // errors of copies that could not move to the hub's tip, by name
}

// LaneIsFresh implements lifecycle.Home.
func (h *laneCopies) LaneIsFresh(id handoff.ID) bool {
	_, ok := h.fresh.Load(id.Lane())
	return ok
}

// AskAgain makes this command ask the hub again, as if it had read nothing of it yet, and got every
// answer.
func (h *laneCopies) AskAgain() {
	h.fetched.Clear()
	h.whole.Store(false)
	h.laneless.Store(false)
	h.fresh.Clear()
	h.book.forget()
	h.works.Store(nil)
	h.silent.Store(nil)
}

// inMirror reports whether this command fetched the lane of an id into the mirror.
func (h *laneCopies) inMirror(id handoff.ID) bool {
	_, ok := h.fetched.Load(id.Lane())
	return ok || h.whole.Load()
}

// noteFetched records which lanes a fetch put into the mirror. They must be checked again.
func (h *laneCopies) noteFetched(ids []handoff.ID, log bool) {
	for _, id := range ids {
		h.fetched.Store(id.Lane(), true)
		h.fresh.Delete(id.Lane())
	}
	if log {
		h.whole.Store(true)
		h.fresh.Clear()
		h.book.note(func(k *findings) { k.Whole = true })
	}
}

// notePushed notes lanes moved at the hub: the mirror has their former tips.
func (h *laneCopies) notePushed(edits []refs.Edit) {
	for _, e := range edits {
		if cc, ok := strings.CutPrefix(e.Ref, h.Namespace().Lanes()); ok {
			h.fetched.Delete(cc)
			h.whole.Store(false)
		}
	}
}

// Memory returns the copies of lanes. A comparison reads them before the mirror: another command of
// this clone may push meanwhile.
func (h *laneCopies) Memory(ctx context.Context) ([]refs.Ref, error) {
	list, err := h.Repo.List(ctx, h.Namespace().Lanes())
	if err != nil {
		return nil, err
	}
	known := slices.DeleteFunc(slices.Clone(list), func(ref refs.Ref) bool {
		return !handoff.IsLane(strings.TrimPrefix(ref.Name, h.Namespace().Lanes()))
	})
	if len(known) < len(list) {
		if _, err = h.dropOdd(ctx); err != nil {
			return nil, err
		}
	}
	return known, nil
}

// mirrorTips returns the lanes of the mirror, by their names at the hub.
func (h *laneCopies) mirrorTips(ctx context.Context) (map[string]string, error) {
	list, err := h.Repo.List(ctx, h.Mirror.Lanes())
	if err != nil {
		return nil, err
	}
	there := make(map[string]string, len(list))
	for _, lane := range list {
		there[h.RemoteName(lane.Name)] = lane.OID
	}
	return there, nil
}

// Lost names the lanes of a memory not shown by the hub when asked for them.
func (h *laneCopies) Lost(ctx context.Context, memory []refs.Ref) ([]string, error) {
	there, err := h.mirrorTips(ctx)
	if err != nil {
		return nil, err
	}
	return h.missing(memory, there), nil
}

// missing names the lanes of a memory that the hub does not have.
func (h *laneCopies) missing(memory []refs.Ref, there map[string]string) []string {
	var gone []string
	for _, s := range h.bothTips(memory, there) {
		if s.now == "" {
			gone = append(gone, h.RemoteName(s.name))
		}
	}
	return gone
}

// bothTips pairs the tips of copies with those of the lanes at the hub.
func (h *laneCopies) bothTips(ours []refs.Ref, there map[string]string) []laneTips {
	all := make([]laneTips, 0, len(ours))
	for _, lane := range ours {
		all = append(all, laneTips{lane.Name, lane.OID, there[h.RemoteName(lane.Name)]})
	}
	return all
}

// LaneChecker decides which part of a lane may become the memory of this clone.
type LaneChecker interface {
	// MayMove says why the copy of a lane must not move from one tip to another.
	MayMove(ctx context.Context, from, to string) error
	// Cut finds the tip of a copy before a stranger's merge was put on it.
	Cut(ctx context.Context, tip, below string) (cut string, ok bool, err error)
	// Unsigned reports whether nobody signed an entry of a lane, but for those to which another tip
	// leads.
	Unsigned(ctx context.Context, tip, but string) (bool, error)
}

// Stuck says why the copy of a lane does not follow the hub, by its name; nil if it does.
func (h *laneCopies) Stuck(lane string) error {
	if why, ok := h.stuck.Load(lane); ok {
		return why.(error)
	}
	return nil
}

// checkLanes refuses edits of a lane whose copy does not follow the hub.
func (h *laneCopies) checkLanes(edits []refs.Edit) error {
	for _, e := range edits {
		if err := h.Stuck(e.Ref); err != nil {
			return err
		}
	}
	return nil
}

// StuckLanes returns why copies of single lanes do not follow this hub, sorted.
func (h *laneCopies) StuckLanes() []error {
	var all []error
	h.stuck.Range(func(_, why any) bool {
		all = append(all, why.(error))
		return true
	})
	slices.SortFunc(all, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return all
}
