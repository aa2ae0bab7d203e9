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

// Anyone who may push to a hub without a guard can put anything into its log. So a fetch of the
// whole log, along with the lanes that a command needs, is bounded by the number of lanes that the
// hub lists, and by the size of the pack. After a hub exceeds a bound, only single lanes are
// fetched.
const (
	// mostPack is the size of the pack in bytes: the log of some 20,000 handoffs.
	mostPack = 32 << 20

	// narrowTime is how long only single lanes are fetched after a hub exceeded the bound.
	narrowTime = 7 * 24 * time.Hour
)

// errTooMuch is the error of a fetch from a hub with more lanes than there can be.
var errTooMuch = errors.New("more lanes than handoffs can have")

// bound limits a fetch of the whole log. A nil bound is no limit.
type bound struct {
	objects string          // object directory of this repository
	names   refNames        // names of refs at the hub
	size    int64           // limit of each file that git writes, in bytes
	lanes   map[string]bool // lanes that the hub listed, by the names of their copies
	listed  bool            // the hub has listed a ref
	full    bool            // git stopped at the limit of a file
}

func newBound(h *remote) *bound {
	b := &bound{objects: h.Repo.Objects, names: h.refNames, size: mostPack, lanes: map[string]bool{}}
	if info, err := os.Stat(filepath.Join(h.Repo.CommonDir, "packed-refs")); err == nil {
		b.size += info.Size() // git may rewrite packed-refs under the same limit
	}
	b.size -= b.size % 1024 // the limit of the system counts blocks
	return b
}

// countLane counts a listed lane: "<object id> <ref>". Other packets with refs, such as the request
// for the list, have no object id. It reports whether there are too many lanes.
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

// exceeded reports whether a fetch probably failed at its bound: either the hub answered and git did
// not get through the answer, or git reached the size before it could ask, because the user keeps a
// trace in a larger file.
func (b *bound) exceeded(err error) bool {
	return b.over() || b != nil && err != nil && (b.listed || b.full) && !errors.Is(err, context.Canceled) && fault.Is(err, fault.RemoteUnavailable)
}

// sweep removes the unfinished file that git left when it reached the bound, by its exact size.
func (b *bound) sweep() {
	for _, pattern := range []string{"pack/tmp_pack_*", "tmp_obj_*", "??/tmp_obj_*"} {
		names, _ := filepath.Glob(filepath.Join(b.objects, pattern)) // Glob fails only on a malformed pattern
		for _, name := range names {
			if info, err := os.Lstat(name); err == nil && info.Size() == b.size {
				_ = os.Remove(name) // if this fails, git gc removes the file later
			}
		}
	}
}

// wantsLog reports whether this clone fetches the whole log of a hub along with the lanes it needs.
// The setting handoff.lanes decides. Without it a shallow clone does not, nor does any clone soon
// after the log exceeded its bound.
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

// narrow notes that a log exceeded its bound, and drops fetched refs that are not named like lanes.
func (h *fetcher) narrow(ctx context.Context) error {
	h.book.note(func(k *findings) { k.Narrow = time.Now().Unix() })
	_, err := h.dropOdd(ctx)
	return err
}

// dropOdd drops the refs of the log, in the mirror and among the copies, that are not named like
// lanes. They record nothing, and a ref below a lane blocks the lane.
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

// widen lets the whole log of a hub be fetched again, if the mirror, for which all of it was just
// read, has no more lanes than there can be.
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
