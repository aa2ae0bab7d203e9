package take

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"time"

	"githandoff/internal/handoff"
	"githandoff/internal/sign"
	"githandoff/internal/workspace"
)

// Many agents may empty one inbox. Each lost claim costs a push and another fetch, so each
// agent begins with other offers than the rest: the keys that may take from the inbox share
// the offers among them by rendezvous hashing. Every key has a number for each offer, and
// comes first where its number is the highest; where it comes second it goes when none is
// left of its own. Nobody has to know who is at work at the moment.

const (
	// fewest is how many of the oldest offers one is chosen from at least, and each how many
	// more for each agent that may choose as well.
	fewest, each = 32, 8
	// most bounds the offers that are looked at, and the keys that are counted.
	mostOffers, mostKeys = 1024, 64

	// turn is for how long the shares stay the same: whoever stands still keeps no offer
	// from the others for longer.
	turn = time.Minute

	// tried is how many offers are verified and tried before the inbox is looked at again.
	tried = 8
)

// window is how many of the oldest free offers are chosen from, beside so many handoffs
// that others hold.
func (sp *spread) window(held int) int {
	return min(max(fewest, each*max(sp.keys(), held)), mostOffers)
}

// spread orders the offers for one agent.
type spread struct {
	mine    string
	rivals  map[string][]string // keys that may take from an inbox, by agent; without ours
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

// others are the other keys that may take from an agent's inbox now; none where there are
// too many of them to be worth counting.
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

// keys is how many keys choose from the inbox that has the most.
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

// rank is how many other keys come before ours for an offer.
func (sp *spread) rank(agent string, id handoff.ID) int {
	ours, before := sp.weight(sp.mine, id), 0
	for _, kid := range sp.rivals[agent] {
		if sp.weight(kid, id) > ours {
			before++
		}
	}
	return before
}

// weight is the number that a key has for an offer, for one turn.
func (sp *spread) weight(kid string, id handoff.ID) uint64 {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %d", kid, id, turnOf(sp.now)))
	return binary.BigEndian.Uint64(sum[:8])
}

// turnOf is the number of the turn that a time is in.
func turnOf(at time.Time) int64 { return at.Unix() / int64(turn/time.Second) }
