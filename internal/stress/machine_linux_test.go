package stress

import (
	"bytes"
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"githandoff/internal/cli"
	"githandoff/internal/gittest"
)

// machine takes the same steps in clones of a hub and in a model of what each
// handoff must be by then.
type machine struct {
	*world
	t      *testing.T
	clock  time.Time // everybody's
	names  []string
	places map[string]*place
	agents map[string]string // who works at a place
	jobs   []*job
	kept   map[string]map[*job]kept
	lost   map[string]bool // places that may find that what they kept is worth nothing
	due    []*job          // offered by a step that does not say under which id
	down   func()          // brings the hub back; nil while it is there
	lanes  map[string]string
	serial int
}

// newMachine makes boss, and fixer in two clones.
func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{
		world: newWorld(t), t: t, clock: time.Now().UTC().Truncate(time.Second),
		names: []string{"boss", "fixer", "twin"}, places: map[string]*place{},
		agents: map[string]string{"boss": "boss", "fixer": "fixer", "twin": "fixer"},
		kept:   map[string]map[*job]kept{}, lost: map[string]bool{}, lanes: map[string]string{},
	}
	m.clock = m.clock.Add(-24 * time.Hour) // keys are older than any clock says
	for _, name := range m.names {
		m.places[name], m.kept[name] = m.world.clone(t, name), map[*job]kept{}
		m.must(name, "init", "--as", m.agents[name])
	}
	for _, name := range m.names {
		other := map[string]string{"boss": "fixer", "fixer": "boss"}[m.agents[name]]
		m.must(name, "trust", "add", other)
	}
	m.clock = m.clock.Add(24 * time.Hour)
	return m
}

// run runs a command in this process.
func (m *machine) run(at string, args ...string) result {
	p := m.places[at]
	var out, diag bytes.Buffer
	code := cli.Main(m.t.Context(), cli.Env{
		Stdin: bytes.NewReader(nil), Stdout: &out, Stderr: &diag,
		Getenv: func(name string) string { return gittest.Getenv(p.Env, name) }, Vars: p.Env,
		Now: func() time.Time { return m.clock }, Random: rand.Reader, Version: "test",
	}, append([]string{"-C", p.Dir}, args...))
	return result{out: out.String(), diag: diag.String(), code: code}
}

func (m *machine) must(at string, args ...string) {
	m.t.Helper()
	r := m.run(at, args...)
	require.Zero(m.t, r.code, "%s: %v: %s", at, args, r)
}

// clockVariable makes this test binary a githandoff at that second.
const clockVariable = "STRESS_CLOCK"

func runAtClock(at string) int {
	second, err := strconv.ParseInt(at, 10, 64)
	if err != nil {
		return 70
	}
	return cli.Main(context.Background(), cli.Env{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, Vars: os.Environ(),
		Now: func() time.Time { return time.Unix(second, 0) }, Random: rand.Reader, Version: "test",
	}, os.Args[1:])
}

// crash runs a command that is killed, most times, and lets the locks of a dead
// git be removed.
func (m *machine) crash(t *rapid.T, at string, args []string) result {
	n := rapid.IntRange(1, 120).Draw(t, "point")
	who := rapid.SampledFrom([]string{tool, git, both}).Draw(t, "victim")
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := m.places[at].command(args...)
	cmd.Path = self
	cmd.Env = append(slices.Clip(cmd.Env), clockVariable+"="+strconv.FormatInt(m.clock.Unix(), 10))
	r, _ := trapped(m.t, cmd, func(i int, _ point) verdict {
		if i == n {
			return verdict{dies: who}
		}
		return verdict{}
	})
	removeDeadLocks(m.t, m.world, m.places["boss"], m.places["fixer"], m.places["twin"])
	return r
}

// do runs a command, now and then one that is killed and then given again. It
// returns whether it was done, by either, and all that was said.
func (m *machine) do(t *rapid.T, at string, may bool, args ...string) (bool, string) {
	said, codes := "", []int{0}
	if m.down == nil && rapid.IntRange(0, 5).Draw(t, "crash") == 0 {
		first := m.crash(t, at, args)
		t.Logf("%s: %s: crashed: %s", at, strings.Join(args, " "), first)
		defer m.synced(t, at)
		if said = first.out; first.code == 0 {
			require.True(t, may, "%s: %v: %s", at, args, first)
			return true, said
		}
		codes = append(codes, 5) // it may have been done
	}
	r := m.run(at, args...)
	t.Logf("%s: %s: %s", at, strings.Join(args, " "), r)
	said += r.out
	if may {
		require.Contains(t, codes, r.code, "%s: %v: %s", at, args, r)
		return true, said
	}
	require.Contains(t, []int{3, 4, 5, 8}, r.code, "%s: %v: %s", at, args, r)
	return false, said
}

// try runs a command that is allowed, if the place knows of what it is about.
func (m *machine) try(t *rapid.T, at string, may, known bool, args ...string) bool {
	if may && !known {
		r := m.run(at, args...)
		t.Logf("%s: %s: %s", at, strings.Join(args, " "), r)
		return r.code == 0
	}
	done, _ := m.do(t, at, may, args...)
	return done
}

