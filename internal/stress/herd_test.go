package stress

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const herdSize = 16

// Many agents run for one handoff: one gets it, and the others are told who.
func TestHerdForOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	boss := w.agent(t, "boss", "boss")
	agents := crew(t, w, boss, w.hub.Dir, herdSize)
	for range times(t, 1) {
		id := boss.must(t, "emit", "--to", "pool@origin", "--goal", "race")
		results := make([]result, len(agents))
		together(len(agents), func(i int) { results[i] = agents[i].run(t, "resume", id) })

		winner := -1
		for i, r := range results {
			if r.code == 0 {
				require.Negative(t, winner, "two got it")
				winner = i
			}
		}
		require.GreaterOrEqual(t, winner, 0, "nobody got it: %v", results)
		for i, r := range results {
			if i != winner {
				assert.Equal(t, 5, r.code, "%s", r)
				assert.Contains(t, r.diag, fmt.Sprintf("is held by w%02d", winner))
				assert.NotContains(t, r.out, "race", "a loser was shown the work")
			}
		}
		assert.Equal(t, []string{"offered", "claimed"}, events(t, w.hub, id))
		agents[winner].must(t, "ack")
		boss.must(t, "sync")
	}
	sound(t, w.hub)
	boss.audited(t)
}

// Many agents empty one inbox: each handoff is handed out exactly once, and
// nobody is sent away while something is left.
func TestHerdForMany(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	boss := w.agent(t, "boss", "boss")
	agents := crew(t, w, boss, w.hub.Dir, herdSize)
	want := map[string]int{}
	for i := range times(t, 20) {
		want[boss.must(t, "emit", "--to", "pool@origin", "--goal", fmt.Sprintf("job %d", i), "--queue")] = 1
	}
	boss.must(t, "sync")

	taken := make([][]string, len(agents))
	together(len(agents), func(i int) {
		for {
			r := agents[i].run(t, "resume", "--next", "--json")
			if r.code != 0 {
				assert.Equal(t, 3, r.code, "%s", r)
				return
			}
			var row struct{ ID, State, Actor string }
			assert.NoError(t, json.Unmarshal([]byte(r.out), &row))
			assert.Equal(t, "claimed", row.State)
			assert.Equal(t, filepath.Base(agents[i].Dir), row.Actor)
			taken[i] = append(taken[i], row.ID)
		}
	})
	got := map[string]int{}
	for _, ids := range taken {
		for _, id := range ids {
			got[id]++
		}
	}
	assert.Equal(t, want, got)

	together(len(agents), func(i int) {
		for _, id := range taken[i] {
			if r := agents[i].run(t, "ack", id); r.code != 0 {
				t.Errorf("ack: %s", r)
			}
		}
	})
	synced := boss.must(t, "sync")
	assert.Equal(t, len(want), strings.Count(synced, "acknowledged "))
	assert.Empty(t, open(t, w.hub, inbox))
	assert.Empty(t, open(t, boss.Repo, outbox, sent))
	sound(t, w.hub)
	sound(t, boss.Repo)
	boss.audited(t)
}

// Syncs of one clone at once: each thing is done once at the hub, and whoever
// finds it done has nothing to complain of.
func TestHerdOfSyncs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	boss, fixer := w.pair(t)
	ended := boss.must(t, "emit", "--to", elsewhere, "--goal", "g")
	fixer.must(t, "resume", "--ack")
	var waits []string
	for range 3 {
		waits = append(waits, boss.must(t, "emit", "--to", elsewhere, "--goal", "g", "--queue"))
	}
	results := make([]result, 4)
	together(len(results), func(i int) { results[i] = boss.run(t, "sync") })
	said := ""
	for _, r := range results {
		assert.Zero(t, r.code, "%s", r)
		assert.Empty(t, r.diag)
		said += r.out
	}
	for _, id := range append(waits, ended) {
		assert.Contains(t, said, id)
	}
	assert.ElementsMatch(t, waits, open(t, w.hub, inbox))
	assert.Empty(t, open(t, boss.Repo, outbox))
	consistent(t, census(t, w.hub, boss.Repo, fixer.Repo))
	boss.audited(t)
	sound(t, boss.Repo)
}
