package stress

import (
	"bytes"
	"cmp"
	"context"
	crand "crypto/rand"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
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

// machine takes the same steps in clones of a hub and in a model of each handoff.
type machine struct {
	*gittest.Fixture
	t      *judge
	script script
	clock  time.Time // the time of every clock
	latest time.Time // the latest time that clock had before the last move
	seed   byte      // of the random numbers, together with runs
	runs   uint64    // commands run so far
	steps  []*hand
	births int // handoffs made by the current step
	names  []string
	places map[string]*gittest.Repo
	agents map[string]string // agent who works at each place
	jobs   []*job
	kept   map[string]map[*job]kept
	lost   map[string]bool // places that may find that a claim was lost, or that a kept step can no longer be taken
	due    []*job          // offered by a step that does not print the id
	down   func()          // brings the hub back; nil while it is there
	lanes  map[string]string
	serial int

	snapshots int // number of snapshots and work copies so far
}

// newMachine makes a place for boss, and two for fixer.
func newMachine(t *judge, seed byte) *machine {
	t.Helper()
	m := &machine{
		Fixture: gittest.NewFixture(t), t: t, seed: seed,
		names: []string{"boss", "fixer", "twin"}, places: map[string]*gittest.Repo{},
		agents: map[string]string{"boss": "boss", "fixer": "fixer", "twin": "fixer"},
		kept:   map[string]map[*job]kept{}, lost: map[string]bool{}, lanes: map[string]string{},
	}
	m.script.add(
		"exec git init --quiet --bare hub.git", "exec git clone --quiet hub.git seed",
		"exec git -C seed commit --quiet --allow-empty -m first", "exec git -C seed push --quiet origin HEAD:main",
		"exec git clone --quiet --bare hub.git other.git")
	m.Fixture.Hub.Git(t, "clone", "--quiet", "--bare", ".", "../"+otherName)
	m.time(time.Date(2026, 11, 19, 22, 0, 0, 0, time.UTC)) // the keys must be older than any clock
	for _, name := range m.names {
		m.script.add("exec git clone --quiet hub.git " + name)
		m.places[name], m.kept[name] = m.Clone(t, name), map[*job]kept{}
		for _, args := range [][]string{
			{"remote", "add", "other", "../" + otherName}, {"config", "handoff.pull", "origin"}, {"config", "--add", "handoff.pull", "other"},
		} {
			m.script.add("exec git -C " + name + " " + strings.Join(args, " "))
			m.places[name].Git(t, args...)
		}
		m.exits(m.run(name, "init", "--as", m.agents[name]), 0)
	}
	for _, name := range m.names {
		other := map[string]string{"boss": "fixer", "fixer": "boss"}[m.agents[name]]
		m.exits(m.run(name, "trust", "add", other), 0)
	}
	m.script.add("")
	m.time(m.clock.Add(24 * time.Hour))
	return m
}

// run runs a command in this process.
func (m *machine) run(at string, args ...string) gittest.Result {
	p := m.places[at]
	var out, diag bytes.Buffer
	m.runs++
	code := cli.Main(m.t.Context(), cli.Env{
		Stdin: bytes.NewReader(nil), Stdout: &out, Stderr: &diag,
		Getenv: func(name string) string { return gittest.Getenv(p.Env, name) }, Vars: p.Env,
		Now: func() time.Time { return m.clock }, Random: random(m.seed, m.runs), Version: "test",
	}, append([]string{"-C", p.Dir}, args...))
	r := gittest.Result{Stdout: out.String(), Stderr: diag.String(), Code: code}
	m.script.ran(r.Code, append([]string{"githandoff", "-C", at}, args...)...)
	m.t.Logf("%s: %s", m.script.command, r)
	return r
}

// random returns the same random bytes for the same command of a run. Ids and choices then repeat, so a failed
// run can be repeated and shortened.
func random(seed byte, run uint64) io.Reader {
	key := [32]byte{seed}
	binary.NativeEndian.PutUint64(key[1:], run)
	return rand.NewChaCha8(key)
}

// exits checks the exit code of the last command.
func (m *machine) exits(r gittest.Result, codes ...int) {
	m.t.Helper()
	if !slices.Contains(codes, r.Code) {
		m.script.wants(codes...)
		require.Fail(m.t, "wrong exit code", "want %v: %s: %s", codes, m.script.command, r)
	}
}

// clockVariable makes this test binary a githandoff whose clock shows that second. A seed and a number after the
// second select the random numbers of that command.
const clockVariable = "STRESS_CLOCK"

func runAtClock(at string) int {
	var second int64
	var seed byte
	var run uint64
	chance := crand.Reader
	switch n, _ := fmt.Sscan(at, &second, &seed, &run); n {
	case 1:
	case 3:
		chance = random(seed, run)
	default:
		return 70
	}
	return cli.Main(context.Background(), cli.Env{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, Vars: os.Environ(),
		Now: func() time.Time { return time.Unix(second, 0) }, Random: chance, Version: "test",
	}, os.Args[1:])
}

// crash runs a command that is killed, unless it ends before, and then has the locks of dead gits removed.
func (m *machine) crash(h *hand, at string, args []string) gittest.Result {
	n := 1 + h.n("point", 120)
	who := pick(h, "victim", tool, git, both)
	self, err := os.Executable()
	require.NoError(m.t, err)
	cmd := m.places[at].Command(m.t, args...)
	cmd.Path = self
	m.runs++
	cmd.Env = append(slices.Clip(cmd.Env), fmt.Sprint(clockVariable, "=", m.clock.Unix(), " ", m.seed, " ", m.runs))
	r, points := trapped(m.t, cmd, func(i int, _ point) verdict {
		if i == n {
			return verdict{dies: who}
		}
		return verdict{}
	})
	m.script.ran(r.Code, append([]string{"githandoff", "-C", at}, args...)...)
	if len(points) >= n {
		m.script.killed(r, who, points[n-1])
	}
	m.t.Logf("%s: crashed: %s", m.script.command, r)
	removeDeadLocks(m.t, m.Fixture, m.At(otherName), m.places["boss"], m.places["fixer"], m.places["twin"])
	return r
}

// do runs a command. Sometimes it kills the command and gives it again. It returns whether the step was done,
// and all output.
func (m *machine) do(h *hand, at string, may bool, args ...string) (bool, string) {
	codes, said := []int{0}, ""
	if !may {
		codes = []int{3, 4, 5, 8}
	}
	crashed := m.down == nil && h.n("crash", 6) == 0
	if crashed {
		first := m.crash(h, at, args)
		if said = first.Stdout; first.Code == 0 {
			m.exits(first, codes...)
			m.script.printed(said)
			m.synced(at)
			return true, said
		}
		codes = append(codes, 5) // the killed command may have taken the step
		if args[0] == "fail" && first.Code == 8 && m.rejected(at, args[1]) {
			codes = append(codes, 0)
		}
	}
	r := m.run(at, args...)
	m.exits(r, codes...)
	said += r.Stdout
	m.script.printed(said)
	if crashed {
		m.synced(at)
	}
	return may, said
}

// try runs a command. If the place does not know the handoff, the command may fail although the step is allowed.
func (m *machine) try(h *hand, at string, may, known bool, args ...string) bool {
	if may && !known {
		return m.run(at, args...).Code == 0
	}
	done, _ := m.do(h, at, may, args...)
	return done
}

// Check is called after every step. Each handoff must have the state, the log and the inbox ref that the model
// asks for. There must be no other refs, and lanes only grow.
func (m *machine) Check() {
	if m.down != nil {
		m.down()
		defer func() { m.down = away(m.t, m.Fixture) }()
	}
	repos := []*gittest.Repo{m.Fixture.Hub, m.At(otherName)}
	for _, name := range m.names {
		repos = append(repos, m.places[name])
	}
	all := census(m.t, repos...)
	m.grown(repos)
	for _, j := range m.due {
		l := cmp.Or(all[j.parent.id], &life{})
		if j.id = l.next; j.id == "" {
			m.script.end = m.expects(j.parent, l)
		}
		require.NotEmpty(m.t, j.id, "%s does not say in what it goes on", j.parent.id)
		m.script.follows(j)
		m.jobs = append(m.jobs, j)
	}
	m.due = nil
	for _, j := range m.jobs {
		l := cmp.Or(all[j.id], &life{})
		m.script.end = m.expects(j, l)
		j.check(l, m)
		m.script.end = nil
		delete(all, j.id)
	}
	require.Empty(m.t, all, "from nowhere")
	m.snapshotsAreThere(repos)
}

func (j *job) check(l *life, m *machine) {
	t := m.t
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
func (m *machine) grown(repos []*gittest.Repo) {
	now := map[string]string{}
	for _, repo := range repos {
		out := repo.Git(m.t, "for-each-ref", "--format=%(refname) %(objectname)", lanes)
		for line := range strings.Lines(out) {
			name, tip, _ := strings.Cut(strings.TrimSpace(line), " ")
			lane := repo.Dir + " " + name
			now[lane] = tip
			if was := m.lanes[lane]; was != "" && was != tip {
				_, _, code := repo.TryGit("merge-base", "--is-ancestor", was, tip)
				require.Zero(m.t, code, "%s went from %s to %s", lane, was, tip)
			}
		}
	}
	for lane := range m.lanes {
		require.NotEmpty(m.t, now[lane], "%s is gone", lane)
	}
	m.lanes = now
}

// wind ends a run: every place syncs, and all repositories must be sound.
func (m *machine) wind() {
	if m.down != nil {
		m.Hub(nil)
	}
	for range 2 {
		for _, name := range m.names {
			m.synced(name)
		}
	}
	m.Check()
	repos := []*gittest.Repo{m.Fixture.Hub, m.At(otherName)}
	for _, name := range m.names {
		repos = append(repos, m.places[name])
		m.exits(m.run(name, "audit"), 0)
	}
	consistent(m.t, census(m.t, repos...))
	for _, repo := range repos {
		whole(m.t, repo)
		noStraySnapshots(m.t, repo)
		left := slices.DeleteFunc(unfinished(m.t, repo), func(name string) bool {
			return strings.HasPrefix(name, "githandoff/intents/") // the intent belongs to this process, which still runs
		})
		require.Empty(m.t, left, "left in %s", repo.Dir)
	}
}

// Two agents take steps in three clones of two hubs, in any order, while commands are killed, a hub goes away,
// clocks jump and repositories are tidied up. The repositories must always agree with the model. For a longer
// run:
// go test -rapid.checks=100 -rapid.steps=100 -run AnyOrder.
func TestAnyOrder(t *testing.T) {
	t.Parallel()
	if gittest.Preset(t, "rapid.checks", strconv.Itoa(times(t, 4))) && times(t, 1) == 1 {
		// A gate must run the same steps each time. The long form looks for new failures.
		gittest.Preset(t, "rapid.seed", "20261121")
	}
	gittest.Preset(t, "rapid.shrinktime", "0s") // shorten does this instead
	f := &failure{path: filepath.Join("testdata", "rapid", t.Name(), "model_failed.txtar")}
	defer f.shorten(t)
	rapid.Check(t, func(rt *rapid.T) {
		m := newMachine(&judge{TB: t, rapid: rt}, rapid.Byte().Draw(rt, "seed"))
		defer func() {
			if m.t.failed && f.machine == nil {
				f.machine = m
			}
		}()
		run := map[string]func(*rapid.T){"": func(*rapid.T) { m.Check() }}
		for name := range actions() {
			run[name] = func(rt *rapid.T) {
				m.take(&hand{rapid: rt, number: len(m.steps), name: name, drawn: map[string]int{}})
			}
		}
		rt.Repeat(run)
		m.wind()
	})
}

// actions returns the steps by name. A step with two names is drawn twice as often.
func actions() map[string]func(*machine, *hand) {
	return map[string]func(*machine, *hand){
		"emit": (*machine).Emit, "emit too": (*machine).Emit, "resume": (*machine).Resume,
		"resume any": (*machine).ResumeAny, "resume any too": (*machine).ResumeAny,
		"progress": (*machine).Progress, "release": (*machine).Release, "ack": (*machine).Ack,
		"ack too": (*machine).Ack, "fail": (*machine).Fail, "reroute": (*machine).Reroute,
		"take away": (*machine).TakeAway, "look": (*machine).Look, "revoke": (*machine).Revoke, "sync": (*machine).Sync, "gc": (*machine).GC,
		"upkeep": (*machine).Upkeep, "hub": (*machine).Hub, "hub back": (*machine).HubBack, "clock": (*machine).Clock,
	}
}
