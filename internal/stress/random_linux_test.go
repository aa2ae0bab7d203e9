package stress

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"githandoff/internal/gittest"
)

// kills returns how often each command is killed: the value of GITHANDOFF_KILLS, or a few times.
func kills(t testing.TB) int {
	t.Helper()
	text := os.Getenv("GITHANDOFF_KILLS")
	if text == "" {
		return 2
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err, "GITHANDOFF_KILLS")
	return n
}

// prey is a command that is killed many times in the same repositories.
type prey struct {
	*gittest.Fixture
	boss, fixer, twin *gittest.Repo // twin: fixer's other clone, where one is needed
	rand              *rand.Rand
	took              time.Duration // how long the command takes, as far as is known
	said              strings.Builder
	ids               int // number of handoffs that must exist
	died, locked      int
	about             string // the latest round, for the message of a failure
}

// hunt describes a command to kill. set prepares work for it and returns the repository and the arguments; after
// checks the outcome.
type hunt struct {
	name  string
	set   func(t testing.TB, p *prey) (*gittest.Repo, []string)
	after func(p *prey, t testing.TB, first, again gittest.Result)
}

func (p *prey) places() []*gittest.Repo {
	if p.twin == nil {
		return []*gittest.Repo{p.boss, p.fixer}
	}
	return []*gittest.Repo{p.boss, p.fixer, p.twin}
}

func (p *prey) emit(t testing.TB, args ...string) string {
	p.ids++
	return p.boss.Must(t, append([]string{"emit", "--to", elsewhere, "--goal", "g"}, args...)...)
}

func hunts() []hunt {
	done := func(_ *prey, t testing.TB, _, again gittest.Result) {
		assert.Zero(t, again.Code, "%s", again)
	}
	return []hunt{
		{"emit", func(_ testing.TB, p *prey) (*gittest.Repo, []string) {
			p.ids++
			return p.boss, []string{"emit", "--once", "--task", fmt.Sprint("T-", p.ids), "--to", elsewhere, "--goal", "g"}
		}, done},
		{"sync", func(t testing.TB, p *prey) (*gittest.Repo, []string) { // delivers one handoff and settles another
			p.emit(t)
			p.fixer.Must(t, "resume", "--ack")
			p.emit(t, "--queue")
			return p.boss, []string{"sync"}
		}, done},
		{"resume", func(t testing.TB, p *prey) (*gittest.Repo, []string) {
			if p.twin == nil {
				p.twin = p.Twin(t, "twin", "fixer", "boss")
			}
			p.emit(t)
			return p.fixer, []string{"resume"}
		}, (*prey).handedOutOnce},
		{"ack", func(t testing.TB, p *prey) (*gittest.Repo, []string) {
			id := p.emit(t)
			p.fixer.Must(t, "resume", id)
			return p.fixer, []string{"ack", id, "--result", "pr=12"}
		}, done},
	}
}

// handedOutOnce checks that one waiting handoff is handed out once, either to the clone whose command was killed
// or to the twin.
func (p *prey) handedOutOnce(t testing.TB, first, again gittest.Result) {
	other := p.twin.Run(t, "resume")
	got := 0
	for at, r := range map[*gittest.Repo]gittest.Result{p.fixer: again, p.twin: other} {
		switch {
		case r.Code == 0:
			got++
			at.Must(t, "ack", handoffID.FindString(r.Stdout))
		case at == p.fixer && strings.Contains(first.Stdout, "Done: githandoff ack"):
			got++ // the killed command had printed the whole handoff
			at.Must(t, "ack", handoffID.FindString(first.Stdout))
			assert.Equal(t, 3, r.Code, "%s", r)
		default:
			assert.Equal(t, 3, r.Code, "%s", r)
		}
	}
	assert.Equal(t, 1, got, "again: %s\nthe other: %s", again, other)
}

// deadly lists the ways in which a command is ended.
var deadly = []string{tool, both, "interrupted"}

// kill starts a command and ends it after a random part of its usual time: it kills githandoff alone, or with
// all its children, or interrupts it as Ctrl-C does. It returns the gits that were left running.
func (p *prey) kill(t testing.TB, cmd *exec.Cmd, how string) (r gittest.Result, left []int) {
	t.Helper()
	after := time.Duration(p.rand.Int64N(int64(p.took)))
	r = gittest.Finish(t, cmd, func() {
		time.Sleep(after)
		if how == "interrupted" {
			_ = cmd.Process.Signal(unix.SIGINT)
			return
		}
		left = stopped(cmd.Process.Pid, how == both)
		_ = cmd.Process.Kill()
		if how == both {
			for _, pid := range left {
				_ = unix.Kill(pid, unix.SIGKILL)
			}
		}
	})
	p.about = fmt.Sprintf("%s: %s after %v: %s", cmd.Args[1:], how, after, r)
	switch {
	case r.Code == 0:
		p.took -= p.took / 8 // the command ended first: kill it earlier next time
	case how == "interrupted":
		assert.Contains(t, []int{130, -1}, r.Code, "%s", p.about) // -1: interrupted before it handled signals
	default:
		assert.Equal(t, -1, r.Code, "%s", p.about)
		p.died++
	}
	return r, left
}

