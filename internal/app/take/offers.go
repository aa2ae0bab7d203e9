package take

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
	"githandoff/internal/workspace"
)

// choice is the part of a search that chooses among the offers. It remembers those that it tried.
type choice struct {
	*search
	skipped  map[handoff.ID]bool // offers that are not tried again
	refused  []handoff.ID        // refused offers
	hints    []fault.Hint        // hints of the refusals, each once
	unlogged handoff.ID          // the last offer that no log mentions
	unfit    error               // error of Request.Fits for the last offer that it refused
	lost     int                 // number of claims in which others were faster
	ended    []*workspace.Item   // ended handoffs that still have an inbox ref

	crowded   bool         // a crowd takes from the inboxes of this agent
	looks     []*crowdLook // looks at hubs that have more to fetch
	unchanged handoff.ID   // offer that needs no fetch: the hub lists it as it is here
}

// resumeAny claims one of the oldest offers.
func (t *choice) resumeAny(ctx context.Context) (*Result, error) {
	defer func() {
		if more := len(t.refused) - mostRefusals; more > 0 {
			t.problems = append(t.problems, fmt.Errorf("%d more were refused: githandoff audit lists them", more))
		}
	}()
	sp, err := t.newSpread(t.Workspace.Inboxes())
	if err != nil {
		return nil, err
	}
	t.crowded = sp.keys() >= crowdKeys
	kept, err := t.Claims.Waiting()
	if err != nil {
		return nil, err
	}
	for _, h := range kept { // a kept step of this worktree waits for the hub: the offer is no longer free
		t.skipped[h.ID] = true
	}
	homes := []lifecycle.Home{t.Local}
	if !t.OnlyLocal {
		all, down := t.Workspace.Sources(ctx)
		homes = t.remaining(all)
		t.homeFailed(nil, down)
	}
	g, read, err := t.claimSeen(ctx, homes)
	if g != nil || err != nil && fault.CodeOf(err) != fault.Unavailable {
		return g, err
	}
	t.lookAt(ctx, slices.DeleteFunc(t.remaining(homes), func(home lifecycle.Home) bool { return home == read }))
	g, err = t.resumeFetched(ctx, homes)
	switch {
	case err != nil:
		return nil, err
	case g == nil:
		t.sweep(ctx)
		return nil, t.errNothing(ctx, homes)
	}
	if hub, ok := g.Home.(*crossrepo.Hub); ok && t.lost == 0 {
		hub.NoteContested(false)
	}
	return g, nil
}

// lookAt fetches what is needed for a choice from some homes.
func (t *choice) lookAt(ctx context.Context, homes []lifecycle.Home) {
	if t.crowded {
		for _, home := range homes {
			if hub, ok := home.(*crossrepo.Hub); ok { // this repository needs no look
				l := &crowdLook{choice: t, hub: hub, sizes: []int{tried, widened}}
				t.homeFailed(hub, l.begin(ctx))
			}
		}
		return
	}
	look := t.inboxesAndLog()
	for i, err := range crossrepo.AskAll(homes, func(home lifecycle.Home) error { return home.Refresh(ctx, look) }) {
		t.homeFailed(homes[i], err)
	}
}

// inboxesAndLog asks for everything needed for a choice: the inboxes of this agent, and the log.
func (t *search) inboxesAndLog() lifecycle.FetchSpec {
	return lifecycle.FetchSpec{Inboxes: t.Workspace.Inboxes(), Log: true}
}

// mostRefusals bounds the refusals with a warning of their own: somebody with push access must
// not flood the readers of a hub.
const mostRefusals = 20

// offerRefused notes why an offer is refused. This resume does not try it again.
func (t *choice) offerRefused(it *workspace.Item, err error) {
	id := it.Place.ID
	it.Record, it.Tip = nil, nil // refused offers may be many: free their memory
	t.skipped[id] = true
	if f := fault.As(err); f != nil && slices.Contains([]fault.Reason{fault.StatusUnknown, fault.AudienceMismatch, fault.Rollback}, f.Reason) {
		t.hints = fault.AddHints(t.hints, f.Hints...)
	}
	if errors.Is(err, handoff.ErrUnknown) {
		t.hints = fault.AddHints(t.hints, handoff.ErrUnknown.Hint)
		if !strings.Contains(err.Error(), string(id)) {
			err = fault.About("handoff "+string(id), err)
		}
	}
	if t.refused = append(t.refused, id); len(t.refused) <= mostRefusals {
		t.problems = append(t.problems, err)
	}
}

