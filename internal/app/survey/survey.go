package survey

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"githandoff/internal/crossrepo"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/untrusted"
	"githandoff/internal/work"
	"githandoff/internal/workspace"
)

// Survey is the work of one agent, as far as this clone knows. It asks no hub, and verifies
// the tokens of held handoffs only.
type Survey struct {
	Held      []*Recorded   // claims recorded by this worktree, ended ones as well
	Elsewhere []*Elsewhere  // claims of the agent in other worktrees of the clone
	Kept      []*work.Claim // claims with a step that waits for its hub
	Sent      []*Sent       // sent handoffs without a known receipt, lowest ids first; AllSent counts the rest as well

	Waiting   int               // handoffs that the agent may take
	Undecided int               // handoffs that wait for a decision
	Stale     int               // handoffs in the agent's inboxes, held elsewhere with an expired lease
	Expired   int               // expired handoffs in the agent's inboxes
	Early     int               // handoffs in the agent's inboxes or for nobody, and dated ahead of the clock here
	Refused   int               // handoffs in the agent's inboxes that cannot be read
	Queued    int               // handoffs in the outbox of this clone
	Items     []*workspace.Item // counted handoffs, up to a limit for each count
	AllSent   int               // handoffs sent by the agent, without a known receipt
	Hubs      []Seen
}

// Recorded is a claim recorded by this worktree. An ended one has Standing only.
type Recorded struct {
	*work.Standing
	Work   *handoff.Work // snapshot of the handoff; nil for none
	Live   *work.Live    // token in force; nil for none
	Lapsed error         // why its token is not in force
}

// Elsewhere is a claim recorded by another worktree of the clone.
type Elsewhere struct {
	*work.Standing
	Worktree string // directory of the worktree; "" if git has forgotten it
	Missing  bool   // whether its files are missing
}

// Sent is a handoff sent by the agent. Tip is its newest commit copied in this clone: nil if only
// its delivery is known.
type Sent struct {
	Home  lifecycle.Home
	Agent string // agent whose inbox has the handoff, as far as known
	Offer *record.Record
	Tip   *workspace.Item
}

// Seen says when a hub was read last; never, if the time is zero.
type Seen struct {
	Alias  *crossrepo.Alias
	Latest time.Time
}

// Survey reads the copies in this clone. It counts all handoffs, and keeps at most so many sent
// ones, and so many of each other count.
func (hd *Handler) Survey(ctx context.Context, now time.Time, most int) (*Survey, error) {
	s := &Survey{}
	held, err := hd.Work.Claims.Held()
	if err != nil {
		return nil, err
	}
	for _, h := range held {
		if h.Actor != hd.Work.Agent {
			continue
		}
		st, err := hd.Work.Standing(ctx, h)
		if err != nil {
			return nil, err
		}
		s.Held = append(s.Held, hd.held(ctx, st))
	}
	if s.Elsewhere, err = hd.elsewhere(ctx); err != nil {
		return nil, err
	}
	if s.Kept, err = hd.Work.Claims.Waiting(); err != nil {
		return nil, err
	}
	return s, hd.surveyRefs(ctx, s, now, most)
}

// holds reports whether a handoff is recorded as this worktree's own. Then it counts only as such:
// not as waiting while its claim is unconfirmed, and not as held elsewhere once its lease ran out.
func (s *Survey) holds(p lifecycle.Place) bool {
	return slices.ContainsFunc(s.Held, func(h *Recorded) bool { return h.Over == nil && h.Claim.ID == p.ID })
}

// elsewhere returns the claims of the agent in other worktrees, without those known to have ended.
func (hd *Handler) elsewhere(ctx context.Context) (list []*Elsewhere, err error) {
	held, err := hd.Work.Elsewhere()
	for _, l := range held {
		st, serr := hd.Work.Standing(ctx, l.Claim)
		dir, missing, derr := l.Worktree()
		if err := cmp.Or(serr, derr); err != nil {
			return nil, err
		}
		if st.Over == nil {
			list = append(list, &Elsewhere{st, dir, missing})
		}
	}
	return list, err
}

func (hd *Handler) held(ctx context.Context, st *work.Standing) *Recorded {
	one := &Recorded{Standing: st}
	if st.Over != nil {
		return one
	}
	if st.State != nil && st.State.Offer != nil {
		one.Work = hd.Work.Verifier.WorkOf(ctx, st.State)
	}
	if st.Claim.Token != "" {
		one.Live, one.Lapsed = hd.Work.LiveClaim(ctx, st.Claim)
	}
	return one
}

