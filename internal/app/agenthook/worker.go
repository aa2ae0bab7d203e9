package agenthook

import (
	"context"
	"errors"

	"githandoff/internal/agents"
)

// Taken is a handoff claimed for a session, which begins to work on it.
type Taken struct {
	agents.Handoff
	Text  string // as "githandoff resume" prints it
	Again bool   // an earlier call, or meanwhile another session of this worktree, took the handoff
	Shown func() // called once the answer holds Text
}

// after returns the text after an announcement of so many bytes.
func (t *Taken) after(used int) string {
	head, alone := "", ""
	if !t.Again {
		head, alone = agents.Taken(t.Handoff, true), agents.Taken(t.Handoff, false)
	}
	if used+len(head)+len(t.Text) <= agents.MaxAnswer {
		t.Shown()
		return head + t.Text
	}
	return alone
}

// begin is like start for a worker: a new session gets the only held handoff of its worktree, or
// else takes the oldest offer of this repository. Handoffs at a hub are announced as in every
// session: a hook asks no hub.
func (h *Handler) begin(ctx context.Context, call *agents.Call, held []agents.Handoff) ([]byte, error) {
	if len(held) > 1 {
		return h.startWith(ctx, call, held, nil)
	}
	if len(held) == 1 {
		text, err := h.Worktree.Peek(ctx, held[0].ID)
		if err != nil {
			h.Warn(err)
			return h.startWith(ctx, call, held, nil)
		}
		return h.startWith(ctx, call, held, &Taken{Handoff: held[0], Text: text, Again: true, Shown: func() {}})
	}
	taken, err := h.Worktree.Take(ctx)
	if err != nil {
		h.Warn(err)
	}
	if taken == nil {
		return h.startWith(ctx, call, nil, nil)
	}
	return h.startWith(ctx, call, []agents.Handoff{taken.Handoff}, taken)
}

// end notes what the session leaves held. Nothing is released unless the user chose so: a
// session can go on, and the lease ends by itself.
func (h *Handler) end(ctx context.Context, call *agents.Call) error {
	held, err := h.Worktree.Held(ctx)
	if err != nil {
		return err
	}
	if h.Settings.End == "release" && !call.GoesOn {
		for _, one := range held {
			err = errors.Join(err, h.Worktree.Release(ctx, one.ID))
		}
		held = nil
	}
	h.Stamp.tell(nil, held)
	return err
}