// resumeFetched claims one of the fetched offers, and fetches more of a crowded inbox if none of
// them is free. It is nil if there are no more.
func (t *choice) resumeFetched(ctx context.Context, homes []lifecycle.Home) (*Result, error) {
	var list []*workspace.Item // as long as each offer that was tried is refused, it need not be read again
	for {
		if list == nil {
			var err error
			if list, err = t.Workspace.InboxItems(ctx, t.remaining(homes)...); err != nil {
				return nil, err
			}
		}
		offers, held, err := t.offers(ctx, list)
		if err == nil && len(offers) == 0 {
			offers, err = t.heldWithoutEntry(ctx, held)
		}
		if err != nil {
			return nil, err
		}
		if len(offers) == 0 {
			if !t.lookFurther(ctx) {
				return nil, nil
			}
			list = nil
			continue
		}
		if i := slices.IndexFunc(offers, func(it *workspace.Item) bool { return it.Place.ID == t.unchanged }); i > 0 {
			offers[0], offers[i] = offers[i], offers[0]
		}
		lost := t.lost
		if g, err := t.claimOne(ctx, offers); g != nil || err != nil {
			return g, err
		}
		if t.lost > lost || slices.ContainsFunc(offers, func(it *workspace.Item) bool { return !t.skipped[it.Place.ID] }) {
			list = nil
		}
	}
}

// offers returns those of some handoffs which look free, in the order in which this agent tries them: their tip
// is readable, says that nobody holds them, and is signed by a trusted key. Offers that cannot be
// read, or without a trusted signature, are skipped before they cost a trip. They are chosen from
// the oldest. held are the oldest of the others, which look held. No hub is asked.
func (t *choice) offers(ctx context.Context, list []*workspace.Item) (good, held []*workspace.Item, err error) {
	now := t.Engine.Now()
	all := slices.DeleteFunc(slices.Clone(list), func(it *workspace.Item) bool { return t.skipped[it.Place.ID] })
	tips := make([]string, len(all))
	for i, it := range all {
		tips[i] = it.Commit
	}
	queue := refs.NewBatchReader(t.Engine.Repo, "commit", tips, record.MaxCommit)
	defer queue.Close()
	sp, err := t.newSpread(t.Workspace.Inboxes())
	if err != nil {
		return nil, nil, err
	}
	var free []*workspace.Item
	for n, it := range all {
		o, err := queue.Next(ctx, it.Commit)
		if err := it.Fill(ctx, o, err); err != nil {
			return nil, nil, err
		}
		switch {
		case fault.CodeOf(it.Fault) == fault.Unavailable: // a gc removed the copy here, and the hub does not answer
			t.skipped[it.Place.ID] = true
			t.homeFailed(it.Home, it.Fault)
		case it.Fault != nil:
			t.offerRefused(it, it.Fault)
		case t.Workspace.Strayed(ctx, it):
		case isFree(it.Record, now):
			free = append(free, it)
		case len(held) < mostOffers:
			held = append(held, it)
		}
		if len(free) < sp.window(len(held)) && n < len(all)-1 {
			continue
		}
		if err := t.shuffleIfContested(sp, held); err != nil {
			return nil, nil, err
		}
		if good = t.firstTrusted(sp, free); len(good) > 0 {
			break
		}
		free = nil
	}
	return good, held[:min(len(held), fewestOffers)], nil
}

// offersAt lists the inboxes of some homes, and returns the offers in them.
func (t *choice) offersAt(ctx context.Context, homes ...lifecycle.Home) ([]*workspace.Item, error) {
	list, err := t.Workspace.InboxItems(ctx, homes...)
	if err != nil {
		return nil, err
	}
	offers, _, err := t.offers(ctx, list)
	return offers, err
}

