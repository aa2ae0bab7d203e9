package stress

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
)

// loadSize returns the number of agents and of handoffs. GITHANDOFF_LOAD gives them as 16x200; any other value
// stands for the size that docs/testing.md describes.
func loadSize() (agents, handoffs int) {
	size := os.Getenv("GITHANDOFF_LOAD")
	if n, err := fmt.Sscanf(size, "%dx%d", &agents, &handoffs); err == nil && n == 2 {
		return agents, handoffs
	}
	if size != "" {
		return 32, 500
	}
	return 4, 12
}

// crew makes n clones of the hub at url, each with an agent of its own. All agents take handoffs from the inbox
// of the pool.
func crew(t testing.TB, w *gittest.Fixture, boss *gittest.Repo, url string, n int) []*gittest.Repo {
	t.Helper()
	var all []*gittest.Repo
	for i := range n {
		name := fmt.Sprintf("w%02d", i)
		p := w.Clone(t, name)
		p.Git(t, "remote", "set-url", "origin", url)
		p.Must(t, "init", "--as", name)
		p.Git(t, "config", "handoff.serves", "pool")
		all = append(all, p)
		boss.Must(t, "trust", "add", name, "--agent", "pool", "--agent", name)
	}
	trust, err := os.ReadFile(filepath.Join(boss.Dir, ".git/githandoff/trust.json"))
	require.NoError(t, err)
	for _, p := range all {
		require.NoError(t, os.WriteFile(filepath.Join(p.Dir, ".git/githandoff/trust.json"), trust, 0o600))
	}
	return all
}

// Many agents work at one hub. Each handoff is worked on exactly once. The test logs the time beside that of as
// many plain pushes, and does not judge it.
func TestLoad(t *testing.T) {
	for name, serve := range map[string]func(t testing.TB, root string) string{
		"path": func(_ testing.TB, root string) string { return root },
		"http": func(t testing.TB, root string) string { return gittest.HTTP(t, root, gittest.HTTPOptions{}) },
	} {
		t.Run(name, func(t *testing.T) {
			agents, n := loadSize()
			w := gittest.NewFixture(t)
			url := serve(t, w.Dir) + "/" + filepath.Base(w.Hub.Dir)
			boss := w.Clone(t, "boss")
			boss.Git(t, "remote", "set-url", "origin", url)
			boss.Must(t, "init", "--as", "boss")
			all := crew(t, w, boss, url, agents)
			var want []string
			for i := range n {
				want = append(want, boss.Must(t, "emit", "--queue", "--to", "pool@origin", "--goal", fmt.Sprint("job ", i)))
			}
			begin := time.Now()
			boss.Must(t, "sync")
			delivered := time.Since(begin)

			log := filepath.Join(t.TempDir(), "trace")
			var mu sync.Mutex
			var done []string
			began := processorTime(t)
			begin = time.Now()
			together(agents, func(i int) {
				for {
					id, more := workOne(t, all[i], log)
					if !more {
						return
					}
					mu.Lock()
					done = append(done, id)
					mu.Unlock()
				}
			})
			took, used := time.Since(begin), processorTime(t)-began
			slices.Sort(want)
			slices.Sort(done)
			assert.Equal(t, want, done, "all exactly once")

			synced := boss.Must(t, "sync")
			assert.Equal(t, n, strings.Count(synced, "acknowledged "))
			consistent(t, census(t, w.Hub, boss))
			audited(t, boss)
			sound(t, w.Hub)

			pushes := counted(t, log, "push")
			plain, plainUsed := plainPushes(t, all, n)
			each := func(d time.Duration) float64 { return d.Seconds() * 1000 / float64(n) }
			t.Logf("%s: %d agents, %d handoffs: %.1f/s delivered; %.1f/s taken and acknowledged, %d pushes (%d more than 2 each), %d fetches; two plain pushes each: %.1f/s",
				name, agents, n, float64(n)/delivered.Seconds(), float64(n)/took.Seconds(), pushes, pushes-2*n, counted(t, log, "fetch"), float64(n)/plain.Seconds())
			t.Logf("%s: a handoff took %.0f ms of processor time, its two plain pushes %.0f ms: %.2f of the rate by that, %.2f by the clock",
				name, each(used), each(plainUsed), plainUsed.Seconds()/used.Seconds(), plain.Seconds()/took.Seconds())
		})
	}
}

