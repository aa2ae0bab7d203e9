package bench

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
)

// trips counts how often a command connects to a hub.
func trips(tb testing.TB, repo *gittest.Repo, args ...string) int {
	tb.Helper()
	_, _, n := watched(tb, repo, args...)
	return n
}

// Each command connects to its hub a fixed number of times, listed here in the order in which a handoff
// meets the commands.
func TestTrips(t *testing.T) {
	w := newFixture(t)
	fixer := w.another(t)
	w.setUp(t, fixer, "sender", "fixer")
	peer := w.another(t)
	w.setUp(t, peer, "sender", "fixer")
	emit := func(n int) []string { return append([]string{"emit", "--to", "fixer@origin"}, goal(n)...) }
	for _, step := range []struct {
		name string
		repo *gittest.Repo
		args []string
		want int
	}{
		{"a first emit, and a look whether the hub shows it", w.clone, emit(1), 2},
		{"a sync that shares notes", w.clone, []string{"sync"}, 2},
		{"a sync with nothing new", w.clone, []string{"sync"}, 1},
		{"an inbox", fixer, []string{"inbox"}, 1},
		{"a resume of what the inbox showed", fixer, []string{"resume"}, 1},
		{"a resume of what is held", fixer, []string{"resume"}, 1},
		{"progress", fixer, []string{"progress"}, 1},
		{"ack", fixer, []string{"ack"}, 1},
		{"a sync of the receiver, with its notes", fixer, []string{"sync"}, 2},
		{"a sync of the receiver with nothing new", fixer, []string{"sync"}, 1},
		{"a sync that finds a receipt", w.clone, []string{"sync"}, 1},
		{"a sync by name", w.clone, []string{"sync", "origin"}, 1},
		{"an audit", w.clone, []string{"audit"}, 1},
		{"history", w.clone, []string{"history"}, 1},
		{"a second emit", w.clone, emit(2), 1},
		{"a resume in another clone", peer, []string{"resume"}, 2},
		{"fail", peer, []string{"fail", "--reason", "no time"}, 1},
	} {
		assert.Equal(t, step.want, trips(t, step.repo, step.args...), step.name)
	}
}

// Many handoffs and kept steps that wait for one hub go there in one push.
func TestTripsOfAQueue(t *testing.T) {
	w := newFixture(t)
	fixer := w.another(t)
	w.setUp(t, fixer, "sender", "fixer")
	queue := func(repo *gittest.Repo, to string) {
		t.Helper()
		for n := range 20 {
			repo.Must(t, append([]string{"emit", "--queue", "--to", to}, goal(n)...)...)
		}
	}
	for _, to := range []string{"fixer@origin", "sender@origin"} {
		queue(w.clone, to)
	}
	assert.Equal(t, 3, trips(t, w.clone, "sync"), "a look, a push of 40 handoffs, and the notes")
	var held []string
	for range 3 {
		m := regexp.MustCompile(`"id":"(ho_[0-9a-z]{26})"`).FindStringSubmatch(fixer.Must(t, "resume", "--next", "--json"))
		require.NotNil(t, m)
		held = append(held, m[1])
	}
	require.NoError(t, os.Rename(w.Hub.Dir, w.Hub.Dir+".away"))
	for i, step := range [][]string{{"ack"}, {"progress", "-m", "half"}, {"fail", "--reason", "no time"}} {
		cmd := exec.Command(w.bin, append(step, held[i])...)
		cmd.Dir, cmd.Env = fixer.Dir, w.Env
		require.Error(t, cmd.Run(), "it waits for the hub")
	}
	require.NoError(t, os.Rename(w.Hub.Dir+".away", w.Hub.Dir))
	queue(fixer, "sender@origin")
	assert.Equal(t, 3, trips(t, fixer, "sync"), "a look, a push of 3 steps and 20 handoffs, and the notes")
	assert.Equal(t, 1, trips(t, fixer, "sync"), "nothing is left")
}

// A sync that finds many receipts of handoffs with snapshots lists the snapshots of the hub once.
func TestTripsOfSnapshots(t *testing.T) {
	w := newFixture(t)
	fixer := w.another(t)
	w.setUp(t, fixer, "sender", "fixer")
	require.NoError(t, os.WriteFile(filepath.Join(w.clone.Dir, "half.txt"), []byte("half done"), 0o600))
	for n := range 3 {
		w.clone.Must(t, append([]string{"emit", "--snapshot", "--to", "fixer@origin"}, goal(n)...)...)
	}
	w.clone.Must(t, "sync") // it shares its notes
	for range 3 {
		fixer.Must(t, "resume", "--ack")
	}
	fixer.Must(t, "sync")
	assert.Equal(t, 2, trips(t, w.clone, "sync"), "a look and a list of snapshots")
}

