package take

import (
	"crypto/rand"
	"fmt"
	mathrand "math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/enginetest"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
	"githandoff/internal/work"
	"githandoff/internal/workspace"
)

func at() time.Time { return time.Date(2026, 11, 20, 22, 0, 0, 0, time.UTC) }

// keyed returns the views of n keys that may all take from the inbox of the pool.
func keyed(n int) []*spread {
	var all []*spread
	for i := range n {
		sp := &spread{mine: fmt.Sprint("key", i), rivals: map[string][]string{}, now: at(), shuffle: mathrand.New(mathrand.NewPCG(uint64(i), 1))}
		for k := range n {
			if k != i {
				sp.rivals["pool"] = append(sp.rivals["pool"], fmt.Sprint("key", k))
			}
		}
		all = append(all, sp)
	}
	return all
}

func waiting(t *testing.T, n int) []*workspace.Item {
	t.Helper()
	var all []*workspace.Item
	for range n {
		id, err := handoff.NewID(at(), rand.Reader)
		require.NoError(t, err)
		all = append(all, &workspace.Item{Place: lifecycle.Place{Agent: "pool", ID: id}})
	}
	return all
}

// Each offer is the first choice of one key and the last choice of another, so that agents that do not know of
// each other try different offers.
func TestSharesAreApart(t *testing.T) {
	agents, offers := keyed(16), waiting(t, 300)
	shares := map[string]int{}
	for _, it := range offers {
		taken := map[int]bool{}
		for _, sp := range agents {
			rank := sp.rank("pool", it.Place.ID)
			taken[rank] = true
			if rank == 0 {
				shares[sp.mine]++
			}
		}
		assert.Len(t, taken, len(agents), "no two have the same rank")
	}
	assert.Len(t, shares, len(agents), "each has a share of 300")
}

// An agent tries its own share first, and then all other offers.
func TestOrder(t *testing.T) {
	sp, offers := keyed(8)[3], waiting(t, 100)
	all := append([]*workspace.Item{}, offers...)
	sp.order(offers)
	assert.ElementsMatch(t, all, offers)
	last := 0
	for _, it := range offers {
		rank := sp.rank("pool", it.Place.ID)
		assert.GreaterOrEqual(t, rank, last)
		last = rank
	}
	assert.Positive(t, last)
}

// Shares change over time, so the share of an agent that does nothing passes to other agents.
func TestSharesChange(t *testing.T) {
	sp, offers := keyed(8)[3], waiting(t, 100)
	rank := func() (ranks []int) {
		for _, it := range offers {
			ranks = append(ranks, sp.rank("pool", it.Place.ID))
		}
		return ranks
	}
	before := rank()
	sp.now = at().Add(turn - time.Second)
	assert.Equal(t, before, rank())
	sp.now = at().Add(turn)
	assert.NotEqual(t, before, rank())
}

// Offers of the same share are ordered by age. Once other agents with the same key were noticed, the order is
// random.
func TestOneKey(t *testing.T) {
	offers := waiting(t, 100)
	slices.SortFunc(offers, func(a, b *workspace.Item) int { return strings.Compare(string(a.Place.ID), string(b.Place.ID)) })
	one, two := slices.Clone(offers), slices.Clone(offers)
	slices.Reverse(one)
	sp := keyed(1)[0]
	sp.shuffle = nil
	sp.order(one)
	assert.Equal(t, offers, one)
	require.NoError(t, sp.chooseByChance(rand.Reader))
	sp.order(one)
	sp.order(two)
	assert.ElementsMatch(t, one, two)
	assert.NotEqual(t, one, two)
}

// A key that may not take from an inbox has no share of it, and neither has an expired key.
func TestRivals(t *testing.T) {
	entry := func(name string, change func(*sign.TrustEntry)) sign.TrustEntry {
		keys := sign.NewKeystore(func(v string) string { return map[string]string{"HOME": t.TempDir()}[v] })
		signer, err := keys.Generate(name, name, nil, at().Add(-time.Hour), rand.Reader)
		require.NoError(t, err)
		e := sign.TrustEntry{KID: signer.KID(), Key: signer.Public().Text(), Agents: []string{"pool"}, Roles: []string{sign.RoleRecipient}}
		change(&e)
		return e
	}
	mine, worker := entry("a", func(*sign.TrustEntry) {}), entry("b", func(*sign.TrustEntry) {})
	trust, err := enginetest.NewTrust(mine, worker,
		entry("c", func(e *sign.TrustEntry) { e.Roles = []string{sign.RoleSender} }),
		entry("d", func(e *sign.TrustEntry) { e.Agents = []string{"boss"} }),
		entry("e", func(e *sign.TrustEntry) { e.Until = at().Format(time.RFC3339) }))
	require.NoError(t, err)
	assert.Equal(t, []string{worker.KID}, rivals(&lifecycle.Keys{Trust: trust, Now: at}, mine.KID, "pool"))

	// The number of rivals is limited.
	var crowd []sign.TrustEntry
	for i := range mostKeys + 8 {
		crowd = append(crowd, entry(fmt.Sprint("w", i), func(*sign.TrustEntry) {}))
	}
	trust, err = enginetest.NewTrust(crowd...)
	require.NoError(t, err)
	assert.Len(t, rivals(&lifecycle.Keys{Trust: trust, Now: at}, mine.KID, "pool"), mostKeys)
}

// The more agents there are, the more offers an agent chooses from, up to a limit: the choice must not cost more
// than a connection.
func TestWindow(t *testing.T) {
	sp := keyed(1)[0]
	assert.Equal(t, fewestOffers, sp.window(0))
	assert.Equal(t, 100*offersPerKey, sp.window(100))
	assert.Equal(t, 32*offersPerKey, keyed(32)[0].window(0))
	assert.Equal(t, mostOffers, sp.window(mostOffers))
}

// The order is random once another agent is known to take from the inboxes: a claim was lost, or a handoff is
// held that this worktree does not hold.
func TestBeware(t *testing.T) {
	engine := lifecycle.New(lifecycle.Setup{Repo: &refs.Repo{}, Now: at, Random: rand.Reader})
	dir := t.TempDir()
	claims := work.Claims{GitDir: dir, Common: dir}
	s := &choice{search: &search{Handler: &Handler{Engine: engine, Claims: claims}}}
	byChance := func(held ...*workspace.Item) bool {
		sp := &spread{}
		require.NoError(t, s.shuffleIfContested(sp, held))
		return sp.shuffle != nil
	}
	mine, others := waiting(t, 1)[0], waiting(t, 1)[0]
	require.NoError(t, s.Claims.Update(t.Context(), mine.Place.ID, func(h *work.Claim) error {
		h.ID, h.Nonce = mine.Place.ID, "ours"
		return nil
	}))
	assert.False(t, byChance())
	assert.False(t, byChance(mine))
	assert.True(t, byChance(mine, others))
	s.lost = 1
	assert.True(t, byChance())
}