// workOne takes one handoff and acknowledges it. more is false if nothing was left to take.
func workOne(t testing.TB, p *gittest.Repo, log string) (id string, more bool) {
	run := func(args ...string) gittest.Result {
		cmd := p.Command(t, args...)
		cmd.Env = append(cmd.Env, "GIT_TRACE="+log)
		return gittest.Finish(t, cmd)
	}
	r := run("resume", "--next", "--json")
	if r.Code != 0 {
		assert.Equal(t, 3, r.Code, "%s", r)
		return "", false
	}
	var row struct{ ID string }
	if err := json.Unmarshal([]byte(r.Stdout), &row); !assert.NoError(t, err) {
		return "", false
	}
	r = run("ack", row.ID)
	return row.ID, assert.Zero(t, r.Code, "%s", r)
}

// counted returns how many gits of a kind the trace lists.
func counted(t testing.TB, log, command string) int {
	t.Helper()
	text, err := os.ReadFile(log)
	require.NoError(t, err)
	return len(regexp.MustCompile(`(?m) trace: built-in: git `+command+` `).FindAll(text, -1))
}

// plainPushes has the clones make as many plain pushes as n handoffs need at least: a branch with a commit, and
// one more commit on it, each with a file. The commits are made before the clock starts, and no branch conflicts
// with another.
func plainPushes(t testing.TB, all []*gittest.Repo, n int) (took, used time.Duration) {
	t.Helper()
	for i, p := range all {
		var commits strings.Builder
		for k := i; k < n; k += len(all) {
			for _, part := range []string{"begun", "done"} {
				fmt.Fprintf(&commits, "commit refs/plain/%d/%s\ncommitter plain <plain@example.com> 1700000000 +0000\ndata 5\nplain\n", k, part)
				if part == "begun" {
					fmt.Fprintf(&commits, "from %s\n", p.Git(t, "rev-parse", "HEAD"))
				} else {
					fmt.Fprintf(&commits, "from refs/plain/%d/begun\n", k)
				}
				name := fmt.Sprintf("%d-%s", k, part)
				fmt.Fprintf(&commits, "M 100644 inline %s\ndata %d\n%s\n", name, len(name), name)
			}
		}
		p.GitIn(t, strings.NewReader(commits.String()), "fast-import", "--quiet")
	}
	before, begin := processorTime(t), time.Now()
	together(len(all), func(i int) {
		for k := i; k < n; k += len(all) {
			for _, part := range []string{"begun", "done"} {
				spec := fmt.Sprintf("refs/plain/%d/%s:refs/heads/plain/%d", k, part, k)
				cmd := exec.Command("git", "push", "--quiet", "--atomic", "origin", spec)
				cmd.Dir, cmd.Env = all[i].Dir, all[i].Env
				out, err := cmd.CombinedOutput()
				assert.NoError(t, err, "%s", out)
			}
		}
	})
	return time.Since(begin), processorTime(t) - before
}

// Eight processes work in one clone for one agent. No two of them take the same handoff.
func TestLoadOnOneClone(t *testing.T) {
	t.Parallel()
	const processes = 8
	each := times(t, 2)
	w, boss, fixer := gittest.NewPair(t)
	var mu sync.Mutex
	done := map[string]int{}
	want := map[string]int{}
	together(processes, func(int) {
		for range each {
			r := boss.Run(t, "emit", "--to", elsewhere, "--goal", "g")
			if !assert.Zero(t, r.Code, "%s", r) {
				return
			}
			mu.Lock()
			want[strings.TrimSpace(r.Stdout)] = 1
			mu.Unlock()
		}
	})
	log := filepath.Join(t.TempDir(), "trace")
	together(processes, func(int) {
		for range each {
			id, ok := workOne(t, fixer, log)
			if !assert.True(t, ok) {
				return
			}
			mu.Lock()
			done[id]++
			mu.Unlock()
		}
	})
	assert.Equal(t, want, done)
	boss.Must(t, "sync")
	consistent(t, census(t, w.Hub, boss, fixer))
	for _, p := range []*gittest.Repo{boss, fixer} {
		audited(t, p)
		sound(t, p)
	}
}
