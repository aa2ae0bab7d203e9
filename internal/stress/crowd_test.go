package stress

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
	"githandoff/internal/gittest"
)

// queued has boss send n handoffs to the pool in one sync.
func queued(t testing.TB, boss *gittest.Repo, n int) {
	t.Helper()
	for i := range n {
		boss.Must(t, "emit", "--to", "pool@origin", "--goal", fmt.Sprint("job ", i), "--queue")
	}
	boss.Must(t, "sync")
}

// In a crowd the first look at a hub fetches the inbox and the log. Each later look fetches only a few handoffs
// of a long inbox, with their lanes. The next look removes copies of handoffs that other agents took meanwhile.
func TestCrowdFetchesAPart(t *testing.T) {
	t.Parallel()
	w := gittest.NewFixture(t)
	boss := w.Agent(t, "boss")
	agents := crew(t, w, boss, w.Hub.Dir, 4)
	one, other := agents[0], agents[1]
	one.Refuses(t, 3, []string{"nothing waits"}, "resume")
	queued(t, boss, 12)

	log := filepath.Join(t.TempDir(), "trace")
	first := one.Command(t, "resume")
	first.Env = append(slices.Clone(first.Env), "GIT_TRACE="+log)
	require.Zero(t, gittest.Finish(t, first).Code)
	for _, command := range []string{"ls-remote", "fetch", "push"} {
		assert.Equal(t, 1, counted(t, log, command), "connections by git %s", command)
	}
	copies := func() []string { return open(t, one, tracked+"/*/inbox/pool/*") }
	known := copies()
	assert.Len(t, known, 8)

	// The other agent takes all that is open but one handoff, of which the first one has no copy yet.
	free := slices.DeleteFunc(open(t, w.Hub, inbox), func(id string) bool { return slices.Contains(known, id) })[0]
	other.Must(t, "resume", free)
	for range 12 - 2 {
		other.Must(t, "resume", "--next", "--ack")
	}
	other.Must(t, "release", free)
	assert.Contains(t, one.Must(t, "resume", "--next", "--json"), free)
	assert.Len(t, copies(), 2, "the copies of what the other took are gone")
	one.Refuses(t, 3, []string{"nothing waits"}, "resume", "--next")
	for _, id := range copies() {
		one.Must(t, "ack", id)
	}
	assert.Empty(t, open(t, w.Hub, inbox))
	audited(t, boss)
}

// A free handoff is found wherever it stands among handoffs that other agents hold.
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

// A handoff was claimed and released after an agent's look. The agent's copy of it is out of date, but the agent
// still finds it.
func TestCrowdFindsWhatWasReleased(t *testing.T) {
	t.Parallel()
	w := gittest.NewFixture(t)
	boss := w.Agent(t, "boss")
	agents := crew(t, w, boss, w.Hub.Dir, 4)
	queued(t, boss, 1)
	for _, agent := range agents {
		agent.Must(t, "resume", "--peek")
	}
	// The offer is in the share of one of the agents, which claims it without a look.
	for _, agent := range append(agents, agents[0]) {
		assert.Contains(t, agent.Must(t, "resume"), "job 0")
		agent.Must(t, "release")
	}
	audited(t, boss)
}

// In a crowd a hub that goes away between two looks does not keep an agent from the handoffs of another hub.
func TestCrowdGoesOnWithoutAHub(t *testing.T) {
	t.Parallel()
	w := gittest.NewFixture(t)
	boss := w.Agent(t, "boss")
	agents := crew(t, w, boss, w.Hub.Dir, 4)
	holder, seeker := agents[0], agents[1]
	second := gittest.NewBareAt(t, w.Env, filepath.Join(t.TempDir(), "second.git"))
	for _, p := range []*gittest.Repo{boss, holder, seeker} {
		p.Must(t, "repo", "add", "second", second.Dir)
		p.Git(t, "config", "--add", "handoff.pull", "origin")
		p.Git(t, "config", "--add", "handoff.pull", "second")
	}
	seeker.Refuses(t, 3, []string{"nothing waits"}, "resume") // its next look fetches a part
	const n = 9                                               // one more than such a look fetches
	for i := range 2 * n {
		boss.Must(t, "emit", "--to", "pool@"+[]string{"origin", "second"}[i%2], "--goal", "work", "--queue")
	}
	boss.Must(t, "sync")
	for range 2 * n {
		holder.Must(t, "resume", "--next")
	}

	// The first hub answers one list and one fetch. At the next request a handoff that the seeker has not
	// fetched becomes free at the other hub, and the first hub goes away.
	dir := t.TempDir()
	server := filepath.Join(dir, "upload-pack")
	script := fmt.Sprintf("#!/bin/sh\ncd %s\necho >>asked\n[ $(wc -l <asked) -gt 2 ] || exec git-upload-pack \"$@\"\n"+
		"touch waits\nwhile [ ! -e go ]; do sleep 0.1; done\nexit 1\n", fault.Arg(dir))
	require.NoError(t, os.WriteFile(server, []byte(script), 0o755))
	seeker.Git(t, "config", "remote.origin.uploadpack", fault.Arg(server))
	resume := seeker.Command(t, "resume", "--next")
	ended := make(chan gittest.Result, 1)
	go func() { ended <- gittest.Finish(t, resume) }()
	require.Eventually(t, func() bool { _, err := os.Stat(filepath.Join(dir, "waits")); return err == nil }, 5*time.Minute, 50*time.Millisecond)
	fetched := seeker.Git(t, "for-each-ref", "--format=%(refname)", tracked)
	unknown := slices.DeleteFunc(open(t, second, inbox), func(id string) bool { return strings.Contains(fetched, id) })
	require.Len(t, unknown, 1)
	holder.Must(t, "release", unknown[0])
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o600))

	r := <-ended
	assert.Zero(t, r.Code, "%s", r)
	assert.Contains(t, r.Stderr, "warning: cannot read origin")
	assert.Contains(t, r.Stdout, unknown[0])
	audited(t, boss)
}
