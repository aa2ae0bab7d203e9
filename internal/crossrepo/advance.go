package crossrepo

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/refs"
	"githandoff/internal/untrusted"
)

// laneTips are the two tips of a lane: that of its copy in this clone, and that at the hub when the
// hub was last asked. "" means no tip.
type laneTips struct {
	name     string // name of the copy
	was, now string
}

// advance moves the copies of some lanes forward to the mirror, which this command fetched.
func (h *laneCopies) advance(ctx context.Context, ids []handoff.ID) error {
	if len(ids) == 0 {
		return nil
	}
	err := h.advanceFrom(ctx, func() ([]laneTips, error) {
		var all []laneTips
		for _, id := range onePerLane(ids) {
			s, err := h.tipsOf(ctx, h.Namespace().Lane(id))
			if err != nil {
				return nil, err
			}
			all = append(all, s)
		}
		return all, nil
	})
	if err == nil {
		for _, id := range ids {
			h.fresh.Store(id.Lane(), true)
		}
	}
	return err
}

// onePerLane keeps only the first id of each lane.
func onePerLane(ids []handoff.ID) []handoff.ID {
	seen := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(ids), func(id handoff.ID) bool {
		again := seen[id.Lane()]
		seen[id.Lane()] = true
		return again
	})
}

// AdvanceAll is like advance for each lane in the mirror. It returns what Lost would say of a memory,
// without a second list of the mirror.
func (h *laneCopies) AdvanceAll(ctx context.Context, memory []refs.Ref) (lost []string, err error) {
	var all []laneTips
	err = h.advanceFrom(ctx, func() (moved []laneTips, err error) {
		all, err = h.allTips(ctx)
		for _, s := range all {
			if s.now != s.was {
				moved = append(moved, s)
				continue
			}
			h.stuck.Delete(s.name) // callers of AdvanceAll read each lane, and find lost objects themselves
		}
		return moved, err
	})
	if err != nil {
		return nil, err
	}
	there := make(map[string]string, len(all))
	for _, s := range all {
		h.fresh.Store(strings.TrimPrefix(s.name, h.Namespace().Lanes()), true)
		there[h.RemoteName(s.name)] = s.now
	}
	return h.missing(memory, there), nil
}

func (h *laneCopies) tipsOf(ctx context.Context, name string) (s laneTips, err error) {
	s.name = name
	if s.was, err = h.Repo.Resolve(ctx, name); err == nil {
		s.now, err = h.Repo.Resolve(ctx, h.mirrored(name))
	}
	return s, err
}

// errNoLane refuses a ref in the log that is not named like a lane. Such a ref is not copied.
// Copies are never pruned, and git keeps no ref below another one, so a copy below a lane would
// block the lane for good.
var errNoLane = errors.New("no lane has such a name")

// mostOdd limits how many refs that are not lanes one look names.
const mostOdd = 3

// allTips returns the lanes in the mirror. Any other ref there is noted as stuck.
func (h *laneCopies) allTips(ctx context.Context) ([]laneTips, error) {
	list, err := h.Repo.List(ctx, h.Namespace().Lanes(), h.Mirror.Lanes())
	if err != nil {
		return nil, err
	}
	was := map[string]string{}
	var all []laneTips
	odd := 0
	for _, ref := range list {
		if h.Namespace().InLog(ref.Name) {
			was[ref.Name] = ref.OID
		}
	}
	for _, ref := range list {
		lane, ok := strings.CutPrefix(ref.Name, h.Mirror.Lanes())
		if !ok {
			continue
		}
		name := h.Namespace().Lanes() + lane
		if !handoff.IsLane(lane) {
			if odd++; odd > mostOdd {
				continue
			}
			h.stuck.Store(name, h.errRefused(name, ref.OID, "", errNoLane))
			continue
		}
		all = append(all, laneTips{name, was[name], ref.OID})
	}
	if more := odd - mostOdd; more > 0 {
		h.stuck.Store(h.Namespace().Lanes(), fault.New(fault.Denied, fault.Rollback,
			"%s has %d more refs below %s with names that no lane has", h.Alias.Name, more, h.RemoteName(h.Namespace().Lanes())))
	}
	return all, nil
}

