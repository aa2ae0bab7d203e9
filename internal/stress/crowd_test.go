package stress

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
)

// queued has the boss send handoffs to the pool, in one sync.
func queued(t testing.TB, boss *gittest.Repo, n int) {
	t.Helper()
	for i := range n {
		boss.Must(t, "emit", "--to", "pool@origin", "--goal", fmt.Sprint("job ", i), "--queue")
	}
	boss.Must(t, "sync")
}

// In a crowd a look fetches a few handoffs of a long inbox, with their lanes. Copies of
// handoffs that others took meanwhile go with the next look.
func TestCrowdFetchesAPart(t *testing.T) {
	t.Parallel()
	w := gittest.NewFixture(t)
	boss := w.Agent(t, "boss")
	agents := crew(t, w, boss, w.Hub.Dir, 4)
	one, other := agents[0], agents[1]
	queued(t, boss, 12)

	log := filepath.Join(t.TempDir(), "trace")
	first := one.Command(t, "resume")
	first.Env = append(slices.Clone(first.Env), "GIT_TRACE="+log)
	require.Zero(t, gittest.Finish(t, first).Code)
	for _, command := range []string{"ls-remote", "fetch", "push"} {
		assert.Equal(t, 1, counted(t, log, command), "connections by git %s", command)
	}
	inboxes := func(p *gittest.Repo) []string {
		return strings.Fields(p.Git(t, "for-each-ref", "--format=%(refname)", tracked+"/*/inbox/pool/*"))
	}
	assert.Len(t, inboxes(one), 8)
	for range 12 - 1 {
		other.Must(t, "resume", "--next", "--ack")
	}
	one.Refuses(t, 3, []string{"nothing waits"}, "resume", "--next")
	assert.Len(t, inboxes(one), 1, "the one that is held")
	one.Must(t, "ack")
	assert.Empty(t, open(t, w.Hub, inbox))
	audited(t, boss)
}

// A handoff that is free is found, wherever it stands among those that others hold.
func TestCrowdFindsTheOneThatIsFree(t *testing.T) {
	t.Parallel()
	const n = 20
	w := gittest.NewFixture(t)
	boss := w.Agent(t, "boss")
	agents := crew(t, w, boss, w.Hub.Dir, 4)
	holder, seeker := agents[0], agents[1]
	queued(t, boss, n)
	for range n {
		holder.Must(t, "resume", "--next")
	}
	seeker.Refuses(t, 3, []string{"nothing waits"}, "resume", "--next")
	all := open(t, w.Hub, inbox)
	require.Len(t, all, n)
	for i := range 5 {
		id := all[i*n/5]
		holder.Must(t, "release", id)
		assert.Contains(t, seeker.Must(t, "resume", "--next", "--json"), id)
	}
	audited(t, boss)
}

// A handoff that was claimed and released since an agent's look is free: an agent whose copy
// of it is older does not miss it.
func TestCrowdFindsWhatWasReleased(t *testing.T) {
	t.Parallel()
	w := gittest.NewFixture(t)
	boss := w.Agent(t, "boss")
	agents := crew(t, w, boss, w.Hub.Dir, 4)
	queued(t, boss, 1)
	for _, agent := range agents {
		agent.Must(t, "resume", "--peek")
	}
	// The offer is in the share of one of them, which tries it without a look.
	for _, agent := range append(agents, agents[0]) {
		assert.Contains(t, agent.Must(t, "resume"), "job 0")
		agent.Must(t, "release")
	}
	audited(t, boss)
}
