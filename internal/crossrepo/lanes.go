package crossrepo

import (
	"context"
	"slices"
	"strings"
	"sync"

	"githandoff/internal/gitexec"
	"githandoff/internal/handoff"
	"githandoff/internal/refs"
)

// lanes are the copies of a hub's lanes in this clone. They only move on: they are
// the memory of what the hub has said.
type lanes struct {
	remote
	judge LaneJudge

	read    sync.Map // lanes that were fetched in this command
	refused sync.Map // tracking refs of lanes that were not taken over, and why
}

func (h *lanes) refreshLanes(ctx context.Context, ids []handoff.ID) error {
	var specs []string
	for _, id := range ids {
		specs = append(specs, refs.LocalSpace.Lane(id)+"*:"+h.Space().Lane(id)+"*")
	}
	if err := h.FetchLanes(ctx, specs); err != nil {
		return err
	}
	for _, id := range ids {
		h.read.Store(id.Lane(), true)
	}
	return nil
}

// Reached implements lifecycle.Home.
func (h *lanes) Reached(id handoff.ID) bool {
	_, ok := h.read.Load(id.Lane())
	return ok
}

// Forget lets every lane be fetched anew: whoever waits asks again each time.
func (h *lanes) Forget() { h.read.Clear() }

// FetchedLane notes that the copy of a lane was fetched in this command.
func (h *lanes) FetchedLane(copied string) {
	h.read.Store(strings.TrimPrefix(copied, h.Space().Lanes()), true)
}

// RefreshAllLanes brings in every lane of the hub: what an audit needs.
func (h *lanes) RefreshAllLanes(ctx context.Context) error {
	return h.FetchLanes(ctx, []string{h.allLanes()})
}

// FetchLanes fetches lanes by refspecs. Copies of them only move forward; what else
// the refspecs name comes along.
func (h *lanes) FetchLanes(ctx context.Context, specs []string) error {
	if len(specs) == 0 {
		return nil
	}
	slices.Sort(specs)
	for again := true; ; again = false {
		before, err := h.lanesOf(ctx, specs)
		if err != nil {
			return err
		}
		mended, err := h.fetchForward(ctx, specs)
		switch {
		case err != nil:
			return err
		case !mended:
			return h.takeOver(ctx, specs, before)
		case !again:
			return h.errRollback(h.RemoteName(h.Space().Lanes()))
		}
	}
}

// fetchForward moves copies of lanes on, and never back. Mended says that it did not,
// and put back a copy that was in the way.
func (h *lanes) fetchForward(ctx context.Context, specs []string) (mended bool, err error) {
	// To show forced updates is to look for them: told not to, git takes every
	// update for a fast-forward, and would let a hub rewrite what we remember.
	err = h.fetch(ctx, []string{"--no-prune", "--show-forced-updates"}, slices.Compact(specs))
	if gitexec.ExitCode(err) == 1 {
		// git got the answer and would not move a ref. Is it no fast-forward?
		back, mended, berr := h.findRewound(ctx)
		switch {
		case berr != nil:
			return false, berr
		case back != "":
			return false, h.errRollback(back)
		case mended:
			return true, nil
		}
	}
	return false, h.errUnreachable(err)
}

// findRewound names a lane that the hub moved back or forked; "" where none. A copy that
// only has more because it took a merge of a stranger over is put back first.
func (h *lanes) findRewound(ctx context.Context) (back string, mended bool, err error) {
	all, err := h.diff(ctx)
	if err != nil {
		return "", false, err
	}
	for _, lane := range all {
		if lane.tip == "" || lane.tip == lane.OID || h.ancestor(ctx, lane.OID, lane.tip) {
			continue
		}
		cut, err := h.cut(ctx, lane.Ref, lane.tip)
		if err != nil {
			return "", false, err
		}
		if !cut {
			return lane.remote, mended, nil
		}
		mended = true
	}
	return "", mended, nil
}

// laneDiff is one lane that this clone has a copy of, and where the hub has it.
type laneDiff struct {
	refs.Ref
	remote string // its name at the hub
	tip    string // there; "" where the hub has none
}

// diff compares the copies of all lanes with the hub: one connection.
func (h *lanes) diff(ctx context.Context) ([]laneDiff, error) {
	there, err := h.RemoteLanes(ctx)
	if err != nil {
		return nil, err
	}
	ours, err := h.Repo.List(ctx, h.Space().Lanes())
	if err != nil {
		return nil, err
	}
	return h.against(ours, there), nil
}

// against pairs copies of lanes with where the hub has them.
func (h *lanes) against(ours []refs.Ref, there map[string]string) []laneDiff {
	all := make([]laneDiff, 0, len(ours))
	for _, lane := range ours {
		name := h.RemoteName(lane.Name)
		all = append(all, laneDiff{Ref: lane, remote: name, tip: there[name]})
	}
	return all
}
