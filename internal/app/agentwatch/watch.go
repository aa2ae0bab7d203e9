// Package agentwatch tells a running session of handoffs that arrive, so that an agent
// which is idle goes on without anybody typing.
//
// It looks at the files in which git keeps refs, and reads the refs only when one of the
// files has changed, or had changed so shortly before that a further change could look the
// same: a watch that waits starts no process. What waited before the watch
// began is not told: the session's own hooks do that.
package agentwatch

import (
	"context"
	"slices"
	"strings"
	"time"

	"githandoff/internal/agents"
	"githandoff/internal/footprint"
	"githandoff/internal/handoff"
)

// Tick is how often the files are looked at.
const Tick = time.Second

// Desk is what a watch asks about the worktree. Each call looks anew.
type Desk interface {
	// Inbox lists the ids in the agent's inboxes, by the names of refs alone.
	Inbox(ctx context.Context) ([]handoff.ID, error)
	// Untold lists those of ids that are offered to the agent and that the session was
	// not told of yet, and notes that it is told now.
	Untold(ctx context.Context, ids []handoff.ID) (agent string, news []agents.Handoff, err error)
	// Fetch brings in the inboxes of the hubs.
	Fetch(ctx context.Context) error
}

// Watch looks for arrivals until it is told to end.
type Watch struct {
	Desk  Desk
	Files func() []string // the files and directories in which refs are kept
	Poll  time.Duration   // how often the hubs are asked; 0 is never
	Alive func() bool     // whether somebody still listens
	Tell  func(line string) (more bool, err error)
	Now   func() time.Time
	Pause func(ctx context.Context, d time.Duration) error
}

// Run ends without an error when nobody listens, when Tell wants no more, or with ctx.
func (w *Watch) Run(ctx context.Context) error {
	seen := footprint.Of(w.Files()...)
	told, err := w.Desk.Inbox(ctx)
	if err != nil {
		return err
	}
	asked, looked := w.Now(), w.Now()
	for w.Alive() {
		if err := w.Pause(ctx, Tick); err != nil {
			return nil //nolint:nilerr // an interrupt ends a watch as planned
		}
		if w.Poll > 0 && w.Now().Sub(asked) >= w.Poll {
			_ = w.Desk.Fetch(ctx) // a hub that is down is asked again
			asked = w.Now()
		}
		at, now := w.Now(), footprint.Of(w.Files()...)
		if now.Sum == seen.Sum && now.Settled(looked) {
			continue
		}
		seen, looked = now, at
		more, err := w.look(ctx, &told)
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// look tells of what arrived since, in one line.
func (w *Watch) look(ctx context.Context, told *[]handoff.ID) (more bool, err error) {
	ids, err := w.Desk.Inbox(ctx)
	if err != nil {
		return true, nil //nolint:nilerr // git may be busy; the next change is looked at again
	}
	var fresh []handoff.ID
	for _, id := range ids {
		if !slices.Contains(*told, id) {
			fresh = append(fresh, id)
		}
	}
	*told = ids
	if len(fresh) == 0 {
		return true, nil
	}
	agent, news, err := w.Desk.Untold(ctx, fresh)
	line := agents.Arrival(agent, agents.Waiting{Known: news})
	if err != nil || line == "" {
		return true, nil //nolint:nilerr // as above
	}
	return w.Tell(strings.TrimSuffix(line, "\n"))
}