// stopped stops a process so that it starts no more children, and returns all processes below it. If all is set,
// they are stopped too.
func stopped(root int, all bool) (below []int) {
	family := []int{root}
	_ = unix.Kill(root, unix.SIGSTOP)
	for i := 0; i < len(family); i++ {
		for again := true; again; {
			again = false
			for _, pid := range childrenOf(family[i]) {
				if slices.Contains(family, pid) {
					continue
				}
				if all {
					_ = unix.Kill(pid, unix.SIGSTOP)
				}
				family, again = append(family, pid), true // the process may have started another child
			}
		}
	}
	return family[1:]
}

func childrenOf(parent int) (found []int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			if _, ppid := stat(pid); ppid == strconv.Itoa(parent) {
				found = append(found, pid)
			}
		}
	}
	return found
}

// stat returns the state of a process in /proc, and its parent; "" if it has ended.
func stat(pid int) (state, parent string) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := bytes.Cut(text, []byte(") ")) // pid (name) state parent
	if f := strings.Fields(string(rest)); len(f) > 1 {
		return f[0], f[1]
	}
	return "", ""
}

func alive(pid int) bool {
	state, _ := stat(pid)
	return state != "" && state != "Z"
}

// again gives the command again. If a lock of a dead git blocks it, the error must name the lock and the command
// that removes it.
func (p *prey) again(t testing.TB, at *gittest.Repo, args []string, left []int) gittest.Result {
	t.Helper()
	r := at.Run(t, args...)
	switch r.Code {
	case 8:
		p.locked++
		assert.Regexp(t, `(\.lock|packed-refs\.new)"? exists.*\nhint: (env GIT_DIR=\S+ )?githandoff (-C \S+ )?doctor --fix`, r.Stderr)
	case 3: // a git that still runs may be about to bring the claim to the hub
	default:
		return r
	}
	for _, pid := range left {
		require.Eventually(t, func() bool { return !alive(pid) }, time.Minute, 10*time.Millisecond)
	}
	removeDeadLocks(t, p.Fixture, p.places()...)
	return at.Run(t, args...)
}

func (p *prey) round(t testing.TB, h hunt, how string) {
	t.Helper()
	at, args := h.set(t, p)
	first, left := p.kill(t, at.Command(t, args...), how)
	again := p.again(t, at, args, left)
	h.after(p, t, first, again)
	p.said.WriteString(first.Stdout + again.Stdout)
}

// A command is killed at a random moment, alone or with its gits, or interrupted, and is then given again. It
// has then done its work once. This repeats in the same repositories, which only doctor ever mends. For a longer
// run: make kills.
func TestKilledAtRandom(t *testing.T) {
	seed := soakSeed(t)
	t.Logf("GITHANDOFF_SEED=%d", seed)
	for i, h := range hunts() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			p := &prey{Fixture: gittest.NewFixture(t), rand: rand.New(rand.NewPCG(seed, uint64(i)))}
			p.boss, p.fixer = p.Pair(t)
			t.Cleanup(func() {
				if t.Failed() {
					t.Log(p.about)
				}
			})
			at, args := h.set(t, p)
			r := at.Run(t, args...)
			p.took = r.Took
			h.after(p, t, gittest.Result{}, r)
			for i := 0; p.died < kills(t) && !t.Failed(); i++ {
				p.round(t, h, deadly[i%len(deadly)])
			}
			p.wind(t)
			t.Logf("%d died, %d met a lock; it takes %v", p.died, p.locked, p.took)
		})
	}
}

// wind ends a run: every place syncs, and each reported handoff is open or has ended.
func (p *prey) wind(t testing.TB) {
	t.Helper()
	removeDeadLocks(t, p.Fixture, p.places()...)
	repos := []*gittest.Repo{p.Hub}
	for _, at := range p.places() {
		at.Must(t, "sync")
		repos = append(repos, at)
	}
	all := census(t, repos...)
	consistent(t, all)
	assert.Len(t, all, p.ids)
	for _, id := range handoffID.FindAllString(p.said.String(), -1) {
		assert.Contains(t, all, id, "it was reported")
	}
	for _, repo := range repos {
		sound(t, repo)
	}
	for _, at := range p.places() {
		audited(t, at)
	}
}
