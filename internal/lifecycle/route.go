package lifecycle

import (
	"context"

	"githandoff/internal/fault"
	"githandoff/internal/record"
	"githandoff/internal/refs"
)

// Route moves a handoff that waits for a decision into the inbox of an agent;
// the payload stays as its sender signed it. Only a root key decides. Data goes
// into the record, and its lane entry. One that is in that inbox already is a
// success; one that went to another agent is a conflict that names it.
func (e *Engine) Route(ctx context.Context, home Home, p Place, to, data string) (*State, error) {
	return e.act(ctx, home, p, false, func(s *State, b *batch) error {
		if err := s.Err(); err != nil {
			return err
		}
		switch s.To {
		case refs.Nobody:
		case to:
			return nil
		default:
			return s.ErrRouted()
		}
		v, err := e.Verifier.Verify(ctx, home, s, Options{AllowExpired: true})
		if err != nil {
			return err
		}
		if v.token != nil && v.token.Leaf().Actor.Subject != to {
			return denied(fault.AudienceMismatch, "the token of handoff %s is for %s, not for %s", s.ID, v.token.Leaf().Actor.Subject, to).
				WithHints(fault.Run("githandoff", "reroute", string(s.ID), "--to", to).Because("sends it on; its principal issues another token"))
		}
		if err := e.Author.MayDecide(); err != nil {
			return err
		}
		rec, err := e.Author.draft(s, record.Routed, func(r *record.Record) { r.To, r.Data = to, data })
		if err != nil {
			return err
		}
		return b.build(ctx, s, rec)
	})
}

// ErrRouted is the conflict that says which agent has it.
func (s *State) ErrRouted() error {
	return fault.New(fault.Conflict, fault.Routed, "handoff %s is already with %s", s.ID, s.To).
		WithHints(fault.See("reroute").Because("sends it on to another agent"))
}

// Locate is Load for a copy that may lack the inbox that a handoff was routed
// into: the lane names it, and it is fetched.
func (rd *Reader) Locate(ctx context.Context, home Home, p Place) (*State, error) {
	s, err := rd.Load(ctx, home, p)
	if err != nil || s.Agent == s.To || s.To == "" || s.To == p.Agent || s.Phase() == Ended {
		return s, err
	}
	p.Agent = s.To
	if err := home.Refresh(ctx, FetchSpec{Places: []Place{p}}); err != nil {
		return nil, err
	}
	there, err := rd.Load(ctx, home, p)
	if err == nil && there.Tip == "" && s.Tip != "" {
		return s, nil
	}
	return there, err
}
