package crossrepo

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/gitobj"
	"githandoff/internal/handoff"
	"githandoff/internal/refs"
)

// Whoever may push to a hub without a guard can put anything below the name of the log. So a
// fetch of the whole log, made along with the lanes needed by a command, is bounded by the
// number of lanes, while the hub lists them, and by the size of the pack. After a hub exceeds
// the bound, only single lanes are fetched.
const (
	// mostPack is the size of the pack in bytes: the log of some 20,000 handoffs.
	mostPack = 32 << 20

	// narrowTime is how long only single lanes are fetched after a hub exceeded the bound.
	narrowTime = 7 * 24 * time.Hour
)

// errTooMuch ends a fetch of a log with more lanes than there can be.
var errTooMuch = errors.New("more lanes than handoffs can have")

// bound limits a fetch of the whole log. A nil bound is no limit.
type bound struct {
	objects string          // the directory
	names   refNames        // of refs at the hub
	size    int64           // of a file, in bytes
	lanes   map[string]bool // listed by the hub
	listed  bool            // it has listed a ref
	full    bool            // the size has ended a git
}

func newBound(h *remote) *bound {
	b := &bound{objects: h.Repo.Objects, names: h.refNames, size: mostPack, lanes: map[string]bool{}}
	if info, err := os.Stat(filepath.Join(h.Repo.CommonDir, "packed-refs")); err == nil {
		b.size += info.Size() // git may write it anew, and needs room for it
	}
	b.size -= b.size % 1024 // files are bounded in blocks
	return b
}

// countLane counts the lanes of a listing: "<object id> <ref>". Other lines with refs, such as
// the request for them, have no object id.
func (b *bound) countLane(packet string) (enough bool) {
	oid, name, ok := strings.Cut(packet, " ")
	if !ok || !gitobj.IsID(oid) {
		return false
	}
	b.listed = true
	if local, ok := b.names.here(name); ok && b.names.copies.InLog(local) {
		b.lanes[local] = true
	}
	return b.over()
}

// over reports whether the hub has listed more lanes than there can be.
func (b *bound) over() bool { return b != nil && len(b.lanes) > handoff.MaxLanes }

// passed reports whether a fetch ended because it exceeded its bound, as far as can be told:
// either the hub answered and git did not get through the answer, or git reached the size
// before it could ask, because the user keeps a trace in a larger file.
func (b *bound) passed(err error) bool {
	return b.over() || b != nil && err != nil && (b.listed || b.full) && !errors.Is(err, context.Canceled) && fault.Is(err, fault.RemoteUnavailable)
}

// sweep removes the unfinished file, of just that size, left by a git ended by the bound.
func (b *bound) sweep() {
	for _, pattern := range []string{"pack/tmp_pack_*", "tmp_obj_*", "??/tmp_obj_*"} {
		names, _ := filepath.Glob(filepath.Join(b.objects, pattern)) // the pattern is right
		for _, name := range names {
			if info, err := os.Lstat(name); err == nil && info.Size() == b.size {
				_ = os.Remove(name) // git gc removes it otherwise
			}
		}
	}
}

// wantsLog reports whether this clone fetches the whole log of a hub along with the lanes it
// needs. A shallow clone wants no history, and handoff.lanes decides for any other. Nobody
// wants a log that recently exceeded its bound.
func (h *fetcher) wantsLog() bool {
	switch h.Repo.Config.Get("handoff.lanes") {
	case "all":
		return true
	case "needed":
		return false
	}
	if time.Since(time.Unix(h.book.findings().Narrow, 0)) < narrowTime {
		return false
	}
	_, err := os.Stat(filepath.Join(h.Repo.CommonDir, "shallow"))
	return errors.Is(err, fs.ErrNotExist)
}

// narrow notes that a hub shows more than a log can be, and drops refs fetched earlier whose
// names are not those of lanes.
func (h *fetcher) narrow(ctx context.Context) error {
	h.book.note(func(k *findings) { k.Narrow = time.Now().Unix() })
	_, err := h.dropOdd(ctx)
	return err
}

// dropOdd drops the refs among the lanes of the mirror, or their copies, whose names are not
// those of lanes. They are the memory of nothing, and a ref below a lane stands in the way of
// the lane.
func (h *laneCopies) dropOdd(ctx context.Context) (dropped bool, err error) {
	list, err := h.Repo.List(ctx, h.Mirror().Lanes(), h.Namespace().Lanes())
	if err != nil {
		return false, err
	}
	var drop []refs.Edit
	for _, ref := range list {
		if _, lane, _ := strings.Cut(ref.Name, "/log/"); !handoff.IsLane(lane) {
			drop = append(drop, refs.Edit{Ref: ref.Name, Old: ref.OID})
		}
	}
	return len(drop) > 0, refs.ApplyUnlessMoved(ctx, h.Repo, drop)
}

// widen allows the whole log of a hub to be fetched again. This clone has just read all of it
// and found a log of handoffs.
func (h *fetcher) widen(ctx context.Context) error {
	if h.book.findings().Narrow == 0 {
		return nil
	}
	list, err := h.Repo.List(ctx, h.Mirror().Lanes())
	if err != nil || len(list) > handoff.MaxLanes {
		return err
	}
	h.book.note(func(k *findings) { k.Narrow = 0 })
	return nil
}
