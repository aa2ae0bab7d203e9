package take

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/sign"
	"githandoff/internal/workspace"
)

// Many agents may empty one inbox. Each lost claim costs a push and another fetch, so each agent
// begins with other offers than the rest: the keys allowed to take from the inbox share the
// offers among them by rendezvous hashing. Every key has a number for each offer. A key begins
// with the offers for which its number is the highest, then takes those for which it is the
// second highest. Nobody has to know which agents are at work.

const (
	// An agent chooses from the oldest offers. There are fewestOffers of them, or offersPerKey for
	// each key if that is more, but not more than mostOffers.
	fewestOffers, offersPerKey, mostOffers = 32, 8, 1024

	// mostKeys limits the other keys that share an inbox, and with them the time to order its offers.
	// The keys beyond it find shares that are not theirs alone.
	mostKeys = 64

	// turn is for how long the shares stay the same. An agent that is not at work keeps its share
	// from the others for no longer.
	turn = time.Minute

	// tried is how many offers are verified and tried before the inbox is looked at again.
	tried = 8
)

// window returns the number of the oldest free offers to choose from, beside the given number of
// handoffs held by others.
func (sp *spread) window(held int) int {
	return min(max(fewestOffers, offersPerKey*max(sp.keys(), held)), mostOffers)
}

// spread orders the offers for one agent.
type spread struct {
	mine    string
	rivals  map[string][]string // other keys that may take from an inbox, by agent
	now     time.Time
	shuffle *rand.Rand // orders offers of one rank by chance; nil lets the oldest lead
}

// newSpread returns the order of offers in the inboxes of some agents.
func (t *search) newSpread(agents []string) (*spread, error) {
	sp := &spread{mine: t.Engine.Author.Signer.KID(), rivals: map[string][]string{}, now: t.Engine.Now()}
	for _, agent := range agents {
		sp.rivals[agent] = rivals(t.Engine.Keys, sp.mine, agent)
	}
	if sp.keys() < crowdKeys {
		return sp, nil
	}
	return sp, sp.chooseByChance(t.Engine.Author.Random)
}

// chooseByChance puts offers of the same share into a random order from now on, because other clones
// that have this key would try the oldest one as well.
func (sp *spread) chooseByChance(random io.Reader) error {
	var seed [32]byte
	if _, err := io.ReadFull(random, seed[:]); err != nil {
		return fmt.Errorf("read a seed: %w", err)
	}
	sp.shuffle = rand.New(rand.NewChaCha8(seed))
	return nil
}

// rivals returns the keys, other than mine, that may take from an agent's inbox now, at most mostKeys
// of them.
func rivals(keys *lifecycle.Keys, mine sign.KID, agent string) []sign.KID {
	kids := slices.DeleteFunc(keys.Recipients(agent), func(kid sign.KID) bool { return kid == mine })
	return kids[:min(len(kids), mostKeys)]
}

// keys returns the number of keys that take from one inbox, the most of all inboxes.
func (sp *spread) keys() int {
	n := 0
	for _, kids := range sp.rivals {
		n = max(n, len(kids))
	}
	return n + 1
}

// order puts offers into the order in which they are tried: by the rank of this key, and with the
// same rank the oldest first, unless chance decides.
func (sp *spread) order(offers []*workspace.Item) {
	if sp.shuffle == nil {
		slices.SortFunc(offers, func(a, b *workspace.Item) int { return strings.Compare(string(a.Place.ID), string(b.Place.ID)) })
	} else {
		sp.shuffle.Shuffle(len(offers), func(i, j int) { offers[i], offers[j] = offers[j], offers[i] })
	}
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

// leads reports whether an offer is of no lower rank than the first of some ordered ones.
func (sp *spread) leads(it *workspace.Item, ordered []*workspace.Item) bool {
	return len(ordered) == 0 || sp.rank(it.Place.Agent, it.Place.ID) <= sp.rank(ordered[0].Place.Agent, ordered[0].Place.ID)
}

// weight returns a key's number for an offer, for one turn.
func (sp *spread) weight(kid string, id handoff.ID) uint64 {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %d", kid, id, turnOf(sp.now)))
	return binary.BigEndian.Uint64(sum[:8])
}

// turnOf returns the number of the turn at a time.
func turnOf(at time.Time) int64 { return at.Unix() / int64(turn/time.Second) }
