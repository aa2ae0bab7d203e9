package render

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/workspace"
)

// quotes collects the quotes of an erased handoff in open ones.
type quotes struct {
	ws      *workspace.Workspace
	arg     string            // id of the erased handoff, or its last characters
	vouched *handoff.Ancestor // quote by a handoff from which the log leads to the erased one
	alone   *handoff.Ancestor // quote that no log here confirms: the erased handoff's log is not known
	differ  bool              // two quotes differ, and no log tells which is right
	refused error             // why the first refused quote was not believed
}

// add judges the lineage of an open handoff, which is verified. Everybody who may send can write any
// quote there. So the log decides, where it is known.
func (q *quotes) add(ctx context.Context, env *handoff.Envelope, offer *record.Record) error {
	i := slices.IndexFunc(env.Lineage, func(a handoff.Ancestor) bool { return a.ID.Matches(q.arg) })
	if i < 0 {
		return nil
	}
	a := &env.Lineage[i]
	leads, known, err := q.leads(ctx, env.Lineage[i:], offer)
	if fault.Is(err, fault.HandoffMismatch) { // two handoffs have this id, and the log leads to neither
		leads, err = false, nil
	}
	switch {
	case err != nil:
		return err
	case leads && known:
		q.vouched = a
	case !leads:
		q.refuse(unbelieved("handoff %s quotes %s, but the log does not lead from its sender to that handoff", env.ID, a.ID))
	case q.alone == nil:
		q.alone = a
	case q.alone.ID != a.ID:
		return handoff.Ambiguous(q.arg, q.alone.ID, a.ID)
	case !agree(q.alone, a):
		q.differ = true
		q.refuse(unbelieved("open handoffs quote %s differently, and its log is not known here", a.ID))
	case q.alone.Data == nil:
		q.alone = a
	}
	return nil
}

func (q *quotes) refuse(why error) {
	q.refused = cmp.Or(q.refused, why)
}

func unbelieved(format string, args ...any) error {
	return fault.New(fault.NotFound, fault.Erased, format, args...).
		WithHints(fault.See("render").Because("an empty --dep value means that there is none"))
}

// leads follows the log from an offer to the oldest of its ancestors. Each handoff names the one above
// it as its parent, and its sender took a step of that one. Known tells whether there is a log of the
// oldest here. Where one in between is not known, the log leads nowhere, unless that of the oldest is
// not known either.
func (q *quotes) leads(ctx context.Context, lineage []handoff.Ancestor, offer *record.Record) (leads, known bool, err error) {
	oldest, err := q.state(ctx, lineage[0].ID)
	if err != nil {
		return false, false, err
	}
	known = oldest != nil
	for i, a := range slices.Backward(lineage) {
		if offer.Parent != a.ID && (offer.Parent != "" || i < len(lineage)-1) {
			return false, known, nil
		}
		s, err := q.state(ctx, a.ID)
		if err != nil {
			return false, known, err
		}
		if s == nil {
			return !known, known, nil
		}
		tookPart := func(e *lifecycle.Entry) bool { return e.Dispute == nil && sameSigner(e.Record(), offer) }
		if !slices.ContainsFunc(s.Entries, tookPart) {
			return false, known, nil
		}
		offer = s.Offer
	}
	return true, known, nil
}

// sameSigner reports whether two records that count are of one key, or of two keys of one agent or person:
// each clone may have its own, and one that is lost is replaced.
func sameSigner(a, b *record.Record) bool { return a.Key == b.Key || a.Actor == b.Actor }

// state returns the state of a handoff by its log; nil if no log here has its offer.
func (q *quotes) state(ctx context.Context, id handoff.ID) (*lifecycle.State, error) {
	f, err := q.ws.Find(ctx, string(id), workspace.Never)
	if fault.CodeOf(err) == fault.NotFound || err == nil && f.State.Offer == nil {
		return nil, nil
	}
	if err == nil {
		err = onlyOne(ctx, q.ws, id)
	}
	if err != nil {
		return nil, err
	}
	return f.State, nil
}

// agree reports whether two quotes say the same. Where lineages are full, data is left out.
func agree(a, b *handoff.Ancestor) bool {
	return a.Agent == b.Agent && a.Task == b.Task && a.Summary == b.Summary &&
		(a.Data == nil || b.Data == nil || maps.Equal(a.Data, b.Data))
}

// result returns what is believed; nil for nothing.
func (q *quotes) result() (*quote, error) {
	a := q.vouched
	if a == nil && !q.differ {
		a = q.alone
	}
	if a == nil {
		return nil, q.refused
	}
	return &quote{id: a.ID, ancestor: a}, nil
}
