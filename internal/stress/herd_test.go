package stress

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"githandoff/internal/gittest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const herdSize = 16

// Many agents try to take one handoff. One gets it, and the others are told which agent did.
func TestManyAgentsTakeOneHandoff(t *testing.T) {
	t.Parallel()
	w := gittest.NewFixture(t)
	boss := w.Agent(t, "boss")
	agents := crew(t, w, boss, w.Hub.Dir, herdSize)
	for range times(t, 1) {
		id := boss.Must(t, "emit", "--to", "pool@origin", "--goal", "race")
		results := make([]gittest.Result, len(agents))
		together(len(agents), func(i int) { results[i] = agents[i].Run(t, "resume", id) })

		winner := -1
		for i, r := range results {
			if r.Code == 0 {
				require.Negative(t, winner, "two got it")
				winner = i
			}
		}
		require.GreaterOrEqual(t, winner, 0, "nobody got it: %v", results)
		for i, r := range results {
			if i != winner {
				assert.Equal(t, 5, r.Code, "%s", r)
				assert.Contains(t, r.Stderr, fmt.Sprintf("is held by w%02d", winner))
				assert.NotContains(t, r.Stdout, "race", "a loser was shown the work")
			}
		}
		assert.Equal(t, []string{"offered", "claimed"}, events(t, w.Hub, id))
		agents[winner].Must(t, "ack")
		boss.Must(t, "sync")
	}
	sound(t, w.Hub)
	audited(t, boss)
}

// Many agents empty one inbox. Each handoff is handed out exactly once, and no agent is sent away while a
// handoff is left.
func TestManyAgentsEmptyOneInbox(t *testing.T) {
	t.Parallel()
	w := gittest.NewFixture(t)
	boss := w.Agent(t, "boss")
	agents := crew(t, w, boss, w.Hub.Dir, herdSize)
	want := map[string]int{}
	for i := range times(t, 12) {
		want[boss.Must(t, "emit", "--to", "pool@origin", "--goal", fmt.Sprintf("job %d", i), "--queue")] = 1
	}
	boss.Must(t, "sync")

	taken := make([][]string, len(agents))
	together(len(agents), func(i int) {
		for {
			r := agents[i].Run(t, "resume", "--next", "--json")
			if r.Code != 0 {
				assert.Equal(t, 3, r.Code, "%s", r)
				return
			}
			var row struct{ ID, State, Actor string }
			assert.NoError(t, json.Unmarshal([]byte(r.Stdout), &row))
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
			if r := agents[i].Run(t, "ack", id); r.Code != 0 {
				t.Errorf("ack: %s", r)
			}
		}
	})
	synced := boss.Must(t, "sync")
	assert.Equal(t, len(want), strings.Count(synced, "acknowledged "))
	assert.Empty(t, open(t, w.Hub, inbox))
	assert.Empty(t, open(t, boss, outbox, sent))
	sound(t, w.Hub)
	sound(t, boss)
	audited(t, boss)
}

// Several syncs of one clone run at once. Each step reaches the hub once, and a sync that finds a step done
// prints no warning.
func TestManySyncsOfOneClone(t *testing.T) {
	t.Parallel()
	w, boss, fixer := gittest.NewPair(t)
	ended := boss.Must(t, "emit", "--to", elsewhere, "--goal", "g")
	fixer.Must(t, "resume", "--ack")
	var waits []string
	for range 3 {
		waits = append(waits, boss.Must(t, "emit", "--to", elsewhere, "--goal", "g", "--queue"))
	}
	results := make([]gittest.Result, 4)
	together(len(results), func(i int) { results[i] = boss.Run(t, "sync") })
	said := ""
	for _, r := range results {
		assert.Zero(t, r.Code, "%s", r)
		assert.Empty(t, r.Stderr)
		said += r.Stdout
	}
	for _, id := range append(waits, ended) {
		assert.Contains(t, said, id)
	}
	assert.ElementsMatch(t, waits, open(t, w.Hub, inbox))
	assert.Empty(t, open(t, boss, outbox))
	consistent(t, census(t, w.Hub, boss, fixer))
	audited(t, boss)
	sound(t, boss)
}
