package stress

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
)

// soak is a group of agents that work at once, each with its own clock, in clones of a hub that comes and goes
// and is tidied up.
type soak struct {
	*gittest.Fixture
	seed   uint64
	places []*soaker

	mu      sync.Mutex
	ids     []string // handoffs that commands reported
	revoked map[string]bool
	log     []string
	done    map[string]int // counts, by command and exit code
}

// soaker is the place of one agent.
type soaker struct {
	*gittest.Repo
	agent string
	skew  time.Duration
	rand  *rand.Rand
	taken []string // handoffs that the agent took and did not end, as far as is known here
}

// mine removes the handoff that was taken last from the list, and returns it.
func (p *soaker) mine() (id string) {
	if n := len(p.taken); n > 0 {
		id, p.taken = p.taken[n-1], p.taken[:n-1]
	}
	return id
}

// run runs githandoff with the clock of this place. It kills the command after kill, unless kill is 0.
func (p *soaker) run(t testing.TB, kill time.Duration, args ...string) gittest.Result {
	cmd := p.Command(t, args...)
	self, err := os.Executable()
	if !assert.NoError(t, err) {
		return gittest.Result{Code: -1}
	}
	cmd.Path = self
	cmd.Env = append(slices.Clip(cmd.Env), clockVariable+"="+strconv.FormatInt(time.Now().Add(p.skew).Unix(), 10))
	return gittest.Finish(t, cmd, func() {
		if kill > 0 {
			time.AfterFunc(kill, func() { _ = cmd.Process.Kill() })
		}
	})
}

func newSoak(t testing.TB, seed uint64) *soak {
	t.Helper()
	s := &soak{Fixture: gittest.NewFixture(t), seed: seed, revoked: map[string]bool{}, done: map[string]int{}}
	s.Hub.Git(t, "config", "maintenance.strategy", "gc") // as in TestHubBesideUpkeep
	largePackedRefs(t, s.Hub)
	for i, agent := range []string{"boss", "fixer", "fixer", "tester"} {
		p := &soaker{
			Repo: s.Clone(t, fmt.Sprint(agent, i)), agent: agent,
			skew: -48 * time.Hour, rand: rand.New(rand.NewPCG(seed, uint64(i))),
		}
		p.Git(t, "config", "maintenance.strategy", "gc")
		r := p.run(t, 0, "init", "--as", agent) // the keys must be older than any shifted clock
		require.Zero(t, r.Code, "%s", r)
		p.skew = time.Duration(p.rand.IntN(241)-120) * time.Second // two clocks differ by less than the allowed difference
		s.places = append(s.places, p)
	}
	for _, p := range s.places {
		for _, other := range []string{"boss", "fixer", "tester"} {
			if other != p.agent {
				p.Must(t, "trust", "add", other)
			}
		}
	}
	return s
}

func (s *soak) id(p *soaker) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.ids) == 0 {
		return "ho_00000000000000000000000000"
	}
	recent := s.ids[max(0, len(s.ids)-12):]
	return recent[p.rand.IntN(len(recent))]
}

// step has an agent run a random command, which is sometimes killed.
func (s *soak) step(t testing.TB, p *soaker) {
	target := []string{"boss@origin", elsewhere, "tester@origin", p.agent}[p.rand.IntN(4)]
	choices := [][]string{
		{"emit", "--to", target, "--goal", "g"},
		{"emit", "--to", target, "--goal", "g", "--on-failure", p.agent, "--checkpoint", "HEAD"},
		{"emit", "--to", target, "--goal", "g", "--queue"},
		{"resume", "--json", "--next"},
		{"resume", "--json", "--next"},
		{"resume", "--json", "--next"},
		{"resume", "--json", s.id(p)},
		{"resume", "--ack"},
		{"ack"},
		{"ack", s.id(p)},
		{"ack", s.id(p)},
		{"progress"},
		{"progress", s.id(p)},
		{"release"},
		{"fail", "--reason", "no"},
		{"fail", "--reason", "no", s.id(p)},
		{"reroute", s.id(p), "--to", target},
		{"revoke", s.id(p)},
		{"sync"},
		{"sync"},
		{"gc"},
		{"inbox", "--all"},
		{"status"},
		{"audit", "--quiet"},
	}
	args := choices[p.rand.IntN(len(choices))]
	if len(p.taken) > 0 && p.rand.IntN(4) == 0 {
		args = []string{"ack", p.mine()}
	}
	kill := time.Duration(0)
	if p.rand.IntN(8) == 0 {
		kill = time.Duration(1+p.rand.IntN(150)) * time.Millisecond
	}
	r := p.run(t, kill, args...)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done[fmt.Sprint(args[0], " ", r.Code)]++
	s.log = append(s.log, fmt.Sprintf("%s (%s): %s -> %s", p.Dir, p.skew, strings.Join(args, " "), r))
	if id := handoffID.FindString(r.Stdout); id != "" && args[0] == "emit" {
		s.ids = append(s.ids, id)
	}
	if args[0] == "resume" && args[1] == "--json" && r.Code == 0 {
		p.taken = append(p.taken, handoffID.FindString(r.Stdout))
	}
	if args[0] == "revoke" && (r.Code == 0 || r.Code == -1) {
		s.revoked[args[1]] = true // a handoff that was never delivered leaves no trace
	}
	switch {
	case r.Code == -1 && kill > 0, slices.Contains([]int{0, 2, 3, 5, 8}, r.Code):
	case r.Code == 4 && strings.Contains(r.Stderr, "untrusted_key"): // the handoff of another agent
	case r.Code == 4 && args[0] == "audit": // the hub may change while audit reads it
	default:
		t.Errorf("%s: %v: %s", p.Dir, args, r)
	}
}

