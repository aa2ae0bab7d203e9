package crossrepo

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/gitobj"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
)

// fetchArgs begin every fetch. They prune, unless --no-prune follows.
var fetchArgs = []string{
	"-c", "advice.fetchShowForcedUpdates=false", // the advice would recommend forced updates, and hide why a fetch failed
	"fetch", "--quiet", "--prune", "--no-tags", "--no-filter", "--refmap=", "--no-write-fetch-head", "--no-show-forced-updates",
	"--no-recurse-submodules", "--no-auto-maintenance", "--no-write-commit-graph",
}

// fetchRequest describes one git fetch from a hub.
type fetchRequest struct {
	flags, specs []string
	bound        *bound // limits of a fetch of the whole log; nil for none
	notes        bool   // fetch the notes too; their files can be of any size
	verified     bool   // let git check the form of each object
	onePack      bool   // store all fetched objects in one pack
}

// fetch runs git fetch. A concurrent gc does not remove what it fetched.
func (h *remote) fetch(ctx context.Context, r fetchRequest) error {
	b := r.bound
	for try := 0; ; try++ {
		gc := h.Repo.Store.WatchGC()
		args := slices.Concat(r.settings(h.Repo.Config, gc.Ran || r.onePack), fetchArgs, r.flags, []string{"--", h.Alias.target}, r.specs)
		shallow := false
		cmd := gitexec.Cmd{Args: args, Timeout: gitexec.RemoteTimeout, Env: r.memoryLimit(h), Warned: func(stderr string) {
			shallow = strings.Contains(stderr, rejectedShallow)
		}}
		if b != nil {
			clear(b.lanes)
			clear(b.published)
			cmd.MaxFile, cmd.OnPacket = b.size, b.count
		}
		_, err := h.connect(ctx, cmd)
		if b != nil {
			b.full = gitexec.PastMaxFile(err)
		}
		switch {
		case b.over():
			return errTooMuch
		case shallow:
			return h.Alias.errShallow()
		}
		if err == nil && gc.Seen() {
			err = packFetched(ctx, h)
		}
		if err == nil {
			h.stamp()
			_ = refs.PackMany(ctx, h.Repo, h.Namespace(), h.Mirror) // the copies are right even if packing fails
			return nil
		}
		if gitexec.PastMaxAlloc(err) && !r.onePack {
			r.onePack = true
			continue
		}
		gone, herr := h.mendAfter(ctx, err)
		if herr != nil {
			return herr
		}
		// Two fetches of one clone contend for the lock of a tracking ref. A concurrent gc may
		// remove what one has just brought.
		again := gitexec.ExitCode(err) == 1 || gone || wentMeanwhile(err) || gc.Seen()
		if !again || try == 3 {
			return err
		}
		if perr := refs.Pause(ctx, try); perr != nil {
			return perr
		}
	}
}

// rejectedShallow is in the warning of a git that fetched without a ref whose history the hub does not have.
const rejectedShallow = "because shallow roots are not allowed to be updated"

// errShallow refuses a hub that was made by a fetch with a depth: a log without its beginning proves nothing.
func (a *Alias) errShallow() error {
	return fault.New(fault.Unavailable, fault.HubRefused, "cannot read %s (%s): it is a shallow repository, which lacks the history of some handoffs", a.Name, a.URL).
		WithHints(fault.Fact("git fetch --unshallow completes it, run there by its administrator with the repository that it was made from"))
}

// memoryLimit returns the variable that limits the memory of a fetching git to 128 MiB, of which a table
// of a million objects takes half. A hub that is a path gets none, because its git would be limited
// too. Notes are read with less memory from any hub: git writes their large files to the disk piece
// by piece, and fails where it would need more.
func (r fetchRequest) memoryLimit(h *remote) []string {
	switch {
	case r.notes:
		return []string{gitexec.MaxAlloc(32)}
	case strings.HasPrefix(h.Alias.RepoID, fileScheme):
		return nil
	}
	return []string{gitexec.MaxAlloc(128)}
}

