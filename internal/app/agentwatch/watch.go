// Package agentwatch tells a running session of arriving handoffs, so an idle agent goes on
// without anybody typing.
//
// It looks at the files in which git keeps refs, and reads the refs only when one of the files
// has changed, or had changed so shortly before that a further change could look the same: a
// waiting watch starts no process. It does not report handoffs from before the session: the
// session's own hooks do. It reports all later ones not reported by the hooks, including those
// from before its own first look.
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

const (
	// hookTime is how long the hook at the start of a session, which runs beside the
	// watch, is given to tell the session what waits.
	hookTime = 3 * time.Second
	// retryTime is the time after which an unheard line is repeated.
	retryTime = 30 * time.Second
)

// Outcome is the outcome of a line.
type Outcome int

// The outcomes.
const (
	Heard   Outcome = iota
	Last            // heard; the listener wants no more lines
	Unheard         // not heard; the line is repeated later
)

// Worktree answers a watch's questions about the worktree. Each call reads again.
type Worktree interface {
	// Inbox lists the ids in the agent's inboxes, by the names of refs alone.
	Inbox(ctx context.Context) ([]handoff.ID, error)
	// Untold lists the ids offered to the agent and not yet told to the session, and records them
	// as told.
	Untold(ctx context.Context, ids []handoff.ID) (agent string, news []agents.Handoff, err error)
	// Forget records that the session was not told of these after all.
	Forget(ctx context.Context, ids []handoff.ID) error
	// Fetch brings in the inboxes of the hubs.
	Fetch(ctx context.Context) error
}

// Watch looks for arrivals until it is told to end.
type Watch struct {
	Worktree Worktree
	Files    func() []string // the files and directories in which refs are kept
	Poll     time.Duration   // how often the hubs are asked; 0 for never
	Alive    func() bool     // whether somebody still listens
	Tell     func(line string, news []agents.Handoff) (Outcome, error)
	// Announced reports whether hooks told the session what waited when it began: then
	// Untold knows what they did not tell. It is nil where no session is named.
	Announced func() bool
	Now       func() time.Time
	Pause     func(ctx context.Context, d time.Duration) error

	told  []handoff.ID // ids not to report, sorted
	since bool         // due has emptied told: Untold now decides what the session knows
	retry time.Time    // when to look again even if no file changed; zero for never
}

// Run ends without an error when nobody listens, when Tell wants no more, or with ctx.
func (w *Watch) Run(ctx context.Context) (err error) {
	seen := footprint.Of(w.Files()...)
	if w.told, err = w.Worktree.Inbox(ctx); err != nil {
		return err
	}
	begun := w.Now()
	asked, looked := begun, begun
	for w.Alive() {
		if err := w.Pause(ctx, Tick); err != nil {
			return nil //nolint:nilerr // an interrupt ends a watch as planned
		}
		if w.Poll > 0 && w.Now().Sub(asked) >= w.Poll {
			_ = w.Worktree.Fetch(ctx) // a hub that is down is asked again at the next poll
			asked = w.Now()
		}
		at, now := w.Now(), footprint.Of(w.Files()...)
		if now.Sum == seen.Sum && now.Settled(looked) && !w.due(begun, at) {
			continue
		}
		seen, looked = now, at
		more, err := w.look(ctx)
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// due reports whether to look although no file has changed: once when the session was told
// what waited as it began, since more may have come before the watch looked first, and
// after a line that nobody heard.
func (w *Watch) due(begun, at time.Time) bool {
	if !w.since && w.Announced != nil && at.Sub(begun) >= hookTime && w.Announced() {
		w.since, w.told = true, nil
		return true
	}
	return !w.retry.IsZero() && !at.Before(w.retry)
}

// look prints the newly arrived handoffs, in one line. A look that fails, as beside a busy git, is repeated
// later.
func (w *Watch) look(ctx context.Context) (more bool, err error) {
	w.retry = w.Now().Add(retryTime)
	ids, err := w.Worktree.Inbox(ctx)
	if err != nil {
		return true, nil //nolint:nilerr // the watch goes on
	}
	fresh := slices.DeleteFunc(slices.Clone(ids), func(id handoff.ID) bool {
		_, known := slices.BinarySearch(w.told, id)
		return known
	})
	var line string
	var news []agents.Handoff
	if len(fresh) > 0 {
		var agent string
		if agent, news, err = w.Worktree.Untold(ctx, fresh); err != nil {
			return true, nil //nolint:nilerr // the watch goes on
		}
		line = agents.Arrival(agent, agents.Waiting{Known: news})
	}
	w.told, w.retry = ids, time.Time{}
	if line == "" {
		return true, nil
	}
	outcome, err := w.Tell(strings.TrimSuffix(line, "\n"), news)
	if err == nil && outcome == Unheard {
		err = w.again(context.WithoutCancel(ctx), news) // an interrupt that ended Tell must not prevent the record
	}
	return outcome != Last, err
}

// again records that the session was not told of some handoffs after all, and looks again later.
func (w *Watch) again(ctx context.Context, news []agents.Handoff) error {
	w.retry = w.Now().Add(retryTime)
	var ids []handoff.ID
	for _, h := range news {
		ids = append(ids, h.ID)
	}
	w.told = slices.DeleteFunc(w.told, func(id handoff.ID) bool { return slices.Contains(ids, id) })
	return w.Worktree.Forget(ctx, ids)
}
