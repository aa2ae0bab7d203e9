package stress

import (
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
)

// beside runs git over and over until stop is called. stop returns how many runs succeeded.
func beside(t *testing.T, repo *gittest.Repo, args ...string) (stop func() int) {
	t.Helper()
	done, runs := make(chan struct{}), 0
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			cmd := exec.Command("git", args...)
			cmd.Dir, cmd.Env = repo.Dir, repo.Env
			if cmd.Run() == nil { // git may meet a lock of githandoff and give up
				runs++
			}
		}
	})
	stop = sync.OnceValue(func() int { close(done); wg.Wait(); return runs })
	t.Cleanup(func() { stop() })
	return stop
}

// Agents write while others tidy up. Each acknowledged handoff is there, with its note.
func TestBesideUpkeep(t *testing.T) {
	for name, gc := range map[string][]string{
		"gc":           {"gc", "--quiet"},
		"gc prune now": {"gc", "--quiet", "--prune=now"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const writers = 4
			each := times(t, 12)
			w := gittest.NewFixture(t)
			boss := w.Agent(t, "boss")
			commits := codeCommits(t, boss, writers*each)

			packs, collections := beside(t, boss, "pack-refs", "--all"), beside(t, boss, gc...)
			ids := make([][]string, writers)
			together(writers, func(i int) {
				for n := range each {
					r := boss.Run(t, "emit", "--quiet", "--to", "boss", "--goal", fmt.Sprintf("job %d.%d", i, n),
						"--commit", commits[i*each+n])
					if r.Code != 0 {
						t.Errorf("emit: %s", r)
						continue
					}
					ids[i] = append(ids[i], strings.TrimSpace(r.Stdout))
				}
			})
			require.NotZero(t, packs(), "no pack-refs came to its end")
			require.NotZero(t, collections(), "no gc came to its end")

			var want []string
			for _, some := range ids {
				want = append(want, some...)
			}
			assert.ElementsMatch(t, want, open(t, boss, inbox))
			for i, c := range commits {
				note, _, code := boss.TryGit("notes", "--ref=handoffs", "show", c)
				assert.Zero(t, code, "the note of %s is missing", c)
				assert.Contains(t, note, ids[i/each][i%each])
			}
			sound(t, boss)
			audited(t, boss)

			// A later gc removes none of their objects either.
			boss.Must(t, "status")
			boss.Git(t, "gc", "--quiet", "--prune=now")
			sound(t, boss)
		})
	}
}

// codeCommits makes n commits that handoffs can be about.
func codeCommits(t testing.TB, repo *gittest.Repo, n int) []string {
	t.Helper()
	var in strings.Builder
	for i := range n {
		fmt.Fprintf(&in, "commit refs/heads/work\ncommitter A <a@example.com> %d +0000\ndata 1\nx\n", 1_700_000_000+i)
	}
	repo.GitIn(t, strings.NewReader(in.String()), "fast-import", "--quiet")
	return strings.Fields(repo.Git(t, "rev-list", "refs/heads/work"))[:n]
}

// largePackedRefs gives a hub a packed-refs file of more than 32 KiB. If a smaller one is rewritten twice within
// a second, git can miss the change and lose a push (docs/servers.md).
func largePackedRefs(t testing.TB, hub *gittest.Repo) {
	t.Helper()
	commit := hub.GitIn(t, strings.NewReader("tree\n"), "commit-tree", gittest.Objects().EmptyTree())
	var refs strings.Builder
	for n := range 1000 {
		fmt.Fprintf(&refs, "create refs/pad/%04d %s\n", n, commit)
	}
	hub.GitIn(t, strings.NewReader(refs.String()), "update-ref", "--stdin")
	hub.Git(t, "pack-refs", "--all")
}

// Handoffs are sent, taken and ended at a hub while the hub and both clones are tidied up.
func TestHubBesideUpkeep(t *testing.T) {
	t.Parallel()
	w, boss, fixer := gittest.NewPair(t)
	// Since git 2.54 the maintenance after a push can repack while a gc runs. Objects then get lost, also those
	// of plain pushes.
	w.Hub.Git(t, "config", "maintenance.strategy", "gc")
	largePackedRefs(t, w.Hub)
	// At a hub --prune=now would delete the objects of a push in progress, also of a plain push. git's own
	// maintenance runs a gc that spares young objects.
	stops := []func() int{
		beside(t, w.Hub, "gc", "--quiet"), beside(t, w.Hub, "pack-refs", "--all"),
		beside(t, boss, "gc", "--quiet", "--prune=now"), beside(t, boss, "pack-refs", "--all"),
		beside(t, fixer, "gc", "--quiet", "--prune=now"), beside(t, fixer, "pack-refs", "--all"),
	}
	var acked []string
	for i := range times(t, 3) {
		id := boss.Must(t, "emit", "--to", "fixer@origin", "--goal", fmt.Sprint("job ", i))
		assert.Equal(t, []string{id}, open(t, w.Hub, inbox))
		fixer.Must(t, "resume")
		fixer.Must(t, "progress", "-m", "half")
		fixer.Must(t, "ack", "--result", "n=1")
		acked = append(acked, id)
		if i%2 == 1 {
			boss.Must(t, "sync")
		}
	}
	last := boss.Run(t, "sync")
	require.Zero(t, last.Code, "%s", last)
	for _, stop := range stops {
		stop()
	}
	for _, id := range acked {
		assert.Equal(t, []string{"offered", "claimed", "progressed", "acknowledged"}, events(t, w.Hub, id))
	}
	assert.Empty(t, open(t, w.Hub, inbox))
	assert.Empty(t, open(t, boss, sent, outbox), "after %s", last)
	for _, p := range []*gittest.Repo{boss, fixer} {
		audited(t, p)
		sound(t, p)
	}
	sound(t, w.Hub)
}