// settings returns the settings of a fetch.
//
// fetch.unpackLimit is the number of objects from which a fetch stays one pack. While a gc runs,
// every fetch does: git protects a pack from gc until refs lead to it. Otherwise the user's limit
// wins, and by default a fetch from a crowded hub stays a pack: each later push and fetch reads its
// objects, and each loose object is a file to open. git before 2.38 also needs memory for the whole
// of an object that it writes loose, which the variable of memoryLimit forbids; it reads a pack piece by
// piece.
//
// A bounded fetch of the whole log and of offers does not tell the hub which commits are here.
// Otherwise git names all lanes that have not moved, up to 500, in rounds of 16, 32, 64 and more,
// because an offer has no ancestor at which the hub could end the rounds. Over HTTP or ssh each
// round is a round trip. Instead the hub sends each lane that has moved as a whole, a thousandth of
// the log, within the bound. Most of those objects are here, and git writes only the others, so the
// limit is git's default. Notes can be many, so a fetch with notes tells what is here.
func (r fetchRequest) settings(c refs.Config, onePack bool) []string {
	var set []string
	switch {
	case onePack:
		set = []string{"-c", "fetch.unpackLimit=1"}
	case c.Get("fetch.unpacklimit") != "" || c.Get("transfer.unpacklimit") != "":
	case r.bound != nil || r.notes:
		set = []string{"-c", "fetch.unpackLimit=100"}
	default:
		set = []string{"-c", "fetch.unpackLimit=20"}
	}
	switch {
	case r.notes:
		set = append(set, "-c", "core.bigFileThreshold=128k")
	case r.bound.ofLog():
		set = append(set, "-c", "fetch.negotiationAlgorithm=noop")
	}
	if r.verified {
		set = append(set, "-c", "fetch.fsckObjects=true")
	}
	return set
}

// packFetched packs the loose objects of all copies of a hub, also those from before the fetch. A
// "git gc --prune=now" removes the loose objects it chose before the refs moved, but no pack. If
// some are gone already, packFetched drops the plain copies, and the next try fetches them again.
func packFetched(ctx context.Context, h *remote) error {
	list, err := h.Repo.List(ctx, string(h.Namespace()), string(h.Mirror))
	if err != nil {
		return err
	}
	var tips strings.Builder
	var copies []refs.Edit
	for _, ref := range list {
		tips.WriteString(ref.OID + "\n")
		if isPlainCopy(h, ref.Name) {
			copies = append(copies, refs.Edit{Ref: ref.Name, Old: ref.OID})
		}
	}
	_, err = h.Repo.Runner.Run(ctx, gitexec.Cmd{
		Args:  []string{"pack-objects", "--quiet", "--revs", "--unpacked", "--incremental", "--non-empty", filepath.Join(h.Repo.Objects, "pack", "pack")},
		Stdin: strings.NewReader(tips.String()), Finish: true,
	})
	if err == nil {
		return nil
	}
	return errors.Join(err, h.Repo.Apply(ctx, refs.Transaction{Edits: copies}))
}

// isPlainCopy reports whether a copy only repeats the hub's ref: it is not the memory of a lane or
// of a key.
func isPlainCopy(h *remote, ref string) bool {
	name, copied := strings.CutPrefix(ref, string(h.Namespace()))
	return strings.HasPrefix(ref, string(h.Mirror)) ||
		copied && (strings.HasPrefix(name, "inbox/") || strings.HasPrefix(name, "work/") || ref == h.NotesCopy())
}

// wentMeanwhile reports whether a hub lost an object, by a step of another agent or a gc,
// between its list of refs and its answer.
func wentMeanwhile(err error) bool {
	e, ok := errors.AsType[*gitexec.Error](err)
	return ok && (strings.Contains(e.Stderr, "not our ref ") || strings.Contains(e.Stderr, "bad pack header"))
}

// Anyone who may push to a hub without a guard can put anything into its log and among its published
// keys. So a fetch of all of them, along with the lanes that a command needs, is bounded by the number of
// refs that the hub lists, and by the size of the pack. After a hub exceeds a bound, only single lanes, or
// only the published keys that are trusted here, are fetched.
const (
	// mostPublished is the number of published refs: four times as many as a team's list holds.
	mostPublished = 4096

	// mostPack is the size of the pack in bytes: the log of some 20,000 handoffs.
	mostPack = 32 << 20

	// narrowTime is how long a hub that exceeded a bound is asked for less.
	narrowTime = 7 * 24 * time.Hour
)

