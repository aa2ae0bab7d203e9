package workcopy

import (
	"context"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/refs"
	"githandoff/internal/snapshot"
)

// Mode says when a snapshot goes along: the values of handoff.snapshot.
type Mode string

// The modes.
const (
	Never  Mode = "never"  // only where a command asks for one
	Auto   Mode = "auto"   // where something is not committed, or not at the home
	Always Mode = "always" // with every handoff
)

// Sender describes the handoff of a snapshot.
type Sender struct {
	Repo  *refs.Repo
	Actor string // author of the commits
	Mail  string
	Now   time.Time
	// Remote is the git remote of the home whose branches are known here; Away is set if the home
	// is another repository.
	Remote string
	Away   bool
	Sealed bool // everyone who reads the hub can read a snapshot, so none goes along
	Warn   func(error)
}

// ModeOf reads handoff.snapshot.
func ModeOf(repo *refs.Repo) (Mode, error) {
	switch m := Mode(repo.Config.Get("handoff.snapshot")); m {
	case "":
		return Never, nil
	case Never, Auto, Always:
		return m, nil
	default:
		return "", fault.New(fault.Usage, fault.BadUsage, "handoff.snapshot is %q: want never, auto or always", string(m)).
			WithHints(fault.Run("git", "config", "--show-origin", "--get", "handoff.snapshot").Because("shows which file sets it"))
	}
}

// Capture takes the snapshot of a handoff, nil if there is none. Paths in allow travel whatever
// the content policy says of them.
func (s *Sender) Capture(ctx context.Context, mode Mode, allow []string) (*snapshot.Snapshot, error) {
	switch {
	case mode == Never, s.Sealed && mode == Auto:
		return nil, nil
	case s.Sealed:
		return nil, fault.New(fault.Policy, fault.Sealed, "a sealed handoff carries no snapshot: everyone who reads the hub could read the files").
			WithHints(fault.See("emit").Because("--no-snapshot sends it without one"))
	}
	limits, err := snapshot.LimitsOf(s.Repo)
	if err != nil {
		return nil, err
	}
	taken, err := snapshot.Capture(ctx, s.Repo, snapshot.Request{
		Remote: s.Remote, Away: s.Away, Actor: s.Actor, Mail: s.Mail, Now: s.Now, Limits: limits, Allow: allow,
	})
	if mode != Auto {
		return taken, err
	}
	if fault.As(err) != nil {
		s.Warn(err)
		err = nil
	} else if err == nil && (taken.Changed || taken.Work.Commits > 0) {
		return taken, nil
	}
	return nil, err
}
