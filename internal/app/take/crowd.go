package take

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
	"githandoff/internal/work"
	"githandoff/internal/workspace"
)

const (
	// crowdKeys is the number of keys from which on the agents of one inbox are a crowd. The
	// whole inbox changes faster than one of them can take from it, so each fetches only the
	// handoffs it will try.
	crowdKeys = 4

	// smallCrowd is the largest number of keys in a crowd whose agents may begin with the whole
	// inbox: the time spent on it grows with their number.
	smallCrowd = 8

	// widened is how many more handoffs are fetched if none of the first ones was free.
	widened = 64
)

// crowd takes from an inbox beside many other agents.
type crowd struct{ *Handler }

// crowded reports whether a crowd takes from the inboxes of this agent.
func crowded(t *Handler) bool {
	sp, err := t.newSpread(t.Workspace.Inboxes())
	return err == nil && sp.keys() >= crowdKeys
}

// part is a hub of whose inboxes only a part was fetched.
type part struct {
	hub   *crossrepo.Hub
	rest  []*workspace.Item // in the order in which this agent would try them
	sizes []int             // of the next fetches; after those all inboxes are fetched
}

// lookAt looks at a hub. In a small crowd, the first look in an hour, or after ten minutes of
// other work, fetches the inboxes and the log, in one connection. The others are the looks of an
// agent emptying an inbox, and fetch a part.
func (t crowd) lookAt(ctx context.Context, hub *crossrepo.Hub, skip *skips) error {
	sp, err := t.newSpread(t.Workspace.Inboxes())
	if err != nil {
		return err
	}
	if sp.keys() > smallCrowd || !crossrepo.LooksAtAll(hub) {
		return t.lookAtShare(ctx, hub, sp, skip)
	}
	err = hub.Bring(ctx, crossrepo.Look{FetchSpec: inboxesAndLog(t.Handler)})
	if err == nil {
		crossrepo.LookedAtAll(hub)
	}
	return err
}

// lookAtShare makes one or two connections. The first one lists the inboxes: the names tell which
// handoffs are of this agent's share. If this clone knows one of those as it is now, no second
// one is needed. Otherwise the second one fetches a few, with their lanes, for this claim and the
// next ones. An agent emptying the inbox always fetches: its next claims need no look then.
func (t crowd) lookAtShare(ctx context.Context, hub *crossrepo.Hub, sp *spread, skip *skips) error {
	empties := sp.now.Sub(hub.LastRead()) < 2*turn
	list, err := crossrepo.ListOf(ctx, hub, t.Workspace.Inboxes())
	if err != nil {
		return err
	}
	mine, same, err := t.dropOutdated(ctx, hub, list.Inboxes)
	if err != nil {
		return err
	}
	var open, known []*workspace.Item
	for _, it := range workspace.ItemsOf(hub, hub.Namespace(), list.Inboxes) {
		if !skip.ids[it.Place.ID] && !mine[it.Place.ID] && (empties || !same[it.Ref]) {
			open = append(open, it)
		}
	}
	n := min(len(open), sp.window(0))
	sp.order(open[:n])
	p := &part{hub: hub, rest: open, sizes: []int{tried, widened}}
	if empties {
		return t.lookAtPart(ctx, p, skip)
	}
	if known, err = t.fetched(ctx, hub, mine, skip); err != nil {
		return err
	}
	if len(known) > 0 && sp.leads(known[0], open) {
		first := refs.Ref{Name: known[0].Ref, OID: known[0].Commit}
		if list.Shows(ctx, hub, first, known[0].Place.ID) {
			skip.shown, skip.parts = known[0].Place.ID, append(skip.parts, p)
			return nil
		}
	}
	p.rest = append(known[:min(len(known), 1)], open...) // its lane may have moved
	return t.lookAtPart(ctx, p, skip)
}

// fetched returns the offers of a hub copied in this clone, best first. No hub is asked.
func (t crowd) fetched(ctx context.Context, hub *crossrepo.Hub, mine map[handoff.ID]bool, skip *skips) ([]*workspace.Item, error) {
	quiet := newSkips(func(error) {}) // the choice after the look warns
	quiet.silent, quiet.ids = true, maps.Clone(skip.ids)
	maps.Copy(quiet.ids, mine)
	return t.offers(ctx, []lifecycle.Home{hub}, quiet)
}