// Check holds after every step: each handoff is what the rules say, has the log
// that they say, and is in one inbox as long as it is open; nothing else is
// there, and lanes only grow.
func (m *machine) Check(t *rapid.T) {
	if m.down != nil {
		m.down()
		defer func() { m.down = m.away(m.t) }()
	}
	repos := []*gittest.Repo{m.hub}
	for _, name := range m.names {
		repos = append(repos, m.places[name].Repo)
	}
	all := census(m.t, repos...)
	m.grown(t, repos)
	known := map[string]bool{}
	for _, j := range m.jobs {
		known[j.id] = true
	}
	for id := range all {
		if !known[id] {
			require.NotEmpty(t, m.due, "%s is from nowhere: %q", id, all[id].events)
			m.due[0].id, m.jobs, m.due = id, append(m.jobs, m.due[0]), m.due[1:]
		}
	}
	require.Empty(t, m.due, "what was to follow is not there")
	for _, j := range m.jobs {
		require.NotNil(t, all[j.id], "%s is lost", j.id)
		j.check(t, all[j.id], m)
	}
}

func (j *job) check(t *rapid.T, l *life, m *machine) {
	about := fmt.Sprintf("%s is %s: refs %q, events %q", j.id, j.phase(), l.refs, l.events)
	var log []string
	for _, e := range l.events {
		home, event, _ := strings.Cut(e, " ")
		require.Equal(t, j.home, home, about)
		if event != "progressed" {
			log = append(log, event)
		}
	}
	require.Equal(t, j.log, log, about)
	switch j.phase() {
	case "open", "held":
		require.Equal(t, 1, l.count("inbox"), about)
		require.Contains(t, l.refs, j.home+" inbox", about)
		require.Equal(t, m.agents[j.holder], l.holder(), about)
	case "queued":
		require.Equal(t, []string{j.origin + " outbox"}, l.refs, about)
	case "ended":
		require.Zero(t, l.count("inbox"), about)
		require.Equal(t, 1, l.receipts(), about)
	}
}

// grown checks that lanes only grow.
func (m *machine) grown(t *rapid.T, repos []*gittest.Repo) {
	now := map[string]string{}
	for _, repo := range repos {
		out := repo.Git(m.t, "for-each-ref", "--format=%(refname) %(objectname)", lanes)
		for line := range strings.Lines(out) {
			name, tip, _ := strings.Cut(strings.TrimSpace(line), " ")
			lane := repo.Dir + " " + name
			now[lane] = tip
			if was := m.lanes[lane]; was != "" && was != tip {
				_, _, code := repo.TryGit("merge-base", "--is-ancestor", was, tip)
				require.Zero(t, code, "%s went from %s to %s", lane, was, tip)
			}
		}
	}
	for lane := range m.lanes {
		require.NotEmpty(t, now[lane], "%s is gone", lane)
	}
	m.lanes = now
}

// wind up: everybody syncs, and what is left is sound.
func (m *machine) wind(t *rapid.T) {
	if m.down != nil {
		m.Hub(t)
	}
	for range 2 {
		for _, name := range m.names {
			m.synced(t, name)
		}
	}
	m.Check(t)
	repos := []*gittest.Repo{m.hub}
	for _, name := range m.names {
		repos = append(repos, m.places[name].Repo)
		r := m.run(name, "audit")
		require.Zero(t, r.code, "audit in %s: %s", name, r)
	}
	consistent(m.t, census(m.t, repos...))
	for _, repo := range repos {
		whole(m.t, repo)
		left := slices.DeleteFunc(leftovers(m.t, repo), func(name string) bool {
			return strings.HasPrefix(name, "githandoff/intents/") // of this process, which lives
		})
		require.Empty(t, left, "left in %s", repo.Dir)
	}
}

// Whatever two agents do in three clones of a hub, in whatever order, while
// commands are killed, the hub goes away, clocks jump and everything is tidied
// up: the repositories say what the rules say. More of it:
// go test -rapid.checks=100 -rapid.steps=100 -run AnyOrder.
func TestAnyOrder(t *testing.T) {
	t.Parallel()
	checks := flag.Lookup("rapid.checks")
	if checks.Value.String() == checks.DefValue {
		require.NoError(t, checks.Value.Set(strconv.Itoa(times(t, 6))))
		if times(t, 1) == 1 {
			// A gate that asks for something else each time is no gate; the long form
			// looks for what is new.
			require.NoError(t, flag.Set("rapid.seed", "20261121"))
			t.Cleanup(func() { require.NoError(t, flag.Set("rapid.seed", "0")) })
		}
		t.Cleanup(func() { require.NoError(t, checks.Value.Set(checks.DefValue)) })
	}
	rapid.Check(t, func(rt *rapid.T) {
		m := newMachine(t)
		rt.Repeat(map[string]func(*rapid.T){
			"emit": m.Emit, "emit too": m.Emit, "resume": m.Resume, "resume any": m.ResumeAny, "resume any too": m.ResumeAny,
			"progress": m.Progress, "release": m.Release, "ack": m.Ack, "ack too": m.Ack, "fail": m.Fail,
			"reroute": m.Reroute, "revoke": m.Revoke, "sync": m.Sync, "gc": m.GC, "upkeep": m.Upkeep,
			"hub": m.Hub, "clock": m.Clock, "": m.Check,
		})
		m.wind(rt)
	})
}
