package agenthook

import (
	"cmp"
	"context"
	"slices"

	"githandoff/internal/handoff"
	"githandoff/internal/mcp"
	"githandoff/internal/workspace"
)

const mostWaiting = 20 // handoffs named by an overview

// Overview names the handoffs waiting for the agent and those it holds. Like an announcement it
// repeats only two words of a sender: the name of a trusted agent, and a task in the form of a
// tracker's key. A handoff whose claim is not confirmed waits, and is not held: to take it makes the
// claim again.
func (l *Local) Overview(ctx context.Context) (mcp.Inbox, error) {
	in := mcp.Inbox{Agent: l.work.Agent, Waiting: []mcp.Waiting{}, Held: []mcp.Held{}}
	err := l.workspace.List(ctx, false, func(it *workspace.Item) error {
		if it.Waits(l.now()) {
			r := it.Record
			from, task := l.Named(it.Place.ID, r.From, r.Task).Said()
			in.Waiting = append(in.Waiting, mcp.Waiting{
				ID: string(it.Place.ID), From: from, Task: task, At: handoff.FormatTime(r.At), Expires: handoff.FormatTime(r.Expires),
			})
		}
		return nil
	})
	if err != nil {
		return in, err
	}
	slices.SortFunc(in.Waiting, func(x, y mcp.Waiting) int { return cmp.Compare(x.ID, y.ID) })
	if more := len(in.Waiting) - mostWaiting; more > 0 {
		in.Waiting, in.More = in.Waiting[:mostWaiting], more
	}
	all, err := l.standing(ctx)
	for _, st := range all {
		if st.Over == nil && !st.Unconfirmed() {
			in.Held = append(in.Held, mcp.Held{ID: string(st.Claim.ID), Lease: handoff.FormatTime(st.Claim.Lease)})
		}
	}
	return in, err
}
