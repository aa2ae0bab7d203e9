package crossrepo

import (
	"context"
	"fmt"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/refs"
)

// Finding is one thing that an audit found wrong.
type Finding struct {
	Reason string // lost, rollback, disputed, untrusted_key, …
	ID     handoff.ID
	Lane   string
	Text   string
}

// Audit is what an audit tells, one call at a time: entries lane by lane,
// oldest first within a lane, and findings as they turn up.
type Audit struct {
	Entry   func(home lifecycle.Home, e *lifecycle.Entry) error
	Finding func(home lifecycle.Home, f Finding) error
}

// RunAudit reads every lane of this repository and of the hubs that it knows,
// checks every signature and judges every entry, and compares what the lanes
// say with the inbox refs that are there. Only one lane is in memory at a time.
func (d *Desk) RunAudit(ctx context.Context, aliases []string, a Audit) error {
	homes, err := d.audited(ctx, aliases)
	if err != nil {
		return err
	}
	for _, home := range homes {
		if err := d.auditHome(ctx, home, a); err != nil {
			return err
		}
	}
	return nil
}

// audited are the homes to look at; hubs are fetched first, whole.
func (d *Desk) audited(ctx context.Context, aliases []string) ([]lifecycle.Home, error) {
	if len(aliases) > 0 {
		only, err := d.chosen(ctx, aliases)
		var homes []lifecycle.Home
		for _, hub := range only {
			homes = append(homes, hub)
		}
		return homes, err
	}
	spaces, err := d.spaces(ctx)
	var homes []lifecycle.Home
	for _, s := range spaces {
		homes = append(homes, s.home)
	}
	return homes, err
}

func (d *Desk) auditHome(ctx context.Context, home lifecycle.Home, a Audit) error {
	if hub, ok := home.(*Hub); ok {
		if err := d.fetchAll(ctx, hub, a); err != nil {
			return err
		}
	}
	open, err := d.openRefs(ctx, home, a)
	if err != nil {
		return err
	}
	lanes, err := d.Repo.List(ctx, home.Space().Lanes())
	if err != nil {
		return err
	}
	for _, lane := range lanes {
		audit, err := d.Engine.AuditLane(ctx, home, lane.OID)
		if f := fault.As(err); f != nil && f.Code == fault.Denied {
			if err := a.Finding(home, Finding{Reason: f.Reason, Lane: lane.Name, Text: f.Message}); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		for _, e := range audit.Entries {
			if err := a.Entry(home, e); err != nil {
				return err
			}
			if e.Dispute == nil {
				continue
			}
			if err := a.Finding(home, disputeOf(lane.Name, e)); err != nil {
				return err
			}
		}
		if err := compareLane(home, lane.Name, audit, open, a); err != nil {
			return err
		}
	}
	for id, at := range open {
		f := Finding{Reason: "unlogged", ID: id, Text: fmt.Sprintf("%s is there and no lane speaks of it", at.ref)}
		if err := a.Finding(home, f); err != nil {
			return err
		}
	}
	return nil
}

// fetchAll brings in everything a hub has. A lane that it rewrote is a finding,
// a hub that is down a warning: the copies are audited.
func (d *Desk) fetchAll(ctx context.Context, hub *Hub, a Audit) error {
	err := hub.Refresh(ctx, lifecycle.Want{Inboxes: []string{AllInboxes}})
	if err == nil {
		err = hub.RefreshAllLanes(ctx)
	}
	if err == nil {
		var lost []string
		if lost, err = hub.MissingLanes(ctx); err == nil {
			for _, lane := range lost {
				if err := a.Finding(hub, Finding{Reason: "rollback", Lane: lane, Text: lane + " is gone from the hub; this clone has seen it"}); err != nil {
					return err
				}
			}
		}
	}
	switch {
	case fault.Is(err, "rollback"):
		return a.Finding(hub, Finding{Reason: "rollback", Text: err.Error()})
	case fault.CodeOf(err) == fault.Unavailable:
		d.Warn(err)
		return nil
	}
	return err
}

type openRef struct{ ref, nonce string }

// openRefs are the inbox refs of a home with the nonces of their tips.
func (d *Desk) openRefs(ctx context.Context, home lifecycle.Home, a Audit) (map[handoff.ID]openRef, error) {
	open := map[handoff.ID]openRef{}
	err := d.Repo.Commits(ctx, func(ref refs.Ref, raw []byte) error {
		p, ok := home.Space().ParsePlace(ref.Name)
		if !ok {
			return a.Finding(home, Finding{Reason: "invalid_id", Text: ref.Name + " is not the name of a handoff"})
		}
		r, err := record.Scan(raw)
		if err != nil || r.ID != p.ID {
			return a.Finding(home, Finding{Reason: "malformed_object", ID: p.ID, Text: ref.Name + " does not hold this handoff"})
		}
		open[p.ID] = openRef{ref.Name, r.Nonce}
		return nil
	}, string(home.Space())+"inbox/")
	return open, err
}

func disputeOf(lane string, e *lifecycle.Entry) Finding {
	reason := "disputed"
	if f := fault.As(e.Dispute); f != nil {
		reason = f.Reason
	}
	return Finding{Reason: reason, ID: e.Record().ID, Lane: lane, Text: e.Dispute.Error()}
}

// compareLane holds what a lane says against the inbox refs, and removes from
// open what was accounted for.
func compareLane(home lifecycle.Home, lane string, audit *lifecycle.LaneAudit, open map[handoff.ID]openRef, a Audit) error {
	for id, s := range audit.States {
		at, there := open[id]
		delete(open, id)
		var f Finding
		switch {
		case s.Offer == nil:
			continue // its entries are findings already
		case s.Receipt != nil && there:
			f = Finding{Reason: "unswept", Text: at.ref + " is still there after its receipt (githandoff gc)"}
		case s.Receipt == nil && !there:
			f = Finding{Reason: "lost", Text: fmt.Sprintf("handoff %s is gone from %s without a receipt", id, home.ID())}
		case s.Receipt == nil && !logged(s, at.nonce):
			f = Finding{Reason: "unlogged", Text: "the last step on " + at.ref + " is not in the lane"}
		default:
			continue
		}
		f.ID, f.Lane = id, lane
		if err := a.Finding(home, f); err != nil {
			return err
		}
	}
	return nil
}

func logged(s *lifecycle.State, nonce string) bool {
	for _, e := range s.Entries {
		if e.Record().Nonce == nonce {
			return true
		}
	}
	return false
}
