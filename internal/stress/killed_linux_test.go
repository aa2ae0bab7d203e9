package stress

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"githandoff/internal/gittest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// end is one way in which a command fails or is killed: at its n-th point.
type end struct {
	n    int
	what verdict
}

func (e end) String() string {
	if e.what.err != 0 {
		return fmt.Sprintf("%v from %d on", e.what.err, e.n)
	}
	return fmt.Sprintf("%s dies at %d", e.what.dies, e.n)
}

// deaths lists every process that can be killed at each of these points.
func deaths(points []point) (all []end) {
	for i, p := range points {
		all = append(all, end{i + 1, verdict{dies: tool}})
		if p.by == git {
			all = append(all, end{i + 1, verdict{dies: git}}, end{i + 1, verdict{dies: both}})
		}
	}
	return all
}

// failures lists every point from which on a disk can fail.
func failures(points []point) (all []end) {
	for i, p := range points {
		if p.fails() {
			all = append(all, end{i + 1, verdict{err: syscall.ENOSPC}}, end{i + 1, verdict{err: syscall.EROFS}})
		}
	}
	return all
}

// fails reports whether a disk can fail the call of this point.
func (p point) fails() bool {
	return p.call != "exec" && p.call != "exit" && p.call != "unlink" && p.call != "rmdir"
}

// A command comes to a bad end and is given again. It has then done its work once, nothing is lost, and nothing
// is left to clean up but the locks of a dead git. It is killed before any system call that changes a file or
// that starts or ends a git; or its disk is full or read-only from that call on.
func TestKilled(t *testing.T) {
	for i, s := range scenes() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			w, boss, fixer := gittest.NewPair(t)
			p, args := s.set(t, boss, fixer)
			back := keep(t, w)

			r, points := trapped(t, p.Command(t, args...), func(int, point) verdict { return verdict{} })
			require.Zero(t, r.Code, "%s", r)
			s.check(t, w, boss, fixer, r.Stdout)
			deaths, failures := deaths(points), failures(points)
			t.Logf("%d points, %d deaths, %d failures", len(points), len(deaths), len(failures))
			some := slices.Concat(sample(deaths, times(t, 2), 7*i), sample(failures, times(t, 1), 7*i))
			for _, e := range some {
				back()
				e.try(t, w, s, p, args)
				if t.Failed() {
					t.Fatalf("%s: %s", e, points[e.n-1])
				}
			}
		})
	}
}

// try brings a command to this end, removes the cause, and gives the command again.
func (e end) try(t *testing.T, w *gittest.Fixture, s scene, p *gittest.Repo, args []string) {
	t.Helper()
	first, points := trapped(t, p.Command(t, args...), func(n int, p point) verdict {
		if n == e.n || n > e.n && e.what.err != 0 && p.fails() {
			return e.what
		}
		return verdict{}
	})
	switch {
	case e.what.err != 0:
		assert.Contains(t, []int{0, 8}, first.Code, "%s", first)
	case e.what.dies != git && len(points) >= e.n: // a git may outlive a command that has ended
		require.Contains(t, []int{-1, 0}, first.Code, "it lived: %s", first)
	}
	removeDeadLocks(t, w, w.At("boss"), w.At("fixer"))
	s.repeat(t, w, first, p, args)
}

// A git dies at the hub between the ref of a handoff and its lane, so the log does not have the step. The same
// command finds the half step, and takes the step again.
func TestHalfAStepAtTheHub(t *testing.T) {
	for _, s := range scenes() {
		switch s.name {
		case "emit to hub", "resume at hub", "resume by id at hub", "progress at hub", "release at hub":
		default:
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			w, boss, fixer := gittest.NewPair(t)
			p, args := s.set(t, boss, fixer)
			lane := filepath.Join(w.Hub.Dir, lanes)
			first, _ := trapped(t, p.Command(t, args...), func(_ int, p point) verdict {
				if p.call == "rename" && strings.HasPrefix(filepath.Clean(p.path), lane) {
					return verdict{dies: both}
				}
				return verdict{}
			})
			require.Equal(t, -1, first.Code, "%s", first)
			removeDeadLocks(t, w, boss, fixer)
			s.repeat(t, w, first, p, args)
		})
	}
}