// upkeep tidies up a repository, or takes the hub away for a moment.
func (s *soak) upkeep(t testing.TB, r *rand.Rand) {
	repo := s.places[r.IntN(len(s.places))].Repo
	switch r.IntN(6) {
	case 0:
		repo.TryGit("gc", "--quiet", "--prune=now")
	case 1:
		repo.TryGit("pack-refs", "--all")
	case 2:
		repo.TryGit("fetch", "--quiet", "--prune")
	case 3:
		s.Hub.TryGit("pack-refs", "--all")
	case 4:
		s.Hub.TryGit("gc", "--quiet")
	case 5:
		back := s.closed(t)
		time.Sleep(time.Duration(r.IntN(500)) * time.Millisecond)
		back()
	}
}

// closed keeps new gits out of the hub until open is called. Gits that already run in it end normally.
func (s *soak) closed(t testing.TB) (open func()) {
	t.Helper()
	head := filepath.Join(s.Hub.Dir, "HEAD")
	require.NoError(t, os.Rename(head, head+".gone"))
	return func() {
		t.Helper()
		require.NoError(t, os.Rename(head+".gone", head))
	}
}

// soakTime returns the value of GITHANDOFF_SOAK, or a few seconds.
func soakTime(t testing.TB) time.Duration {
	t.Helper()
	text := os.Getenv("GITHANDOFF_SOAK")
	if text == "" {
		return 3 * time.Second
	}
	d, err := time.ParseDuration(text)
	require.NoError(t, err, "GITHANDOFF_SOAK")
	return d
}

func soakSeed(t testing.TB) uint64 {
	t.Helper()
	text := os.Getenv("GITHANDOFF_SEED")
	if text == "" {
		return rand.Uint64()
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	require.NoError(t, err, "GITHANDOFF_SEED")
	return seed
}

// Agents with different clocks work for a while. Their commands are killed, repositories are tidied up, and the
// hub comes and goes. In the end all repositories agree, and every handoff can be finished.
func TestSoak(t *testing.T) {
	s := newSoak(t, soakSeed(t))
	t.Logf("GITHANDOFF_SEED=%d", s.seed)
	t.Cleanup(func() { s.keep(t) })
	end := time.Now().Add(soakTime(t))
	together(len(s.places)+1, func(i int) {
		keeper := rand.New(rand.NewPCG(s.seed, 1<<32))
		for time.Now().Before(end) && !t.Failed() {
			if i == len(s.places) {
				s.upkeep(t, keeper)
			} else {
				s.step(t, s.places[i])
			}
		}
	})
	t.Logf("%d handoffs; %v", len(s.ids), s.done)
	if t.Failed() {
		t.Fatalf("the latest:\n%s", strings.Join(s.log[max(0, len(s.log)-60):], "\n"))
	}
	s.wind(t)
}

// keep keeps the commands and the repositories of a failed soak if go test has the flag -artifacts.
func (s *soak) keep(t testing.TB) {
	if !t.Failed() {
		return
	}
	dir := t.ArtifactDir()
	assert.NoError(t, os.WriteFile(filepath.Join(dir, "log"), []byte(strings.Join(s.log, "\n")), 0o600))
	assert.NoError(t, os.CopyFS(filepath.Join(dir, "repositories"), os.DirFS(s.Dir)))
}

// wind ends a soak: every place syncs, takes a waiting handoff and acknowledges what it holds.
func (s *soak) wind(t testing.TB) {
	t.Helper()
	repos := []*gittest.Repo{s.Hub}
	var places []*gittest.Repo
	for _, p := range s.places {
		repos, places = append(repos, p.Repo), append(places, p.Repo)
	}
	// A git that was running in the hub when it went away left its locks there.
	removeDeadLocks(t, s.Fixture, places...)
	for range 3 {
		together(len(s.places), func(i int) {
			p := s.places[i]
			for _, step := range [][]string{{"sync"}, {"resume", "--ack"}} {
				r := p.run(t, 0, step...)
				for step[0] == "resume" && r.Code == 0 {
					r = p.run(t, 0, step...)
				}
				assert.Contains(t, []int{0, 3, 5}, r.Code, "%s: %s: %s", p.Dir, step, r) // 5: the claim of a kept step was lost
			}
		})
		left := census(t, repos...)
		together(len(s.places), func(i int) {
			p := s.places[i]
			for id, l := range left {
				if l.receipts() == 0 && l.holder() == p.agent {
					r := p.run(t, 0, "ack", id)
					assert.Contains(t, []int{0, 3, 5}, r.Code, "%s: ack %s: %s", p.Dir, id, r) // 3, 5: held by another clone
				}
			}
		})
	}
	all := census(t, repos...)
	consistent(t, all)
	for id, l := range all {
		assert.Equal(t, 1, l.receipts(), "%s cannot be finished: %q %q", id, l.refs, l.events)
	}
	for _, id := range s.ids {
		assert.True(t, all[id] != nil || s.revoked[id], "%s was reported and is lost", id)
	}
	for _, p := range s.places {
		audited(t, p.Repo)
		sound(t, p.Repo)
	}
	sound(t, s.Hub)
}
