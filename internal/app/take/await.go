package take

import (
	"context"
	"fmt"
	"slices"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
)

// Await is Resume, repeated until the deadline with growing pauses while no handoff waits, or
// while a hub is down or busy. It warns of that hub once.
func (t *Handler) Await(ctx context.Context, q Request, deadline time.Time, pause func(context.Context, time.Duration) error) (*Result, error) {
	warned := false
	for next := time.Second; ; next = min(next*3/2, 30*time.Second) {
		g, err := t.Resume(ctx, q)
		left := deadline.Sub(t.Engine.Now())
		if err == nil || left <= 0 || !mayPass(err) || q.Arg != "" && fault.Is(err, fault.NoSuchKey) {
			return g, err
		}
		if fault.CodeOf(err) == fault.Unavailable && !warned {
			t.Workspace.Warn(fmt.Errorf("%w; still waiting, until %s", err, handoff.FormatTime(deadline)))
			warned = true
		}
		if err := pause(ctx, min(next, left)); err != nil {
			return nil, err
		}
	}
}

// mayPass reports whether the same question may be answered otherwise a little later. A hub
// that refuses will refuse again, and a wrong name stays wrong.
func mayPass(err error) bool {
	switch fault.CodeOf(err) {
	case fault.Unavailable:
		return slices.Contains([]fault.Reason{fault.RemoteUnavailable, fault.HubLocked, fault.Locked, fault.Busy}, fault.As(err).Reason)
	case fault.NotFound:
		return !fault.Is(err, fault.UnknownAlias)
	}
	return false
}
