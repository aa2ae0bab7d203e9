package history

import (
	"cmp"
	"context"
	"slices"
	"time"

	"githandoff/internal/audited"
	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/workspace"
)

// Past is one handoff according to the log. Only valid entries are used; the payload may be long
// gone.
type Past struct {
	ID      handoff.ID
	State   string         // the event of the receipt, a lifecycle.Phase, "queued", or "elsewhere"
	Offer   *record.Record // nil if only another record names the handoff
	To      string         // agent whose inbox has it now
	Claim   *record.Record // claim that holds it; nil while open or if never held
	Receipt *record.Record // nil while the handoff is under way

	Children []*Past // oldest first
}

// The phases of ended handoffs in a history.
const (
	Succeeded = "Succeeded"
	Failed    = "Failed"
)

// Phase returns how it ended. A rerouted handoff has no phase of its own: its work goes on in the
// one named by its receipt.
func (p *Past) Phase() string {
	if p.Receipt == nil {
		return ""
	}
	switch p.Receipt.Event {
	case record.Acknowledged:
		return Succeeded
	case record.Failed, record.Revoked, record.Expired:
		return Failed
	}
	return ""
}

// Duration returns the time from claim to receipt, or to now, as 1m02s. It is zero for an unclaimed
// handoff.
func (p *Past) Duration(now time.Time) string {
	switch {
	case p.Receipt != nil:
		d, err := time.ParseDuration(p.Receipt.Duration)
		if err != nil {
			d = 0
		}
		return record.Duration(d)
	case p.Claim != nil:
		return record.Duration(now.Sub(p.Claim.At))
	}
	return record.Duration(0)
}

// About reports whether it belongs to a task and an agent: as sender, receiver,
// or who ended it. Empty ones mean any.
func (p *Past) About(task, agent string) bool {
	if p.Offer == nil || task != "" && p.Offer.Task != task {
		return false
	}
	return agent == "" || p.Offer.From == agent || p.To == agent || p.Receipt != nil && p.Receipt.Actor == agent
}

// Ended returns the ended handoffs accepted by keep, newest first, at most limit.
func (h *Handler) Ended(ctx context.Context, limit int, keep func(*Past) bool) ([]*Past, error) {
	var list []*Past
	err := h.logged(ctx, func(p *Past) {
		if p.Phase() == "" || !keep(p) {
			return
		}
		list = append(list, p)
		if len(list) >= 2*limit {
			list = newest(list, limit)
		}
	})
	return newest(list, limit), err
}

func newest(list []*Past, limit int) []*Past {
	slices.SortFunc(list, func(x, y *Past) int {
		return cmp.Or(y.Receipt.At.Compare(x.Receipt.At), cmp.Compare(y.ID, x.ID))
	})
	return list[:min(limit, len(list))]
}

// logged visits every handoff in the known lanes, after updating the lanes of hubs. It warns of a
// hub that is down, and of an untrustworthy lane.
func (h *Handler) logged(ctx context.Context, visit func(*Past)) error {
	homes := h.Workspace.All(ctx)
	unread := crossrepo.AskAll(homes, func(home lifecycle.Home) error {
		if hub, ok := home.(*crossrepo.Hub); ok {
			return hub.FetchLog(ctx)
		}
		return nil
	})
	for i, home := range homes {
		if hub, ok := home.(*crossrepo.Hub); ok {
			err := unread[i]
			if err == nil {
				_, err = hub.AdvanceAll(ctx, nil)
			}
			if err != nil && fault.As(err) == nil {
				return err
			} else if err != nil {
				h.Workspace.Unread(err)
			}
		}
		lanes, err := h.Engine.Repo.List(ctx, home.Namespace().Lanes())
		if err != nil {
			return err
		}
		remembered, err := audited.Open(h.Engine, home, audited.Program())
		if err != nil {
			return err
		}
		err = remembered.Lanes(ctx, lanes, audited.Visitor{
			Entry: func(refs.Ref, *lifecycle.Entry) error { return nil },
			State: func(_ refs.Ref, state *lifecycle.State) error {
				if state.Offer != nil {
					visit(pastOf(state))
				}
				return nil
			},
			Refused: func(_ refs.Ref, err error) error { h.Workspace.Warn(err); return nil },
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func pastOf(s *lifecycle.State) *Past {
	p := &Past{
		ID: s.ID, State: string(s.Phase()), Offer: s.Offer, To: s.To, Claim: s.Claim, Receipt: s.Receipt,
	}
	if s.Receipt != nil {
		p.State = string(s.Receipt.Event)
	}
	return p
}

// Chain returns the first handoff of a handoff's chain, with all its descendants. It is built
// from Handoff-Parent and Handoff-Next, as far as the known log goes.
func (h *Handler) Chain(ctx context.Context, arg string) (*Past, error) {
	all := map[handoff.ID]*Past{}
	err := h.logged(ctx, func(p *Past) {
		if old := all[p.ID]; old == nil || old.Receipt == nil {
			all[p.ID] = p
		}
	})
	if err != nil {
		return nil, err
	}
	queued, err := h.Workspace.Outgoing(ctx)
	if err != nil {
		return nil, err
	}
	for _, it := range queued {
		if it.Record != nil && all[it.Place.ID] == nil {
			all[it.Place.ID] = &Past{ID: it.Place.ID, State: "queued", Offer: it.Record, To: it.Place.Agent}
		}
	}
	f, err := h.Workspace.Find(ctx, arg, workspace.Never)
	if err == nil && all[f.State.ID] == nil && f.State.Offer == nil {
		err = f.State.Err()
	}
	if err != nil {
		return nil, perhapsTask(arg, err)
	}
	if all[f.State.ID] == nil { // the handoff was offered after the logs were read
		all[f.State.ID] = pastOf(f.State)
	}
	link(all)
	first := all[f.State.ID]
	for range handoff.MaxChain {
		above := all[first.Offer.Parent]
		if above == nil || above == first {
			break
		}
		first = above
	}
	unloop(first, map[*Past]bool{})
	return first, nil
}

// perhapsTask hints at the history of a task if no handoff has the id.
func perhapsTask(arg string, err error) error {
	if !fault.Is(err, fault.InvalidID) && !fault.Is(err, fault.UnknownHandoff) {
		return err
	}
	named := *fault.As(err)
	return named.WithHints(
		fault.Run("githandoff", "history", "--task", arg).Because("if that is the key of a task"),
		fault.Run("githandoff", "inbox", "--all").Because("lists open handoffs"))
}

// unloop cuts the children that were visited before: two signers can make their handoffs name each
// other.
func unloop(p *Past, seen map[*Past]bool) {
	seen[p] = true
	p.Children = slices.DeleteFunc(p.Children, func(c *Past) bool { return seen[c] })
	for _, c := range p.Children {
		unloop(c, seen)
	}
}

// link puts every handoff below its parent. A handoff named by a receipt, but missing in the
// known logs, gets a place of its own.
func link(all map[handoff.ID]*Past) {
	for _, p := range all {
		if above := all[p.Offer.Parent]; above != nil && above != p {
			above.Children = append(above.Children, p)
		}
	}
	for _, p := range all {
		slices.SortFunc(p.Children, func(x, y *Past) int {
			return cmp.Or(x.Offer.At.Compare(y.Offer.At), cmp.Compare(x.ID, y.ID))
		})
		if p.Receipt != nil && p.Receipt.Next != "" && all[p.Receipt.Next] == nil {
			p.Children = append(p.Children, &Past{ID: p.Receipt.Next, State: "elsewhere", To: handoff.Nobody})
		}
	}
}