// Whoever sent a handoff looks at it once before taking it back, or sending it elsewhere; a
// clone that never saw it first asks where it stands.
func TestTripsOfTheSource(t *testing.T) {
	w := newFixture(t)
	emit := func(n int) string {
		return w.clone.Must(t, append([]string{"emit", "--to", "fixer@origin"}, goal(n)...)...)
	}
	assert.Equal(t, 2, trips(t, w.clone, "revoke", emit(1)), "revoke")
	assert.Equal(t, 2, trips(t, w.clone, "reroute", emit(2), "--to", "sender@origin"), "reroute")
	id, other := emit(3), w.another(t)
	w.setUp(t, other, "fixer", "sender")
	assert.Equal(t, 3, trips(t, other, "revoke", id), "revoke of what this clone never saw")
}

// An emit --once asks its hub once about all earlier handoffs that may be open, and about none that is known to
// have ended.
func TestTripsOfOnce(t *testing.T) {
	w := newFixture(t)
	fixer := w.another(t)
	w.setUp(t, fixer, "sender", "fixer")
	emit := func(n int, flags ...string) []string {
		return slices.Concat([]string{"emit", "--to", "fixer@origin"}, goal(n), []string{"--task", "T"}, flags)
	}
	for n := range 3 {
		w.clone.Must(t, emit(n)...)
		fixer.Must(t, "resume", "--ack")
	}
	assert.Equal(t, 2, trips(t, w.clone, emit(3, "--once")...), "a look and a push")
	assert.Equal(t, 1, trips(t, w.clone, emit(4, "--once")...), "a look at the open one")
	fixer.Must(t, "resume", "--ack")
	w.clone.Must(t, "audit")
	assert.Equal(t, 1, trips(t, w.clone, emit(5, "--once")...), "a push")
}

// twoOfOneInbox returns a fixture with two clones of the agent fixer, and emit sends to it.
func twoOfOneInbox(t *testing.T) (w *fixture, first, second *gittest.Repo, emit func(n int)) {
	t.Helper()
	w = newFixture(t)
	first, second = w.another(t), w.another(t)
	w.setUp(t, first, "sender", "fixer")
	w.setUp(t, second, "sender", "fixer")
	return w, first, second, func(n int) {
		t.Helper()
		w.clone.Must(t, append([]string{"emit", "--to", "fixer@origin"}, goal(n)...)...)
	}
}

// After a claim that came too late, because the clone's copy was old, the next resume looks
// first; the record of the lost claim costs it nothing. A claim after a look brings trust back.
func TestTripsOfALateClaim(t *testing.T) {
	w, first, second, emit := twoOfOneInbox(t)
	emit(1)
	second.Must(t, "inbox")
	first.Must(t, "resume", "--ack")
	late := exec.Command(w.bin, "resume")
	late.Dir, late.Env = second.Dir, w.Env
	require.Error(t, late.Run(), "nothing is left to take")
	for n, want := range []int{2, 1} {
		emit(n + 2)
		second.Must(t, "inbox")
		assert.Equal(t, want, trips(t, second, "resume"), "resume %d after the late claim", n+1)
		second.Must(t, "ack")
	}
}

// A claim that somebody else came before leaves nothing to ask the hub about: the next
// resume costs what it costs anyhow.
func TestTripsAfterALostClaim(t *testing.T) {
	_, first, second, emit := twoOfOneInbox(t)
	emit(1)
	second.Must(t, "inbox")
	first.Must(t, "resume")
	emit(2)
	assert.Equal(t, 3, trips(t, second, "resume"), "the claim that is lost, a look, the claim that is not")
	second.Must(t, "ack")
	emit(3)
	assert.Equal(t, 2, trips(t, second, "resume"), "a look and a claim")
}