// Goals returns the goals of held handoffs, by id. A goal is text of the sender, which belongs into
// a fence. A list shows it only to a person at a terminal, and only for handoffs printed in this
// worktree already and verified once more.
func (hd *Handler) Goals(ctx context.Context, s *Survey) map[handoff.ID]string {
	goals := map[handoff.ID]string{}
	for _, h := range s.Held {
		if h.State == nil || h.Over != nil || !h.Claim.Printed {
			continue
		}
		v, err := hd.Work.Verifier.Verify(ctx, h.Home, h.State, lifecycle.Options{AllowExpired: true, AsKnown: true, Lapsed: true})
		switch {
		case err != nil:
		case v.Sealed():
			goals[h.Claim.ID] = "(sealed)"
		default:
			goals[h.Claim.ID] = untrusted.Quote(v.Envelope().Goal)
		}
	}
	return goals
}

func (hd *Handler) surveyRefs(ctx context.Context, s *Survey, now time.Time, most int) error {
	homes := hd.Workspace.All(ctx)
	for _, home := range homes {
		if hub, ok := home.(*crossrepo.Hub); ok {
			s.Hubs = append(s.Hubs, Seen{hub.Alias, hub.LastRead()})
		}
	}
	mine := sentList{most: most, kept: map[handoff.ID]*Sent{}, all: map[handoff.ID]bool{}}
	inboxes := hd.Workspace.Inboxes()
	cameBack := map[handoff.ID]bool{} // handoffs that this agent sent, and that are in its inbox now: they count as waiting
	err := refs.Commits(ctx, hd.Work.Verifier.Repo, func(ref refs.Ref, raw []byte) error {
		it := homes.Item(ref)
		if it == nil {
			return nil
		}
		if it.Scan(raw); hd.Workspace.Strayed(ctx, it) {
			return nil
		}
		if n := s.count(it, inboxes, now); n != nil {
			if *n++; *n <= most {
				s.Items = append(s.Items, it)
			}
		}
		sent := it.Fault == nil && it.Record.From == hd.Workspace.Source() && it.Kind != refs.KindOutbox
		switch id := it.Place.ID; {
		case !sent:
		case slices.Contains(inboxes, it.Place.Agent):
			cameBack[id] = it.Kind == refs.KindInbox
		case it.Kind != refs.KindSent || !cameBack[id]: // inbox refs are listed before sent refs, so cameBack is complete
			mine.add(it)
		}
		return nil
	}, homes.Prefixes()...)
	if err != nil {
		return err
	}
	s.Sent, s.AllSent = mine.cut(), len(mine.all)
	for _, one := range s.Sent {
		if one.Home == nil { // only the sent ref is known
			one.Home, _ = hd.Workspace.Home(ctx, one.Offer.Home) // nil if its alias was removed
		}
	}
	return nil
}

// count returns the counter of an item, by its meaning for the agent; nil if it is not counted.
func (s *Survey) count(it *workspace.Item, inboxes []string, now time.Time) *int {
	switch {
	case it.Kind == refs.KindOutbox:
		return &s.Queued
	case it.Kind != refs.KindInbox:
		return nil
	case it.Fault == nil && it.Place.Agent == handoff.Nobody:
		if it.WordAt(now) == "early" {
			return &s.Early
		}
		return &s.Undecided
	case !slices.Contains(inboxes, it.Place.Agent):
		return nil
	case it.Fault != nil:
		return &s.Refused
	}
	if s.holds(it.Place) {
		return nil
	}
	switch it.WordAt(now) {
	case string(lifecycle.Open):
		return &s.Waiting
	case "overdue":
		return &s.Stale
	case "expired":
		return &s.Expired
	case "early":
		return &s.Early
	}
	return nil // somebody works on the handoff
}

// sentList keeps the sent handoffs with the lowest ids, and counts all.
type sentList struct {
	most int
	kept map[handoff.ID]*Sent
	all  map[handoff.ID]bool
}

// someMore is how many more are kept until the next cut.
const someMore = 1024

// add puts together what the sent ref and the copy of the inbox ref say of one handoff.
func (l *sentList) add(it *workspace.Item) {
	id := it.Place.ID
	l.all[id] = true
	one := l.kept[id]
	if one == nil {
		one = &Sent{Agent: it.Place.Agent, Offer: it.Record}
		l.kept[id] = one
	}
	if it.Kind == refs.KindInbox {
		one.Home, one.Agent, one.Tip = it.Home, it.Place.Agent, it
	}
	if len(l.kept)-someMore > l.most {
		l.cut()
	}
}

// cut drops all but the ones with the lowest ids, and returns these in their order.
func (l *sentList) cut() []*Sent {
	ids := slices.Sorted(maps.Keys(l.kept))
	var list []*Sent
	for i, id := range ids {
		if i < l.most {
			list = append(list, l.kept[id])
		} else {
			delete(l.kept, id)
		}
	}
	return list
}