// shuffleIfContested lets chance decide between offers of the same rank if somebody else takes from
// the same inboxes: a claim was lost, or handoffs are held which are not this worktree's.
func (t *choice) shuffleIfContested(sp *spread, held []*workspace.Item) error {
	others := t.lost > 0
	for _, it := range held {
		if others {
			break
		}
		mine, err := t.Claims.Get(it.Place.ID)
		if err != nil {
			return err
		}
		others = mine == nil || !mine.Held()
	}
	if !others || sp.shuffle != nil {
		return nil
	}
	return sp.chooseByChance(t.Engine.Author.Random)
}

// isFree reports whether the tip of an inbox ref shows a free handoff: open, or held with a lease
// overdue by twice its length.
func isFree(tip *record.Record, now time.Time) bool {
	switch tip.Event {
	case record.Claimed, record.Progressed:
		return now.After(tip.Lease.Add(tip.Lease.Sub(tip.At)))
	}
	return true
}

// firstTrusted returns the first offers with a trusted signature, in the order in which they are
// tried.
func (t *choice) firstTrusted(sp *spread, free []*workspace.Item) []*workspace.Item {
	sp.order(free)
	var good []*workspace.Item
	for _, it := range free {
		if err := t.Engine.Keys.CheckTrustedSigner(it.Tip); err != nil {
			t.offerRefused(it, err)
			continue
		}
		if good = append(good, it); len(good) == tried {
			break
		}
	}
	return good
}

// heldWithoutEntry returns the handoffs which only look held: the step on their inbox ref has no
// entry in the lane, so nobody holds them. Lanes with the entry, or read in this command, are not
// fetched.
func (t *choice) heldWithoutEntry(ctx context.Context, held []*workspace.Item) ([]*workspace.Item, error) {
	doubtful, err := t.withoutEntry(ctx, held)
	if err != nil {
		return nil, err
	}
	wants := map[lifecycle.Home][]handoff.ID{}
	for _, it := range doubtful {
		if !it.Home.LaneIsFresh(it.Place.ID) {
			wants[it.Home] = append(wants[it.Home], it.Place.ID)
		}
	}
	for home, ids := range wants {
		if err := home.Refresh(ctx, lifecycle.FetchSpec{Lanes: ids, Once: true}); err != nil {
			t.Workspace.Warn(err)
		}
	}
	open, err := t.withoutEntry(ctx, doubtful)
	return slices.DeleteFunc(open, func(it *workspace.Item) bool { return !it.Home.LaneIsFresh(it.Place.ID) }), err
}

// withoutEntry returns the handoffs which are held by their inbox ref, but open in the known copy of
// their lane.
func (t *choice) withoutEntry(ctx context.Context, held []*workspace.Item) ([]*workspace.Item, error) {
	var open []*workspace.Item
	for _, it := range held {
		s, err := t.Engine.Reader.Load(ctx, it.Home, it.Place)
		if err != nil {
			return nil, err
		}
		if s.Unlogged() && (s.Phase() == lifecycle.Open || s.Phase() == lifecycle.Absent) {
			open = append(open, it)
		}
	}
	return open, nil
}

