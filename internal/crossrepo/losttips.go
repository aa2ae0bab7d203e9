package crossrepo

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/private"
	"githandoff/internal/refs"
)

// A copy of a lane is dropped once its commit is lost: git fetches nothing into a clone with such a
// ref. The id of that commit is written to a file, and stays there until the hub shows a lane that
// contains it. So a hub that was set back meanwhile is refused each time, also after a kill.

// lostDir returns the directory of these files: <common>/githandoff/lost/<h>.
func lostDir(h *remote) string { return h.Repo.Own("lost/" + path.Base(string(h.Namespace()))) }

// lostFile returns the file <cc> there, for a copy of a lane.
func lostFile(h *remote, lane string) string {
	return filepath.Join(lostDir(h), strings.TrimPrefix(lane, h.Namespace().Lanes()))
}

// dropCopies removes copies, as far as they still stand where they did, and writes down where those of
// lanes stood.
func dropCopies(ctx context.Context, h *remote, copies []refs.Ref) error {
	unlock, err := lockTips(ctx, h)
	if err != nil {
		return err
	}
	defer unlock()
	var edits []refs.Edit
	for _, ref := range copies {
		if now, err := h.Repo.Resolve(ctx, ref.Name); err != nil {
			return err
		} else if now != ref.OID {
			continue
		}
		edits = append(edits, refs.Edit{Ref: ref.Name, Old: ref.OID})
		if cc, ok := strings.CutPrefix(ref.Name, h.Namespace().Lanes()); !ok || !handoff.IsLane(cc) {
			continue
		}
		if err := private.WriteFile(lostFile(h, ref.Name), []byte(ref.OID+"\n")); err != nil {
			return err
		}
	}
	return h.Repo.Apply(ctx, refs.Transaction{Edits: edits})
}

// lockTips keeps other commands of this clone from writing or removing these files.
func lockTips(ctx context.Context, h *remote) (unlock func(), err error) {
	return private.Lock(ctx, h.Repo.Own("lost.lock"))
}

// lostTip returns where the dropped copy of a lane stood; "" if none was dropped.
func lostTip(h *remote, lane string) (string, error) {
	if !handoff.IsLane(strings.TrimPrefix(lane, h.Namespace().Lanes())) {
		return "", nil
	}
	file := lostFile(h, lane)
	b, err := private.ReadState(file, 64)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	oid := strings.TrimSuffix(string(b), "\n")
	if !handoff.IsHex(oid, 40) {
		return "", fault.New(fault.Invalid, fault.Malformed, "%s does not have the id of a commit", file)
	}
	return oid, nil
}

// lostTips lists the dropped copies of lanes.
func lostTips(h *remote) ([]refs.Ref, error) {
	files, err := os.ReadDir(lostDir(h))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var lost []refs.Ref
	for _, f := range files {
		name := h.Namespace().Lanes() + f.Name()
		oid, err := lostTip(h, name)
		if err != nil {
			return nil, err
		}
		if oid != "" {
			lost = append(lost, refs.Ref{Name: name, OID: oid})
		}
	}
	return lost, nil
}

// checkLost refuses a hub whose lane does not contain the tip of the dropped copy.
func checkLost(ctx context.Context, h *remote, s *laneTips, lost string) error {
	if ok, err := h.extends(ctx, s.now, lost); err != nil || ok {
		return err
	}
	return errLost(h, s.name)
}

func errLost(h *remote, lane string) error {
	return fault.New(fault.Denied, fault.Rollback, "%s has rewritten %s of its log, which this clone has seen and lost", h.Alias.Name, h.RemoteName(lane)).
		WithHints(fault.Fact("a clone that has all of that log brings the hub up to date: githandoff sync %s, there", h.Alias.Name))
}

// forgetTips removes the files that say what these copies say, or less.
func forgetTips(ctx context.Context, h *remote, found []refs.Ref) error {
	if len(found) == 0 {
		return nil
	}
	unlock, err := lockTips(ctx, h)
	if err != nil {
		return err
	}
	defer unlock()
	for _, ref := range found {
		if now, err := lostTip(h, ref.Name); err == nil && now == ref.OID { // else a copy was dropped since
			_ = os.Remove(lostFile(h, ref.Name)) // one that stays is read again
		}
	}
	return nil
}
