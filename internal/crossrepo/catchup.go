package crossrepo

import (
	"context"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
)

// CatchUp gives a hub that was restored from a backup the lane entries that it
// lost and this clone has: only where the hub's lane is an ancestor of ours. A
// fork is refused; a root key joins it.
func (h *Hub) CatchUp(ctx context.Context) error {
	there, err := h.remoteLanes(ctx)
	if err != nil {
		return err
	}
	ours, err := h.Repo.List(ctx, h.Space().Lanes())
	if err != nil {
		return err
	}
	for _, lane := range ours {
		hubTip := there[h.there(lane.Name)]
		if hubTip == lane.OID {
			continue
		}
		if hubTip != "" && !h.ancestor(ctx, hubTip, lane.OID) {
			if h.ancestor(ctx, lane.OID, hubTip) {
				continue // the hub is ahead; a fetch brings it
			}
			return fault.New(fault.Denied, "rollback", "%s and this clone have different histories of %s", h.Alias.Name, h.there(lane.Name)).
				WithHint("githandoff audit %s   (shows both; only a person with a root key can join them)", h.Alias.Name)
		}
		edit := refs.Edit{Ref: lane.Name, Old: hubTip, New: lane.OID}
		report, err := h.push(ctx, []refs.Edit{edit})
		if err != nil || !report.accepted([]refs.Edit{edit}) {
			return fault.New(fault.Unavailable, "hub_refused", "%s does not take back %s: %s", h.Alias.Name, h.there(lane.Name), saying(err)).
				WithHint("githandoff doctor")
		}
	}
	return nil
}

// caughtUp does something with a hub, and once more if it turns out that the hub
// was restored from a backup and can be given back what it lost.
func (h *Hub) caughtUp(ctx context.Context, want lifecycle.Want, do func() error) error {
	err := do()
	if !fault.Is(err, "rollback") {
		return err
	}
	if err := h.CatchUp(ctx); err != nil {
		return err
	}
	if err := h.Refresh(ctx, want); err != nil {
		return err
	}
	return do()
}

// ancestor reports whether a is an ancestor of b; false as well where one of
// them is not known here.
func (h *Hub) ancestor(ctx context.Context, a, b string) bool {
	_, err := h.Repo.Runner.Run(ctx, gitexec.Cmd{Args: []string{"merge-base", "--is-ancestor", a, b}})
	return err == nil
}

// MissingLanes names the lanes that this clone has seen and the hub does not
// have any more.
func (h *Hub) MissingLanes(ctx context.Context) ([]string, error) {
	there, err := h.remoteLanes(ctx)
	if err != nil {
		return nil, err
	}
	ours, err := h.Repo.List(ctx, h.Space().Lanes())
	if err != nil {
		return nil, err
	}
	var gone []string
	for _, lane := range ours {
		if there[h.there(lane.Name)] == "" {
			gone = append(gone, h.there(lane.Name))
		}
	}
	return gone, nil
}

// remoteLanes asks the hub where its lanes are.
func (h *Hub) remoteLanes(ctx context.Context) (map[string]string, error) {
	out, err := h.Repo.Runner.Run(ctx, gitexec.Cmd{
		Args: []string{"ls-remote", "--", h.Alias.target(), refs.LocalSpace.Lanes() + "*"}, Timeout: gitexec.RemoteTimeout,
	})
	if err != nil {
		return nil, h.unreachable(err)
	}
	there := map[string]string{}
	for line := range strings.Lines(string(out)) {
		oid, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		there[name] = oid
	}
	return there, nil
}
