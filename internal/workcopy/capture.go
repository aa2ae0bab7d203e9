package workcopy

import (
	"context"
	"fmt"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
	"githandoff/internal/snapshot"
	"githandoff/internal/workspace"
)

// Mode says when a snapshot goes along: the values of handoff.snapshot.
type Mode string

// The modes.
const (
	Never  Mode = "never"  // only if a command asks for a snapshot
	Auto   Mode = "auto"   // if something is not committed, or not at the home
	Always Mode = "always" // with each handoff
)

// Taker takes the snapshot to send with env, and returns its objects; none without a snapshot.
type Taker func(ctx context.Context, home lifecycle.Home, env *handoff.Envelope, sealed bool) ([]*refs.Object, error)

// TakerOf takes snapshots of a workspace: as handoff.snapshot says if mode is "". Paths in allow
// travel whatever the content policy says of them.
func TakerOf(ws *workspace.Workspace, mode Mode, allow []string) Taker {
	return func(ctx context.Context, home lifecycle.Home, env *handoff.Envelope, sealed bool) ([]*refs.Object, error) {
		env.Work = nil // a document cannot know the state of this work tree
		taken, err := capture(ctx, ws, home, mode, allow, sealed)
		if err != nil || taken == nil {
			return nil, err
		}
		env.Work = &taken.Work
		return taken.Objects, nil
	}
}

// modeOf reads handoff.snapshot.
func modeOf(repo *refs.Repo) (Mode, error) {
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

// capture takes the snapshot of a handoff, nil if there is none. Everyone who reads the hub can read a
// snapshot, so none goes along with a sealed handoff.
func capture(ctx context.Context, ws *workspace.Workspace, home lifecycle.Home, mode Mode, allow []string, sealed bool) (*snapshot.Snapshot, error) {
	var err error
	if mode == "" {
		if mode, err = modeOf(ws.Repo); err != nil {
			return nil, err
		}
	}
	switch {
	case mode == Never, sealed && mode == Auto:
		return nil, nil
	case sealed:
		return nil, fault.New(fault.Policy, fault.Sealed, "a sealed handoff carries no snapshot: everyone who reads the hub could read the files").
			WithHints(fault.Fact("it goes without --snapshot or, where handoff.snapshot asks for one, with --no-snapshot"))
	}
	actor := ws.Engine.Author.Actor
	r := snapshot.Request{Actor: actor, Mail: sign.Mail(actor), Now: ws.Engine.Now().UTC(), Allow: allow}
	if r.Limit, err = snapshot.LimitOf(ws.Repo); err != nil {
		return nil, err
	}
	if hub, ok := home.(*crossrepo.Hub); ok {
		r.Away, r.Remote = true, hub.Alias.Name
	}
	taken, err := snapshot.Capture(ctx, ws.Repo, r)
	switch {
	case err != nil && mode == Auto && fault.As(err) != nil:
		ws.Warn(err)
		return nil, nil //nolint:nilerr // the handoff is sent without a snapshot
	case err != nil, mode == Auto && !taken.Changed && taken.Work.Commits == 0:
		return nil, err
	case taken.UnderWay != "":
		ws.Warn(fmt.Errorf("this work tree is in the middle of a %s: its files travel, but git does not go on with the %[1]s where they arrive", taken.UnderWay))
	}
	return taken, nil
}