// claimOne claims the first of some offers that can be claimed. It returns nil if all were refused, or
// others were faster. Then the caller chooses again: the hub was read after the lost claim.
func (t *choice) claimOne(ctx context.Context, offers []*workspace.Item) (*Result, error) {
	for i, it := range offers {
		// After each refusal the lanes of more offers are fetched at once: others may be refused too.
		if err := t.refreshLanes(ctx, offers[i:min(i+max(i*i, 1), len(offers))]); err != nil {
			return nil, t.ignoreUnavailable(it.Home, err)
		}
		g, looked, err := t.attempt(ctx, it)
		switch code := fault.CodeOf(err); {
		case err == nil:
			return g, nil
		case errors.As(err, new(unfit)):
			t.skipped[it.Place.ID], t.unfit = true, err
		case errors.Is(err, errHeldHere):
			t.skipped[it.Place.ID] = true
		case fault.Is(err, fault.Unfinished): // the offer is not logged: nobody was faster
			t.skipped[it.Place.ID], t.unlogged = true, it.Place.ID
		case code == fault.Conflict && fault.Is(err, fault.Replayed): // the handoff has ended, and its inbox ref came back
			t.skipped[it.Place.ID] = true
			t.ended = append(t.ended, it)
		case code == fault.Conflict:
			t.skipped[it.Place.ID] = true
			if t.lost++; t.lost%lostInARow == 0 {
				if err := refs.Pause(ctx, t.lost/lostInARow); err != nil {
					return nil, err
				}
			}
			switch {
			case looked:
				return nil, nil
			case t.crowded:
				continue // the next offers were fetched together with this one
			}
			return nil, t.ignoreUnavailable(it.Home, it.Home.Refresh(ctx, t.inboxesAndLog()))
		case refusesKey(err, t.Engine.Author.Signer.KID()):
			t.homeFailed(it.Home, err)
			return nil, nil
		case code == fault.Denied, code == fault.Invalid, code == fault.Policy, code == fault.NotFound:
			t.offerRefused(it, err)
		default:
			if !nothingSent(err) {
				return nil, err
			}
			return nil, t.ignoreUnavailable(it.Home, err)
		}
	}
	return nil, nil
}

// lostInARow is the number of lost claims after which there is a pause of random length.
const lostInARow = 2

// nothingSent reports whether a failed claim cannot be at the hub: this clone did not send it, or
// the hub refused each of its refs.
func nothingSent(err error) bool {
	return fault.Is(err, fault.HubKeepsRefs) || errors.Is(err, refs.ErrRefused)
}

// refreshLanes checks the lane of the first of some offers, unless this command has done so, and
// with it those of the others at the same home. It fetches those that the look has not brought.
func (t *choice) refreshLanes(ctx context.Context, offers []*workspace.Item) error {
	first := offers[0]
	if first.Home.LaneIsFresh(first.Place.ID) {
		return nil
	}
	spec := lifecycle.FetchSpec{Once: true}
	for _, it := range offers {
		if it.Home == first.Home {
			spec.Lanes = append(spec.Lanes, it.Place.ID)
		}
	}
	return first.Home.Refresh(ctx, spec)
}

// errNothing says why no offer was claimed.
func (t *choice) errNothing(ctx context.Context, homes []lifecycle.Home) error {
	switch {
	case len(t.refused) > 0:
		hints := t.hints
		for _, id := range t.refused[:min(len(t.refused), fault.MaxHints)] {
			hints = append(hints, fault.Run("githandoff", "show", string(id)).Because("says why it is refused"))
		}
		for _, inbox := range append(t.Workspace.Inboxes(), t.Agent) {
			if !t.Engine.Author.MayAct(sign.RoleRecipient, inbox) {
				hints = []fault.Hint{fault.Run("githandoff", "doctor").Because("says why the key of %s may not take them", t.Agent)}
			}
		}
		return fault.New(fault.Denied, fault.Refused, "every handoff that waits for %s was refused", t.Agent).WithHints(hints...)
	case t.down != nil:
		return t.down
	}
	for _, home := range homes {
		if hub, ok := home.(*crossrepo.Hub); ok {
			if err := hub.WhyEmpty(ctx); err != nil {
				return err
			}
		}
	}
	if t.unfit != nil {
		return t.unfit
	}
	wait := []string{"githandoff", "resume", "--wait", "10m"}
	if t.Next { // without --next, resume shows what this worktree holds
		wait = slices.Insert(wait, 2, "--next")
	}
	hints, err := t.Work.HintsMissing()
	if err != nil {
		return err
	}
	if t.unlogged != "" {
		hints = append(hints, fault.Fact("githandoff sync in the clone of its sender finishes the offer of %s, which no log mentions", t.unlogged))
	}
	hints = append(hints,
		fault.Run("githandoff", "inbox", "--all").Because("lists the handoffs that wait for others"),
		fault.Run(wait...).Because("waits for one"))
	return fault.New(fault.NotFound, fault.NothingPending, "nothing waits for %s", t.Agent).
		WithHints(append(hints, t.Workspace.HintOtherHubs(homes...)...)...)
}
