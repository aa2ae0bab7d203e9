package crossrepo

import (
	"context"
	"fmt"

	"githandoff/internal/fault"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
)

// CatchUp gives a hub restored from a backup the lane entries it lost, as far as this clone has
// them: only where the hub's lane is an ancestor of ours. A fork is refused.
func (h *Hub) CatchUp(ctx context.Context) error {
	memory, err := h.Memory(ctx)
	if err != nil {
		return err
	}
	if err := h.Bring(ctx, Look{FetchSpec: lifecycle.FetchSpec{Log: true}, Memory: memory}); err != nil {
		return err
	}
	return h.GiveBackLost(ctx, memory, nil)
}

// GiveBackLost is like CatchUp with a mirror fetched after the memory was read. A fork is passed to join,
// or refused if join is nil.
func (h *Hub) GiveBackLost(ctx context.Context, memory []refs.Ref, join func(lane refs.Ref, hubTip string) error) error {
	there, err := h.mirrorTips(ctx)
	if err != nil {
		return err
	}
	for _, s := range h.bothTips(memory, there) {
		if s.now == s.was {
			continue
		}
		if s.was, err = withoutStrangers(ctx, h, s); err != nil {
			return err
		}
		if err := giveBackLane(ctx, h, s, join); err != nil {
			return err
		}
	}
	return nil
}

// GaveBack is a warning if this command gave lanes back; nil if not. The hub was restored from a
// backup, or another repository has its name now.
func (h *Hub) GaveBack() error {
	n := int(h.given.Load())
	if n == 0 {
		return nil
	}
	return fmt.Errorf("%s had lost entries of %s of its log, and has them again from this clone; if it was renamed, githandoff repo add --id gives it its new URL",
		h.Alias.Name, fault.Count(n, "lane"))
}

func giveBackLane(ctx context.Context, h *Hub, s laneTips, join func(lane refs.Ref, hubTip string) error) error {
	lane, hubTip := refs.Ref{Name: s.name, OID: s.was}, s.now
	if hubTip == lane.OID {
		return nil
	}
	behind, err := h.extends(ctx, lane.OID, hubTip)
	if err != nil {
		return err
	}
	if behind {
		err := h.GiveBack(ctx, refs.Edit{Ref: lane.Name, Old: hubTip, New: lane.OID})
		if fault.CodeOf(err) == fault.Denied && join != nil && hubTip != "" {
			err = join(lane, hubTip) // a guard takes what a root key vouches for
		}
		if err == nil {
			h.given.Add(1)
		}
		return err
	}
	switch ahead, err := h.extends(ctx, hubTip, lane.OID); {
	case err != nil || ahead:
		return err
	case join != nil:
		return join(lane, hubTip)
	}
	return fault.New(fault.Denied, fault.Rollback, "%s and this clone have different histories of %s", h.Alias.Name, h.RemoteName(lane.Name)).
		WithHints(fault.Run("githandoff", "audit", h.Alias.Name).Because("shows both; a person with a root key joins them with sync"))
}

// withoutStrangers returns the tip of a copy, cut before a merge by a stranger: such a merge is
// never given back.
func withoutStrangers(ctx context.Context, h *Hub, s laneTips) (string, error) {
	if h.checker == nil {
		return s.was, nil
	}
	why := h.checker.MayMove(ctx, "", s.was)
	if why == nil {
		return s.was, nil
	}
	cut, ok, err := h.checker.Cut(ctx, s.was, s.now)
	if err != nil {
		return "", err
	}
	if !ok {
		return "", why
	}
	h.refused.Delete(s.name)
	return cut, h.Repo.Apply(ctx, refs.Transaction{Edits: []refs.Edit{{Ref: s.name, Old: s.was, New: cut}}})
}

// GiveBack pushes a lane entry lost by the hub. It is refused if the hub has moved the lane
// since the comparison.
func (h *Hub) GiveBack(ctx context.Context, lane refs.Edit, objects ...*refs.Object) error {
	t := refs.Transaction{Edits: []refs.Edit{lane}, Objects: objects}
	report, err := h.Push(ctx, t)
	if refused := h.guardRefusal(err); refused != nil {
		return refused
	}
	if err == nil && report.flag[h.RemoteName(lane.Ref)] == '=' {
		return errHidden(&h.remote, h.RemoteName(lane.Ref))
	}
	if err != nil || !report.Accepted(t.Edits) {
		if moved := Moved(ctx, h); moved != nil {
			return moved
		}
		said := GitSaid(err)
		if other := errFormat(&h.remote, said); other != nil {
			return other
		}
		return fault.New(fault.Unavailable, fault.HubRefused, "%s does not take back %s: %s", h.Alias.Name, h.RemoteName(lane.Ref), said).
			WithHints(fault.Run("githandoff", "doctor").Because("shows what the hub takes"))
	}
	return showed(ctx, h, lane, objects)
}

// showed puts into the mirror what the hub has taken.
func showed(ctx context.Context, h *Hub, lane refs.Edit, objects []*refs.Object) error {
	name := h.mirrored(lane.Ref)
	now, err := h.Repo.Resolve(ctx, name)
	if err != nil || now == lane.New {
		return err
	}
	return h.Repo.Apply(ctx, refs.Transaction{Edits: []refs.Edit{{Ref: name, Old: now, New: lane.New}}, Objects: objects})
}

// TakeJoined moves the copy of a lane on to the merge with the hub's lane, which the hub
// has accepted.
func (h *Hub) TakeJoined(ctx context.Context, lane refs.Ref) error {
	return h.learnFrom(ctx, func() ([]laneTips, error) {
		s, err := h.tipsOf(ctx, lane.Name)
		return []laneTips{s}, err
	})
}

// CaughtUp calls do, and calls it once more if the hub turns out to be restored from a backup
// and can be given back what it lost.
func (h *Hub) CaughtUp(ctx context.Context, spec lifecycle.FetchSpec, do func() error) error {
	err := do()
	if !fault.Is(err, fault.Rollback) {
		return err
	}
	if err := h.CatchUp(ctx); err != nil {
		return err
	}
	if err := h.Refresh(ctx, spec); err != nil {
		return err
	}
	return do()
}