// leads reports whether an offer is of no lower rank than the first of some ordered ones.
func (sp *spread) leads(it *workspace.Item, ordered []*workspace.Item) bool {
	return len(ordered) == 0 || sp.rank(it.Place.Agent, it.Place.ID) <= sp.rank(ordered[0].Place.Agent, ordered[0].Place.ID)
}

// lookAtPart fetches the next handoffs of a hub, and remembers the rest.
func (t crowd) lookAtPart(ctx context.Context, p *part, skip *skips) error {
	if len(p.rest) == 0 {
		return nil
	}
	n := min(p.sizes[0], len(p.rest))
	var look crossrepo.Look
	for _, it := range p.rest[:n] {
		look.Places, look.Known = append(look.Places, it.Place), append(look.Known, it.Place.ID)
	}
	p.rest, p.sizes = p.rest[n:], p.sizes[1:]
	if len(p.rest) > 0 {
		skip.parts = append(skip.parts, p)
	}
	return p.hub.Bring(ctx, look)
}

// lookFurther fetches more of the partly fetched hubs, and at last all their inboxes. It reports
// whether there was more.
func (t crowd) lookFurther(ctx context.Context, skip *skips) (more bool) {
	parts := skip.parts
	skip.parts = nil
	for _, p := range parts {
		if len(p.sizes) > 0 {
			skip.failed(p.hub, t.lookAtPart(ctx, p, skip))
			continue
		}
		skip.failed(p.hub, p.hub.Bring(ctx, crossrepo.Look{FetchSpec: lifecycle.FetchSpec{Inboxes: t.Workspace.Inboxes()}}))
	}
	return len(parts) > 0
}

// dropOutdated drops the copies of inbox refs which the hub has no more, or has moved: others
// claimed those offers. A handoff recorded as held here keeps its copy as long as the hub has it.
// The ids of such handoffs are returned, and the copies equal to the hub's refs.
func (t crowd) dropOutdated(ctx context.Context, hub *crossrepo.Hub, list []refs.Ref) (mine map[handoff.ID]bool, same map[string]bool, err error) {
	held, err := t.Claims.All()
	if err != nil {
		return nil, nil, err
	}
	mine, same = make(map[handoff.ID]bool, len(held)), map[string]bool{}
	for _, h := range held {
		mine[h.ID] = true
	}
	there := make(map[string]string, len(list))
	for _, ref := range list {
		there[ref.Name] = ref.OID
	}
	known, err := t.Workspace.Inbox(ctx, t.Workspace.Inboxes(), hub)
	if err != nil {
		return nil, nil, err
	}
	var drop []refs.Edit
	for _, it := range known {
		now := there[it.Ref]
		same[it.Ref] = now == it.Commit
		if now == "" || now != it.Commit && !mine[it.Place.ID] {
			drop = append(drop, refs.Edit{Ref: it.Ref, Old: it.Commit})
		}
	}
	err = t.Repo.Apply(ctx, refs.Transaction{Edits: drop})
	if errors.As(err, new(*refs.StaleError)) {
		err = nil // another command of this clone has looked as well
	}
	return mine, same, err
}

// claimOf claims an offer and gives it up if others were faster: the next offer costs less
// than to ask for their names.
func (t crowd) claimOf(ctx context.Context, hub *crossrepo.Hub, it *workspace.Item, q Request) (*Result, error) {
	end := crossrepo.Hastily(hub)
	g, err := t.claim(ctx, hub, it.Place, q, false)
	end()
	switch {
	case errors.Is(err, crossrepo.ErrOvertaken):
		err = errors.Join(err, t.forgetOvertaken(ctx, it))
	case fault.CodeOf(err) == fault.Conflict:
		err = errors.Join(err, forgetLost(ctx, t.Handler, it))
	}
	return g, err
}

// forgetOvertaken drops the copy of an offer taken by others, and the record of an unsent claim
// on it. An earlier try of this command may have been sent: then the record stays, and the next
// resume asks the hub.
func (t crowd) forgetOvertaken(ctx context.Context, it *workspace.Item) error {
	err := t.Repo.Apply(ctx, refs.Transaction{Edits: []refs.Edit{{Ref: it.Ref, Old: it.Commit}}})
	if err != nil && !errors.As(err, new(*refs.StaleError)) {
		return err
	}
	return forgetRefused(ctx, t.Handler, it.Place.ID)
}

