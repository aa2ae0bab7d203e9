package crossrepo

import (
	"context"
	"slices"
	"strings"

	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
)

// LaneJudge says what of a lane may become the memory of this clone.
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

// Refusals are what is said against lanes of this hub, sorted.
func (h *lanes) Refusals() []error {
	var all []error
	h.refused.Range(func(_, why any) bool {
		all = append(all, why.(error))
		return true
	})
	slices.SortFunc(all, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return all
}

// allLanes is the refspec of every lane.
func (h *lanes) allLanes() string { return refs.LocalSpace.Lanes() + "*:" + h.Space().Lanes() + "*" }

// lanesOf are the copies that refspecs of lanes move, by name, and where they are. One
// lane is read by its name; a glob over all of them takes a process.
func (h *lanes) lanesOf(ctx context.Context, specs []string) (map[string]string, error) {
	tips := map[string]string{}
	if h.judge == nil {
		return tips, nil
	}
	for _, spec := range specs {
		_, copies, _ := strings.Cut(spec, ":")
		if !strings.HasPrefix(copies, h.Space().Lanes()) {
			continue // published keys and lists have histories of their own
		}
		name := strings.TrimSuffix(copies, "*")
		if spec != h.allLanes() {
			tip, err := h.Repo.Resolve(ctx, name)
			if err != nil {
				return nil, err
			}
			tips[name] = tip
			continue
		}
		list, err := h.Repo.List(ctx, name)
		if err != nil {
			return nil, err
		}
		for _, lane := range list {
			tips[lane.Name] = lane.OID
		}
	}
	return tips, nil
}

// takeOver looks at what a fetch brought. A lane with a merge that no root key signed
// goes back to where it was: the merge could hide a receipt, and this clone would give
// it back to a hub that was cleaned. The other lanes stay.
func (h *lanes) takeOver(ctx context.Context, specs []string, before map[string]string) error {
	now, err := h.lanesOf(ctx, specs)
	if err != nil {
		return err
	}
	all := slices.Contains(specs, h.allLanes())
	for name, tip := range now {
		was := before[name]
		if tip == "" || tip == was && all { // whoever wants all reads each of them anyway
			continue
		}
		why := h.judge.MayMove(ctx, was, tip)
		if why == nil {
			h.refused.Delete(name)
			continue
		}
		if tip == was {
			err = h.mend(ctx, refs.Ref{Name: name, OID: tip}, why)
		} else {
			err = h.putBack(ctx, name, tip, was, why)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// putBack undoes what a fetch did to one copy.
func (h *lanes) putBack(ctx context.Context, name, tip, was string, why error) error {
	h.refused.Store(name, lifecycle.PutBack(h.Alias.Name, h.RemoteName(name), tip, was, why))
	return h.Repo.Apply(ctx, refs.Transaction{Edits: []refs.Edit{{Ref: name, Old: tip, New: was}}})
}

// mend is for a copy that took a merge of a stranger over before copies were looked
// at: it is put back if the hub was cleaned.
func (h *lanes) mend(ctx context.Context, lane refs.Ref, why error) error {
	there, err := h.RemoteLanes(ctx)
	if err != nil {
		return err
	}
	tip := there[h.RemoteName(lane.Name)]
	if tip != lane.OID {
		if cut, err := h.cut(ctx, lane, tip); cut || err != nil {
			return err
		}
	}
	was, ok, err := h.judge.Cut(ctx, lane.OID, "")
	if err != nil || !ok {
		was = ""
	}
	h.refused.Store(lane.Name, lifecycle.PutBack(h.Alias.Name, h.RemoteName(lane.Name), lane.OID, was, why))
	return nil
}

// cut puts a copy back to what it was before a stranger's merge, if it is known what
// that was and the hub has no more than that.
func (h *lanes) cut(ctx context.Context, lane refs.Ref, hubTip string) (bool, error) {
	if h.judge == nil || h.judge.MayMove(ctx, "", lane.OID) == nil {
		return false, nil
	}
	tip, ok, err := h.judge.Cut(ctx, lane.OID, hubTip)
	if err != nil || !ok {
		return false, err
	}
	h.refused.Delete(lane.Name)
	return true, h.Repo.Apply(ctx, refs.Transaction{Edits: []refs.Edit{{Ref: lane.Name, Old: lane.OID, New: tip}}})
}
