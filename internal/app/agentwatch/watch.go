// Package agentwatch tells a running session of handoffs that arrive, so that an agent
// which is idle goes on without anybody typing.
//
// It looks at the files in which git keeps refs, and reads the refs only when one of the
// files has changed: a watch that waits starts no process. What waited before the watch
// began is not told: the session's own hooks do that.
package agentwatch

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"githandoff/internal/agents"
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
	Files []string      // patterns of the files and directories in which refs are kept
	Poll  time.Duration // how often the hubs are asked; 0 is never
	Alive func() bool   // whether somebody still listens
	Tell  func(line string) (more bool, err error)
	Now   func() time.Time
	Pause func(ctx context.Context, d time.Duration) error
}

// Run ends without an error when nobody listens, when Tell wants no more, or with ctx.
func (w *Watch) Run(ctx context.Context) error {
	seen := w.print()
	told, err := w.Desk.Inbox(ctx)
	if err != nil {
		return err
	}
	asked := w.Now()
	for w.Alive() {
		if err := w.Pause(ctx, Tick); err != nil {
			return nil //nolint:nilerr // an interrupt ends a watch as planned
		}
		if w.Poll > 0 && w.Now().Sub(asked) >= w.Poll {
			_ = w.Desk.Fetch(ctx) // a hub that is down is asked again
			asked = w.Now()
		}
		now := w.print()
		if now == seen {
			continue
		}
		seen = now
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
	line := agents.Arrival(agent, news)
	if err != nil || line == "" {
		return true, nil //nolint:nilerr // as above
	}
	return w.Tell(strings.TrimSuffix(line, "\n"))
}

// print tells one state of the files from another.
func (w *Watch) print() string {
	var b strings.Builder
	for _, pattern := range w.Files {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			continue
		}
		for _, path := range paths {
			if info, err := os.Stat(path); err == nil {
				b.WriteString(path + state(info))
			}
		}
	}
	return b.String()
}

func state(info fs.FileInfo) string {
	return " " + strconv.FormatInt(info.ModTime().UnixNano(), 36) + " " + strconv.FormatInt(info.Size(), 36) + "\n"
}