// forgetRefused drops the record of a claim missing at its hub.
func forgetRefused(ctx context.Context, t *Handler, id handoff.ID) error {
	h, err := t.Claims.Get(id)
	if err != nil || !neverLeft(h) {
		return err
	}
	return release(ctx, t.Claims, h)
}

// neverLeft reports whether the record of an abandoned claim has no other claim.
func neverLeft(h *work.Claim) bool {
	return h != nil && h.Held() && !h.Printed && len(h.Earlier) == 0
}

// Many agents may empty one inbox. Each lost claim costs a push and another fetch, so each agent
// begins with other offers than the rest: the keys allowed to take from the inbox share the
// offers among them by rendezvous hashing. Every key has a number for each offer. A key begins
// with the offers for which its number is the highest, then takes those for which it is the
// second highest. Nobody has to know which agents are at work.

const (
	// fewest is the least number of the oldest offers to choose from; each is added to it for
	// each other agent.
	fewest, each = 32, 8
	// most bounds the offers looked at, and the keys counted.
	mostOffers, mostKeys = 1024, 64

	// turn is for how long the shares stay the same: whoever stands still keeps no offer
	// from the others for longer.
	turn = time.Minute

	// tried is how many offers are verified and tried before the inbox is looked at again.
	tried = 8
)

// window returns the number of the oldest free offers to choose from, beside the given number of
// handoffs held by others.
func (sp *spread) window(held int) int {
	return min(max(fewest, each*max(sp.keys(), held)), mostOffers)
}

// spread orders the offers for one agent.
type spread struct {
	mine    string
	rivals  map[string][]string // keys allowed to take from an inbox, by agent; without ours
	now     time.Time
	trust   *sign.Trust
	shuffle *rand.Rand
}

// newSpread is for the agents whose inboxes are looked at.
func (t *Handler) newSpread(agents []string) (*spread, error) {
	var seed [32]byte
	if _, err := io.ReadFull(t.Engine.Author.Random, seed[:]); err != nil {
		return nil, fmt.Errorf("read a seed: %w", err)
	}
	sp := &spread{
		mine: t.Engine.Author.Signer.KID(), rivals: map[string][]string{}, now: t.Engine.Now(),
		trust: t.Engine.Keys.Trust, shuffle: rand.New(rand.NewChaCha8(seed)),
	}
	for _, agent := range agents {
		sp.rivals[agent] = sp.others(agent)
	}
	return sp, nil
}

// others returns the other keys now allowed to take from an agent's inbox; none if there are too
// many to be worth counting.
func (sp *spread) others(agent string) []string {
	var kids []string
	for _, entry := range sp.trust.Entries() {
		key, ok := sp.trust.Lookup(entry.KID)
		if ok && entry.KID != sp.mine && key.MayAct(sign.RoleRecipient, agent, sp.now) == nil {
			kids = append(kids, entry.KID)
		}
	}
	if len(kids) > mostKeys {
		return nil
	}
	return kids
}

// keys returns the number of keys at the inbox with the most.
func (sp *spread) keys() int {
	n := 0
	for _, kids := range sp.rivals {
		n = max(n, len(kids))
	}
	return n + 1
}

// order puts offers into the order in which they are tried: those of which this key's share
// is the largest first, and of those with the same share a random one, for several agents
// may have one key.
func (sp *spread) order(offers []*workspace.Item) {
	sp.shuffle.Shuffle(len(offers), func(i, j int) { offers[i], offers[j] = offers[j], offers[i] })
	ranks := make(map[handoff.ID]int, len(offers))
	for _, it := range offers {
		ranks[it.Place.ID] = sp.rank(it.Place.Agent, it.Place.ID)
	}
	slices.SortStableFunc(offers, func(a, b *workspace.Item) int { return cmp.Compare(ranks[a.Place.ID], ranks[b.Place.ID]) })
}

// rank returns how many other keys come before ours for an offer.
func (sp *spread) rank(agent string, id handoff.ID) int {
	ours, before := sp.weight(sp.mine, id), 0
	for _, kid := range sp.rivals[agent] {
		if sp.weight(kid, id) > ours {
			before++
		}
	}
	return before
}

// weight returns a key's number for an offer, for one turn.
func (sp *spread) weight(kid string, id handoff.ID) uint64 {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %d", kid, id, turnOf(sp.now)))
	return binary.BigEndian.Uint64(sum[:8])
}

// turnOf returns the number of the turn at a time.
func turnOf(at time.Time) int64 { return at.Unix() / int64(turn/time.Second) }
