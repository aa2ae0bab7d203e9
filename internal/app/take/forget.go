package take

import (
	"context"

	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/work"
	"githandoff/internal/workspace"
)

// A claim is recorded before it is sent. forgetLost and forgetRefused drop the record of one that failed,
// unless it may still arrive: a git that outlived its command would make it, and nobody would know of it.

// forgetLost drops the record of a claim lost to others, so the next resume need not ask the hub
// about it.
func (t *search) forgetLost(ctx context.Context, it *workspace.Item) error {
	h, err := t.Claims.Get(it.Place.ID)
	if err != nil || h == nil || !h.Held() || h.Printed {
		return err
	}
	s, err := t.Engine.Reader.Load(ctx, it.Home, it.Place)
	if err != nil || !superseded(s, h) {
		return err
	}
	return t.forget(ctx, h)
}

// forgetRefused drops the record of a claim that its hub refused, or that was not sent, because others
// were faster. An earlier try may have been sent: then the record stays, and the next resume asks the hub.
func (t *search) forgetRefused(ctx context.Context, id handoff.ID) error {
	h, err := t.Claims.Get(id)
	if err != nil || !isOnlyTry(h) {
		return err
	}
	return t.forget(ctx, h)
}

// isOnlyTry reports whether a recorded claim was never printed, and no earlier claim may still arrive.
func isOnlyTry(h *work.Claim) bool {
	return h != nil && h.Held() && !h.Printed && len(h.Earlier) == 0
}

// superseded reports whether a recorded claim can no longer arrive: its push expects the lane where it
// was before the others' steps, and lanes do not go back.
func superseded(s *lifecycle.State, h *work.Claim) bool {
	return s.Phase() != lifecycle.Open && !h.InForce(s)
}

// forget drops the record of a claim, unless another claim was recorded since.
func (t *search) forget(ctx context.Context, h *work.Claim) error {
	return t.Claims.Update(ctx, h.ID, func(stored *work.Claim) error {
		if stored.Nonce == h.Nonce {
			stored.Forget()
		}
		return nil
	})
}

// sweep deletes the inbox refs of ended handoffs that this resume met: a backup of their hub or
// somebody's push brought them back, and the lists would go on naming them. If a hub has more of
// them, the next resume that finds nothing to take deletes those.
func (t *choice) sweep(ctx context.Context) {
	if t.Peek {
		return
	}
	byHome := map[lifecycle.Home][]*workspace.Item{}
	for _, it := range t.ended {
		byHome[it.Home] = append(byHome[it.Home], it)
	}
	for home, items := range byHome {
		some := items[:min(len(items), workspace.MostSwept)]
		if err := t.Engine.Sweep(ctx, home, workspace.Places(some)...); err != nil {
			t.problems = append(t.problems, err)
		}
	}
}
