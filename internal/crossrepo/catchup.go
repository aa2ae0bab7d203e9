package crossrepo

import (
	"context"
	"slices"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/refs"
)

// CatchUp gives a hub that was restored from a backup the lane entries that it
// lost and this clone has: only where the hub's lane is an ancestor of ours. A
// fork is for join, and refused where that is nil.
func (h *lanes) CatchUp(ctx context.Context, join func(lane refs.Ref, hubTip string) error) error {
	all, err := h.diff(ctx)
	if err != nil {
		return err
	}
	if err := h.bringNew(ctx, all); err != nil {
		return err
	}
	for _, d := range all {
		lane, hubTip := d.Ref, d.tip
		if hubTip != lane.OID && h.judge != nil {
			if why := h.judge.MayMove(ctx, "", lane.OID); why != nil {
				// A stranger's merge is never given back.
				cut, err := h.cut(ctx, lane, hubTip)
				if err != nil {
					return err
				}
				if !cut {
					return why
				}
				if lane.OID, err = h.Repo.Resolve(ctx, lane.Name); err != nil {
					return err
				}
			}
		}
		switch {
		case hubTip == lane.OID:
		case hubTip == "" || h.ancestor(ctx, hubTip, lane.OID):
			err := h.GiveBack(ctx, refs.Edit{Ref: lane.Name, Old: hubTip, New: lane.OID})
			if fault.CodeOf(err) == fault.Denied && join != nil && hubTip != "" {
				err = join(lane, hubTip) // a guard takes what a root key vouches for
			}
			if err != nil {
				return err
			}
		case h.ancestor(ctx, lane.OID, hubTip): // the hub is ahead; a fetch brings it
		case join != nil:
			if err := join(lane, hubTip); err != nil {
				return err
			}
		default:
			return fault.New(fault.Denied, fault.Rollback, "%s and this clone have different histories of %s", h.Alias.Name, h.RemoteName(lane.Name)).
				WithHints(fault.Run("githandoff", "audit", h.Alias.Name).Because("shows both; a person with a root key joins them with sync"))
		}
	}
	return nil
}

// GiveBack pushes a lane entry that the hub lost. It is refused where the hub has
// moved the lane since it was compared.
func (h *lanes) GiveBack(ctx context.Context, lane refs.Edit) error {
	report, err := h.push(ctx, []refs.Edit{lane})
	if refused := h.guardRefusal(err); refused != nil {
		return refused
	}
	if err == nil && report.flag[h.RemoteName(lane.Ref)] == '=' {
		return errHidden(&h.remote, h.RemoteName(lane.Ref))
	}
	if err != nil || !report.accepted([]refs.Edit{lane}) {
		return fault.New(fault.Unavailable, fault.HubRefused, "%s does not take back %s: %s", h.Alias.Name, h.RemoteName(lane.Ref), GitSaid(err)).
			WithHints(fault.Run("githandoff", "doctor").Because("shows what the hub takes"))
	}
	return nil
}

// bringNew fetches those tips of the hub's lanes that are not here, and moves no
// ref: without them it cannot be told who is ahead.
func (h *lanes) bringNew(ctx context.Context, all []laneDiff) error {
	var unknown []string
	for _, lane := range all {
		if lane.tip == "" || lane.tip == lane.OID {
			continue
		}
		o, err := h.Repo.Read(ctx, lane.tip, record.MaxCommit)
		if err != nil {
			return err
		}
		if o == nil {
			unknown = append(unknown, lane.remote)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	_, err := connect(ctx, &h.remote, gitexec.Cmd{
		Args: slices.Concat(fetchArgs, []string{"--", h.Alias.target()}, unknown), Timeout: gitexec.RemoteTimeout,
	})
	return h.errUnreachable(err)
}

// CaughtUp does something with a hub, and once more if it turns out that the hub
// was restored from a backup and can be given back what it lost.
func (h *Hub) CaughtUp(ctx context.Context, want lifecycle.Want, do func() error) error {
	err := do()
	if !fault.Is(err, fault.Rollback) {
		return err
	}
	if err := h.CatchUp(ctx, nil); err != nil {
		return err
	}
	if err := h.Refresh(ctx, want); err != nil {
		return err
	}
	return do()
}

// MissingLanes names the lanes that this clone has seen and the hub does not
// have any more.
func (h *lanes) MissingLanes(ctx context.Context) ([]string, error) {
	all, err := h.diff(ctx)
	if err != nil {
		return nil, err
	}
	var gone []string
	for _, lane := range all {
		if lane.tip == "" {
			gone = append(gone, lane.remote)
		}
	}
	return gone, nil
}