// githandoff dies after the hub has taken its step. The same command again reports the step as done, although
// its agent no longer holds the handoff.
func TestStepWhoseAnswerWasLost(t *testing.T) {
	for _, s := range scenes() {
		switch s.name {
		case "ack at hub", "fail with return at hub", "release at hub", "sync sends many":
		default:
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			w, boss, fixer := gittest.NewPair(t)
			p, args := s.set(t, boss, fixer)
			lane, taken := filepath.Join(w.Hub.Dir, lanes), false
			first, _ := trapped(t, p.Command(t, args...), func(_ int, p point) verdict {
				if taken && p.by == git && p.call == "exit" {
					return verdict{dies: tool}
				}
				taken = taken || p.call == "rename" && strings.HasPrefix(filepath.Clean(p.path), lane)
				return verdict{}
			})
			require.Equal(t, -1, first.Code, "%s", first)
			s.again = []int{0}
			s.repeat(t, w, first, p, args)
		})
	}
}

// A reroute staged a child and was killed before it wrote the parent's receipt. The child is delivered only
// after the same reroute was given again, and never if the parent ends otherwise.
func TestStagedChildWaitsForItsReroute(t *testing.T) {
	for _, how := range []string{"reroute", "revoke"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			w, boss, _ := gittest.NewPair(t)
			parent := boss.Must(t, "emit", "--to", "boss", "--goal", "g")
			args := []string{"reroute", parent, "--to", elsewhere}
			staged := false
			first, _ := trapped(t, boss.Command(t, args...), func(_ int, p point) verdict {
				if staged && p.by == tool && strings.Contains(p.path, "objects/") { // an object of the receipt
					return verdict{dies: tool}
				}
				staged = staged || p.call == "rename" && strings.Contains(p.path, outbox)
				return verdict{}
			})
			require.Equal(t, -1, first.Code, "%s", first)
			require.Len(t, open(t, boss, outbox), 1, "it is staged")
			boss.Must(t, "sync")
			assert.Empty(t, open(t, w.Hub, inbox), "its parent is open")

			want := 1
			if how == "revoke" {
				want, args = 0, []string{"revoke", parent}
			}
			boss.Must(t, args...)
			boss.Must(t, "sync")
			assert.Len(t, open(t, w.Hub, inbox), want)
			assert.Empty(t, open(t, boss, outbox))
			sound(t, boss)
			audited(t, boss)
		})
	}
}

// removeDeadLocks ages the locks that a dead git left and has doctor remove them, at the given places and at the
// hub. It first waits for gits that outlived a killed command, since their locks are not dead.
func removeDeadLocks(t testing.TB, w *gittest.Fixture, places ...*gittest.Repo) {
	t.Helper()
	require.Eventually(t, func() bool { return len(gits(t, w)) == 0 }, time.Minute, 10*time.Millisecond)
	for _, p := range append(places, w.At("hub.git")) {
		found := 0
		for _, name := range leftovers(t, p) {
			if isLock(name) {
				found++
				path := filepath.Join(p.Git(t, "rev-parse", "--absolute-git-dir"), name)
				old := time.Now().Add(-time.Minute)
				require.NoError(t, os.Chtimes(path, old, old))
			}
		}
		if found > 0 {
			p.Run(t, "doctor", "--fix")
		}
	}
}

// gits returns the processes that work in the repositories of this fixture.
func gits(t testing.TB, w *gittest.Fixture) (pids []string) {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*/cwd")
	require.NoError(t, err)
	for _, dir := range dirs {
		if cwd, err := os.Readlink(dir); err == nil && strings.HasPrefix(cwd, w.Dir+"/") {
			pids = append(pids, filepath.Base(filepath.Dir(dir)))
		}
	}
	return pids
}

// A writer was killed before it renamed its temporary file. Nobody reads that file, and gc removes it.
func TestFileOfAKilledWriterIsCollected(t *testing.T) {
	t.Parallel()
	_, boss, fixer := gittest.NewPair(t)
	boss.Must(t, "emit", "--to", elsewhere, "--goal", "g")
	first, _ := trapped(t, fixer.Command(t, "resume"), func(_ int, p point) verdict {
		if p.call == "rename" && strings.Contains(p.path, "githandoff/claims/") {
			return verdict{dies: tool}
		}
		return verdict{}
	})
	require.Equal(t, -1, first.Code, "%s", first)
	require.True(t, slices.ContainsFunc(leftovers(t, fixer), isBegun))
	fixer.Must(t, "resume")
	fixer.Must(t, "ack")
	sound(t, fixer)
}
