package agenthook

import (
	"context"
	"errors"

	"githandoff/internal/agents"
)

// Taken is a handoff claimed for a session.
type Taken struct {
	agents.Handoff
	Text  string // as "githandoff resume" prints it
	Again bool   // another session of this worktree took it meanwhile
	Shown func() // is called where the answer holds the text
}

// given is a handoff for a new session to work on.
type given struct {
	handoff agents.Handoff
	text    string
	taken   bool   // by this call
	shown   func() // of a handoff that was taken
}

// after returns the text after an announcement of so many bytes.
func (g *given) after(used int) string {
	head := ""
	if g.taken {
		head = agents.Taken(g.handoff, true)
	}
	if used+len(head)+len(g.text) <= agents.MaxAnswer {
		g.shown()
		return head + g.text
	}
	if g.taken {
		return agents.Taken(g.handoff, false)
	}
	return ""
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
		return h.startWith(ctx, call, held, &given{handoff: held[0], text: text, shown: func() {}})
	}
	taken, err := h.Worktree.Take(ctx)
	if err != nil {
		h.Warn(err)
	}
	if taken == nil {
		return h.startWith(ctx, call, nil, nil)
	}
	return h.startWith(ctx, call, []agents.Handoff{taken.Handoff},
		&given{handoff: taken.Handoff, text: taken.Text, taken: !taken.Again, shown: taken.Shown})
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