// Claims that were recorded and whose text nobody saw are looked up in one connection, however
// many they are.
func TestTripsAfterKilledClaims(t *testing.T) {
	_, _, second, emit := twoOfOneInbox(t)
	for n := range 3 {
		emit(n)
		second.Must(t, "resume", "--next")
	}
	records, err := filepath.Glob(filepath.Join(second.Dir, ".git/githandoff/claims/*.json"))
	require.NoError(t, err)
	require.Len(t, records, 3)
	for _, name := range records { // as of claims that never reached the hub
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		var claim map[string]any
		require.NoError(t, json.Unmarshal(b, &claim))
		claim["printed"], claim["nonce"] = false, strings.Repeat("0", 32)
		b, err = json.Marshal(claim)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(name, b, 0o600))
	}
	emit(3)
	assert.Equal(t, 3, trips(t, second, "resume"), "the three claims, a look and a claim")
}

// The first resume of a clone at an inbox of a few keys costs what it costs at any other: a look
// and a claim. The next ones list the inbox first, since it may be long, unless the agent knows
// of an offer in its share.
func TestTripsInACrowd(t *testing.T) {
	w, first, second, emit := twoOfOneInbox(t)
	joined := func(repo *gittest.Repo, names ...string) {
		for _, name := range names {
			repo.Must(t, "key", "generate", name)
			repo.Must(t, "trust", "add", name, "--agent", "fixer")
		}
	}
	joined(first, "w1", "w2", "w3", "w4")
	joined(second, "x1", "x2", "x3", "x4")
	emit(1)
	emit(2)
	assert.Equal(t, 2, trips(t, first, "resume"), "a look and a claim")
	assert.Equal(t, 2, trips(t, second, "resume"), "and in another clone")
	second.Must(t, "ack")
	emit(3)
	assert.Equal(t, 3, trips(t, second, "resume"), "a list, a look and a claim")
	second.Must(t, "ack")
	emit(4)
	emit(5)
	emit(6)
	second.Must(t, "inbox")
	readAgo(t, second, 5*time.Minute)
	assert.Equal(t, 2, trips(t, second, "resume"), "a list that shows an offer which is known, and a claim")
	second.Must(t, "ack")
	second.Must(t, "resume", "--ack") // an offer which is known would do without a look
	second.Must(t, "resume", "--ack")
	emit(7)
	readAgo(t, second, 15*time.Minute)
	assert.Equal(t, 2, trips(t, second, "resume"), "a look at the whole inbox after a long piece of work, and a claim")

	third := w.another(t)
	w.setUp(t, third, "sender", "fixer")
	joined(third, "y1", "y2", "y3", "y4", "y5", "y6", "y7", "y8")
	emit(8)
	assert.Equal(t, 3, trips(t, third, "resume"), "a large crowd always begins with a list")

	// A hub that lost its log is not one where nothing waits, whichever look finds it.
	second.Must(t, "ack")
	w.clone.Must(t, "sync")
	for ref := range strings.FieldsSeq(w.Hub.Git(t, "for-each-ref", "--format=%(refname)", "refs/handoffs/")) {
		w.Hub.Git(t, "update-ref", "refs/heads/"+ref, ref)
		w.Hub.Git(t, "update-ref", "-d", ref)
	}
	second.Refuses(t, 4, []string{"keeps handoffs below"}, "resume", "--next")
}

// readAgo dates back the time at which a clone last read its hubs.
func readAgo(t *testing.T, repo *gittest.Repo, ago time.Duration) {
	t.Helper()
	stamps, err := filepath.Glob(filepath.Join(repo.Dir, ".git/githandoff/read/*"))
	require.NoError(t, err)
	require.NotEmpty(t, stamps)
	for _, stamp := range stamps {
		then := time.Now().Add(-ago)
		require.NoError(t, os.Chtimes(stamp, then, then))
	}
}

// A command that finds nothing to do starts a fixed number of git processes itself.
func TestProcessesOfAnIdleCommand(t *testing.T) {
	w := newFixture(t)
	w.clone.Must(t, append([]string{"emit", "--to", "fixer@origin"}, goal(1)...)...)
	for _, step := range []struct {
		command string
		want    int
	}{{"sync", 3}, {"audit", 4}} {
		w.clone.Must(t, step.command) // the first one has notes to share, and lanes to judge
		_, direct, _ := watched(t, w.clone, step.command)
		assert.Equal(t, step.want, direct, step.command)
	}
}

// watched runs a command and counts as traced does.
func watched(tb testing.TB, repo *gittest.Repo, args ...string) (started, direct, trips int) {
	tb.Helper()
	trace := tb.TempDir()
	with := &gittest.Repo{Dir: repo.Dir, Env: append(slices.Clone(repo.Env), "GIT_TRACE2_EVENT="+trace)}
	with.Must(tb, args...)
	return traced(tb, trace)
}