// errTooMuch is the error of a fetch from a hub with more lanes or published refs than there can be.
var errTooMuch = errors.New("more refs than a hub of handoffs can have")

// bound limits a fetch of the whole log or of all published refs. A nil bound is no limit.
type bound struct {
	objects string   // object directory of this repository
	names   refNames // names of refs at the hub
	log     bool     // the fetch asks for the whole log
	dirs    []string // the beginnings of published refs that the fetch asks for, as those of their copies
	size    int64    // limit of each file that git writes, in bytes

	// The refs that the hub listed, by the names of their copies.
	lanes, published map[string]bool

	listed bool // the hub has listed a ref
	full   bool // git stopped at the limit of a file
}

// newBound makes the bound of a fetch; nil if it asks neither for the whole log nor for all published refs.
func newBound(h *remote, spec lifecycle.FetchSpec) *bound {
	dirs := slices.DeleteFunc(slices.Clone(spec.Published), func(ref string) bool { return !isDir(ref) })
	if !spec.Log && len(dirs) == 0 {
		return nil
	}
	b := &bound{objects: h.Repo.Objects, names: h.refNames, log: spec.Log, dirs: dirs, size: mostPack, lanes: map[string]bool{}, published: map[string]bool{}}
	if info, err := os.Stat(filepath.Join(h.Repo.CommonDir, "packed-refs")); err == nil {
		b.size += info.Size() // git may rewrite packed-refs under the same limit
	}
	b.size -= b.size % 1024 // the limit of the system counts blocks
	return b
}

// ofLog reports whether it limits a fetch of the whole log.
func (b *bound) ofLog() bool { return b != nil && b.log }

// count counts a listed ref: "<object id> <ref>". Other packets with refs, such as the request
// for the list, have no object id. It reports whether there are too many.
func (b *bound) count(packet string) (enough bool) {
	oid, name, ok := strings.Cut(packet, " ")
	if !ok || !gitobj.IsID(oid) {
		return false
	}
	b.listed = true
	switch local, ok := b.names.here(name); {
	case ok && b.names.copies.InLog(local):
		b.lanes[local] = true
	case ok && slices.ContainsFunc(b.dirs, func(dir string) bool { return strings.HasPrefix(local, dir) }):
		b.published[local] = true
	}
	return b.over()
}

// over reports whether the hub has listed more than there can be.
func (b *bound) over() bool { return b != nil && (b.manyLanes() || b.manyKeys()) }

func (b *bound) manyLanes() bool { return b.log && len(b.lanes) > handoff.MaxLanes }

func (b *bound) manyKeys() bool { return len(b.published) > mostPublished }

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
	if isRecent(h.book.findings().Narrow) {
		return false
	}
	_, err := os.Stat(filepath.Join(h.Repo.CommonDir, "shallow"))
	return errors.Is(err, fs.ErrNotExist)
}

// Crowded reports whether of the published keys only those trusted here are fetched, because there were too many
// not long ago.
func (h *fetcher) Crowded() bool {
	return h.Repo.Config.Get("handoff.lanes") != "all" && isRecent(h.book.findings().Crowded)
}

func isRecent(exceeded int64) bool { return time.Since(time.Unix(exceeded, 0)) < narrowTime }

// noteExceeded notes which bounds a hub exceeded. If the log exceeded its own, noteExceeded drops fetched refs of the
// log that are not named like lanes.
func (h *fetcher) noteExceeded(ctx context.Context, log, published bool) error {
	h.book.note(func(k *findings) {
		if log {
			k.Narrow = time.Now().Unix()
		}
		if published {
			k.Crowded = time.Now().Unix()
		}
	})
	if !log {
		return nil
	}
	_, err := h.dropOdd(ctx)
	return err
}

// dropOdd drops the refs of the log, in the mirror and among the copies, that are not named like
// lanes. They record nothing, and a ref below a lane blocks the lane.
func (h *laneCopies) dropOdd(ctx context.Context) (dropped bool, err error) {
	list, err := h.Repo.List(ctx, h.Mirror.Lanes(), h.Namespace().Lanes())
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
	list, err := h.Repo.List(ctx, h.Mirror.Lanes())
	if err != nil || len(list) > handoff.MaxLanes {
		return err
	}
	h.book.note(func(k *findings) { k.Narrow = 0 })
	return nil
}