// advanceFrom checks the lanes that read returns, and moves in one transaction the copies that may move. If
// that fails, it reads and checks them again.
func (h *laneCopies) advanceFrom(ctx context.Context, read func() ([]laneTips, error)) error {
	const tries = 5
	for try := 0; ; try++ {
		list, err := read()
		if err != nil {
			return err
		}
		edits, back, err := h.movesOf(ctx, list)
		if err != nil {
			return err
		}
		err = h.Repo.Apply(ctx, refs.Transaction{Edits: edits})
		if err == nil {
			return back
		}
		if try == tries || ctx.Err() != nil {
			return err
		}
		switch {
		case errors.As(err, new(*refs.StaleError)): // another command of this clone moved a copy
		case fault.Is(err, fault.MissingObject): // a gc removed objects that were just checked
			var names []string
			for _, s := range list {
				names = append(names, h.mirrored(s.name))
			}
			if _, _, err := h.mend(ctx, names...); err != nil {
				return err
			}
		case try > 0:
			return err
		default: // copies that an older githandoff made below the name of a lane may block it
			if dropped, derr := h.dropOdd(ctx); !dropped || derr != nil {
				return err
			}
		}
	}
}

// movesOf returns the edits that move the copies of lanes. back is the error of a hub that lacks
// commits seen by this clone.
func (h *laneCopies) movesOf(ctx context.Context, list []laneTips) (edits []refs.Edit, back, err error) {
	for _, s := range list {
		c := &laneCopy{h, s}
		switch to, err := c.next(ctx); {
		case fault.Is(err, fault.Rollback):
			back = err
		case err != nil:
			return nil, nil, err
		case to != c.was:
			edits = append(edits, refs.Edit{Ref: c.name, Old: c.was, New: to})
		}
	}
	return edits, back, nil
}

// errRefused refuses a lane of the hub that this clone does not follow. If a former tip is known,
// the hint is how the hub's administrator puts the lane back.
func (h *laneCopies) errRefused(lane, tip, was string, why error) error {
	name := h.RemoteName(lane)
	f := fault.New(fault.Denied, fault.Rollback, "%s has a history in %s that this clone refuses: %w", h.Alias.Name, untrusted.Ref(name), why)
	if was == "" {
		return f
	}
	return f.WithHints(inHub(h.Alias, "puts the lane back", name, was, tip))
}

// laneCopy is the copy of one lane. It follows the hub's lane, or stays.
type laneCopy struct {
	*laneCopies
	laneTips
}

// next returns the next tip of the copy, which is the present one if the copy stays.
// [laneCopies.Stuck] says why it stays. next fails if the hub's lane lacks commits seen by this
// clone. If commits are lost here, next fetches the lane again.
func (c *laneCopy) next(ctx context.Context) (to string, err error) {
	to, err = c.decide(ctx)
	if !fault.Is(err, fault.MissingObject) && !fault.Is(c.Stuck(c.name), fault.MissingObject) {
		return to, err
	}
	_, _, err = c.mend(ctx, c.name, c.mirrored(c.name))
	if err != nil && !fault.Is(err, fault.MissingObject) { // the hub may have lost the object as well
		return "", err
	}
	if c.laneTips, err = c.tipsOf(ctx, c.name); err != nil {
		return "", err
	}
	return c.decide(ctx)
}

// decide is like next, but fetches no lost commits.
func (c *laneCopy) decide(ctx context.Context) (to string, err error) {
	switch {
	case c.was == "" && c.now == "":
		c.stuck.Delete(c.name)
		return "", nil
	case c.now == c.was || c.now == "":
		return c.unmoved(ctx)
	}
	why := c.checker.MayMove(ctx, c.was, c.now)
	switch {
	case why == nil:
		c.stuck.Delete(c.name)
		return c.now, nil
	case ctx.Err() != nil:
		return "", ctx.Err()
	}
	if ok, err := c.extends(ctx, c.now, c.was); err != nil {
		return "", err
	} else if ok {
		c.stay(c.now, cmp.Or(c.was, c.cleanBelow(ctx, c.now)), why)
		return c.was, nil
	}
	return c.rewound(ctx)
}

// unmoved returns the next tip of a copy that equals the hub's lane, or whose lane is gone from the
// hub. The copy stays, unless it has a stranger's merge and the hub was cleaned: then it goes back
// to its former tip.
func (c *laneCopy) unmoved(ctx context.Context) (to string, err error) {
	why := c.checker.MayMove(ctx, c.was, c.was)
	if why == nil {
		c.stuck.Delete(c.name)
		return c.was, nil
	}
	if c.now != c.was {
		if cut, ok, err := c.cut(ctx); ok || err != nil {
			c.stuck.Delete(c.name)
			return cut, err
		}
	}
	c.stay(c.was, c.cleanBelow(ctx, c.was), why)
	return c.was, nil
}

// stay notes why the copy stays: this clone refuses the hub's tip, or has lost a part of the lane.
// The hub's administrator can put the lane back to was.
func (c *laneCopy) stay(tip, was string, why error) {
	if !fault.Is(why, fault.MissingObject) {
		why = c.errRefused(c.name, tip, was, why)
	}
	c.stuck.Store(c.name, why)
}
