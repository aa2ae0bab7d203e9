package take

import (
	"context"
	"fmt"
	"slices"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/workspace"
)

// offers are handoffs that look as if they could be taken, in the order in which this agent
// tries them: their tip can be read, nobody holds them, and a key that is trusted here
// signed it. Offers that cannot be read, or without a trusted signature, are skipped before
// they cost a trip. They are chosen from the oldest.
func (t *Handler) offers(ctx context.Context, homes []lifecycle.Home, passed *passed) ([]*workspace.Item, error) {
	all, err := t.Workspace.Inbox(ctx, t.Workspace.Inboxes(), homes...)
	if err != nil {
		return nil, err
	}
	now := t.Engine.Now()
	all = slices.DeleteFunc(all, func(it *workspace.Item) bool { return passed.ids[it.Place.ID] })
	tips := make([]string, len(all))
	for i, it := range all {
		tips[i] = it.Commit
	}
	queue := refs.NewCommitReader(t.Repo, tips, record.MaxCommit)
	defer queue.Close()
	sp, err := t.newSpread(t.Workspace.Inboxes())
	if err != nil {
		return nil, err
	}
	var free, held []*workspace.Item
	for n, it := range all {
		o, err := queue.Next(ctx, it.Commit)
		if err := it.Fill(ctx, o, err); err != nil {
			return nil, err
		}
		switch {
		case it.Fault != nil:
			passed.refuse(it.Place.ID, it.Fault)
			it.Record, it.Tip = nil, nil // there may be many
		case isFree(it.Record, now):
			free = append(free, it)
		case len(held) < mostOffers:
			held = append(held, it)
		}
		if len(free) < sp.window(len(held)) && n < len(all)-1 {
			continue
		}
		if good := t.vouched(sp, free, passed); len(good) > 0 {
			return good, nil
		}
		free = nil
	}
	if passed.silent {
		return nil, nil
	}
	return t.logless(ctx, held[:min(len(held), fewest)])
}

// vouched are the first of some free offers, in the order in which they are tried, that a
// key signed which is trusted here.
func (t *Handler) vouched(sp *spread, free []*workspace.Item, passed *passed) []*workspace.Item {
	sp.order(free)
	var good []*workspace.Item
	for _, it := range free {
		if err := t.Engine.Keys.CheckTrustedSigner(it.Tip); err != nil {
			passed.refuse(it.Place.ID, err)
			it.Record, it.Tip = nil, nil // there may be many
			continue
		}
		if good = append(good, it); len(good) == tried {
			break
		}
	}
	return good
}

// passed counts the offers that one resume skipped: lost to others, of no use to the
// caller, or refused.
type passed struct {
	warn    func(error)
	silent  bool // no hub is asked about offers that only look held
	ids     map[handoff.ID]bool
	unfit   error // why the last of no use was
	refused int
	lost    int          // claims that others made first
	which   []handoff.ID // the first of those that were refused
	hints   []fault.Hint // that mend what was refused, at most three
}

// spoken bounds the refusals that get a line each: whoever may push to a hub
// must not flood those who read from it.
const spoken = 20

// isFree reports whether the tip of an inbox ref says that nobody holds it: open,
// or held by a claim that ran out twice its lease ago.
func isFree(tip *record.Record, now time.Time) bool {
	switch tip.Event {
	case record.Claimed, record.Progressed:
		return now.After(tip.Lease.Add(tip.Lease.Sub(tip.At)))
	}
	return true
}

func (p *passed) refuse(id handoff.ID, err error) {
	p.ids[id] = true
	if f := fault.As(err); f != nil && (f.Reason == fault.StatusUnknown || f.Reason == fault.AudienceMismatch) {
		p.mends(f.Hints)
	}
	if p.refused++; p.refused <= spoken {
		p.warn(err)
	}
	if len(p.which) < fault.MaxHints {
		p.which = append(p.which, id)
	}
}

// mends keeps the hints of a refusal, each once.
func (p *passed) mends(hints []fault.Hint) {
	for _, h := range hints {
		if !slices.ContainsFunc(p.hints, func(have fault.Hint) bool { return have.String() == h.String() }) {
			p.hints = append(p.hints, h)
		}
	}
}

// whyRefused are the hints that show the refused offers.
func (p *passed) whyRefused() []fault.Hint {
	hints := p.hints
	for _, id := range p.which {
		hints = append(hints, fault.Run("githandoff", "show", string(id)).Because("says why it is refused"))
	}
	return hints
}

// sum says how many were refused without a line.
func (p *passed) sum() {
	if more := p.refused - spoken; more > 0 {
		p.warn(fmt.Errorf("%d more were refused: githandoff audit lists them", more))
	}
}
