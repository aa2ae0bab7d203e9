package stress

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"githandoff/internal/gittest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// scene is a command that will be killed, and the state of two places before it.
type scene struct {
	name string
	// set prepares the places. It returns the place of the command, and the command.
	set func(t testing.TB, boss, fixer *gittest.Repo) (*gittest.Repo, []string)
	// again lists the exit codes that the command may have when it is given again after a kill: 0, and 5 if it
	// may find that the step was done.
	again []int
	// open and want are the counts over all lives after the command was repeated: how many handoffs are open,
	// and how often each event was logged.
	open int
	want map[string]int
	// more makes further checks; nil for none.
	more func(t testing.TB, w *gittest.Fixture, boss, fixer *gittest.Repo)
}

const elsewhere = "fixer@origin"

func scenes() []scene {
	emit := func(t testing.TB, boss *gittest.Repo, args ...string) string {
		return boss.Must(t, append([]string{"emit", "--task", "T-1", "--goal", "g", "--on-failure", "boss"}, args...)...)
	}
	taken := func(t testing.TB, boss, fixer *gittest.Repo) string {
		id := emit(t, boss, "--to", elsewhere)
		fixer.Must(t, "resume")
		return id
	}
	takenHere := func(t testing.TB, boss *gittest.Repo) string {
		id := emit(t, boss, "--to", "boss")
		boss.Must(t, "resume")
		return id
	}
	return append([]scene{
		{"emit", func(t testing.TB, boss, fixer *gittest.Repo) (*gittest.Repo, []string) {
			return boss, []string{"emit", "--once", "--to", "boss", "--task", "T-1", "--goal", "g", "--checkpoint", "HEAD"}
		}, []int{0}, 1, map[string]int{"offered": 1}, nil},
		{"emit to hub", func(t testing.TB, boss, fixer *gittest.Repo) (*gittest.Repo, []string) {
			return boss, []string{"emit", "--once", "--to", elsewhere, "--task", "T-1", "--goal", "g"}
		}, []int{0}, 1, map[string]int{"offered": 1}, nil},
		{"sync delivers", func(t testing.TB, boss, fixer *gittest.Repo) (*gittest.Repo, []string) {
			emit(t, boss, "--to", elsewhere, "--queue")
			emit(t, boss, "--to", elsewhere, "--queue")
			return boss, []string{"sync"}
		}, []int{0}, 2, map[string]int{"offered": 2}, nil},
		{"sync sends many", func(t testing.TB, boss, fixer *gittest.Repo) (*gittest.Repo, []string) {
			done := taken(t, boss, fixer)
			emit(t, boss, "--to", elsewhere, "--task", "T-2")
			fixer.Must(t, "resume", "--next")
			offline(t, fixer, func() {
				for _, args := range [][]string{{"ack", done}, {"progress", "-m", "half"}} {
					r := fixer.Run(t, args...)
					require.Equal(t, 8, r.Code, "%s", r)
				}
			})
			fixer.Must(t, "emit", "--to", "boss@origin", "--goal", "g", "--queue")
			fixer.Must(t, "emit", "--to", "boss@origin", "--goal", "g", "--queue")
			return fixer, []string{"sync"}
		}, []int{0}, 3, map[string]int{"offered": 4, "claimed": 2, "acknowledged": 1, "progressed": 1}, nil},
		{"sync settles", func(t testing.TB, boss, fixer *gittest.Repo) (*gittest.Repo, []string) {
			taken(t, boss, fixer)
			fixer.Must(t, "ack")
			return boss, []string{"sync"}
		}, []int{0}, 0, map[string]int{"offered": 1, "claimed": 1, "acknowledged": 1}, nil},
		{"resume", func(t testing.TB, boss, fixer *gittest.Repo) (*gittest.Repo, []string) {
			emit(t, boss, "--to", "boss")
			return boss, []string{"resume"}
		}, []int{0}, 1, map[string]int{"offered": 1, "claimed": 1}, nil},
		{"resume at hub", func(t testing.TB, boss, fixer *gittest.Repo) (*gittest.Repo, []string) {
			emit(t, boss, "--to", elsewhere)
			return fixer, []string{"resume"}
		}, []int{0}, 1, map[string]int{"offered": 1, "claimed": 1}, nil},
		{"resume in a crowd", func(t testing.TB, boss, fixer *gittest.Repo) (*gittest.Repo, []string) {
			for _, name := range []string{"w1", "w2", "w3"} {
				fixer.Must(t, "key", "generate", name)
				fixer.Must(t, "trust", "add", name, "--agent", "fixer")
			}
			emit(t, boss, "--to", elsewhere)
			return fixer, []string{"resume"}
		}, []int{0}, 1, map[string]int{"offered": 1, "claimed": 1}, nil},
		{"resume by id at hub", func(t testing.TB, boss, fixer *gittest.Repo) (*gittest.Repo, []string) {
			return fixer, []string{"resume", emit(t, boss, "--to", elsewhere)}
		}, []int{0}, 1, map[string]int{"offered": 1, "claimed": 1}, nil},
		{"ack", func(t testing.TB, boss, fixer *gittest.Repo) (*gittest.Repo, []string) {
			return boss, []string{"ack", takenHere(t, boss)}
		}, []int{0}, 0, map[string]int{"offered": 1, "claimed": 1, "acknowledged": 1}, nil},
		{"ack at hub", func(t testing.TB, boss, fixer *gittest.Repo) (*gittest.Repo, []string) {
			return fixer, []string{"ack", taken(t, boss, fixer), "--result", "pr=12"}
		}, []int{0}, 0, map[string]int{"offered": 1, "claimed": 1, "acknowledged": 1}, nil},
		{"progress at hub", func(t testing.TB, boss, fixer *gittest.Repo) (*gittest.Repo, []string) {
			taken(t, boss, fixer)
			return fixer, []string{"progress", "-m", "half"}
		}, []int{0}, 1, map[string]int{"offered": 1, "claimed": 1}, nil},
		{"release at hub", func(t testing.TB, boss, fixer *gittest.Repo) (*gittest.Repo, []string) {
			return fixer, []string{"release", taken(t, boss, fixer)}
		}, []int{0, 5}, 1, map[string]int{"offered": 1, "claimed": 1, "released": 1}, nil},
		{"fail with return", func(t testing.TB, boss, fixer *gittest.Repo) (*gittest.Repo, []string) {
			return boss, []string{"fail", takenHere(t, boss), "--reason", "no"}
		}, []int{0, 5}, 1, map[string]int{"offered": 2, "claimed": 1, "failed": 1}, nil},
		{"fail with return at hub", func(t testing.TB, boss, fixer *gittest.Repo) (*gittest.Repo, []string) {
			return fixer, []string{"fail", taken(t, boss, fixer), "--reason", "no"}
		}, []int{0, 5}, 1, map[string]int{"offered": 2, "claimed": 1, "failed": 1}, nil},
		{"reroute here", func(t testing.TB, boss, fixer *gittest.Repo) (*gittest.Repo, []string) {
			return boss, []string{"reroute", emit(t, boss, "--to", "boss"), "--to", "fixer"}
		}, []int{0, 5}, 1, map[string]int{"offered": 2, "rerouted": 1}, nil},
		{"reroute to hub", func(t testing.TB, boss, fixer *gittest.Repo) (*gittest.Repo, []string) {
			return boss, []string{"reroute", emit(t, boss, "--to", "boss"), "--to", elsewhere}
		}, []int{0, 5}, 1, map[string]int{"offered": 2, "rerouted": 1}, nil},
		{"reroute from hub", func(t testing.TB, boss, fixer *gittest.Repo) (*gittest.Repo, []string) {
			return fixer, []string{"reroute", taken(t, boss, fixer), "--to", "fixer"}
		}, []int{0, 5}, 1, map[string]int{"offered": 2, "claimed": 1, "rerouted": 1}, nil},
		{"revoke", func(t testing.TB, boss, fixer *gittest.Repo) (*gittest.Repo, []string) {
			return boss, []string{"revoke", emit(t, boss, "--to", "boss")}
		}, []int{0, 5}, 0, map[string]int{"offered": 1, "revoked": 1}, nil},
		{"revoke at hub", func(t testing.TB, boss, fixer *gittest.Repo) (*gittest.Repo, []string) {
			return boss, []string{"revoke", emit(t, boss, "--to", elsewhere)}
		}, []int{0, 5}, 0, map[string]int{"offered": 1, "revoked": 1}, nil},
	}, append(snapshotScenes(), upgradeScenes(taken)...)...)
}

// offline runs do while the clone cannot reach its hub by any transport.
func offline(t testing.TB, p *gittest.Repo, do func()) {
	t.Helper()
	settings := [][2]string{
		{"remote.origin.uploadpack", "false"},
		{"remote.origin.receivepack", "false"},
		{"http.proxy", "http://127.0.0.1:1"},
		{"core.gitProxy", "false"},
	}
	for _, s := range settings {
		p.Git(t, "config", s[0], s[1])
	}
	do()
	for _, s := range settings {
		p.Git(t, "config", "--unset", s[0])
	}
}

// keep copies the repositories of a fixture. back restores them.
func keep(t testing.TB, w *gittest.Fixture) (back func()) {
	t.Helper()
	kept := filepath.Join(t.TempDir(), "kept")
	cp := func(from, to string) {
		t.Helper()
		out, err := exec.Command("cp", "-a", from, to).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	cp(w.Dir, kept)
	return func() {
		t.Helper()
		require.NoError(t, os.RemoveAll(w.Dir))
		cp(kept, w.Dir)
	}
}

var handoffID = regexp.MustCompile(`ho_[0-9a-hjkmnp-tv-z]{26}`)

// check syncs both places and then checks all repositories.
func (s scene) check(t testing.TB, w *gittest.Fixture, boss, fixer *gittest.Repo, said string) {
	t.Helper()
	for _, p := range []*gittest.Repo{boss, fixer} {
		r := p.Run(t, "sync")
		assert.Zero(t, r.Code, "sync in %s: %s", p.Dir, r)
	}
	all := census(t, w.Hub, boss, fixer)
	consistent(t, all)
	got, inboxes := map[string]int{}, 0
	for _, l := range all {
		for _, e := range l.events {
			got[strings.Fields(e)[1]]++
		}
		inboxes += l.count("inbox")
	}
	if s.want["progressed"] == 0 {
		delete(got, "progressed") // a repeated command may log another one
	}
	assert.LessOrEqual(t, got[offeredAgain], s.want[offeredAgain])
	if s.want[offeredAgain] > 0 {
		got[offeredAgain] = s.want[offeredAgain] // this is an upper bound
	}
	assert.Equal(t, s.want, got)
	assert.Equal(t, s.open, inboxes)
	for _, id := range handoffID.FindAllString(said, -1) {
		assert.Contains(t, all, id, "it was reported")
	}
	for _, p := range []*gittest.Repo{boss, fixer} {
		sound(t, p)
		audited(t, p)
		noStraySnapshots(t, p)
	}
	sound(t, w.Hub)
	noStraySnapshots(t, w.Hub)
	if s.more != nil {
		s.more(t, w, boss, fixer)
	}
}

// repeat gives a command again that came to a bad end, and checks all repositories.
func (s scene) repeat(t testing.TB, w *gittest.Fixture, first gittest.Result, p *gittest.Repo, args []string) {
	t.Helper()
	again, codes := gittest.Result{Code: s.again[0]}, s.again
	if first.Code != 0 {
		again = p.Run(t, args...)
	}
	if args[0] == "resume" && strings.Contains(first.Stdout, "Done: githandoff ack") {
		codes = append(slices.Clip(codes), 3) // the first command printed the whole handoff, and nothing else waits
	}
	assert.Contains(t, codes, again.Code, "again: %s\nfirst: %s", again, first)
	s.check(t, w, w.At("boss"), w.At("fixer"), first.Stdout+again.Stdout)
	if t.Failed() {
		t.Logf("first: %s\nagain: %s", first, again)
	}
}

// sample picks some elements of a list at even distances, beginning at from.
func sample[T any](all []T, some, from int) (picked []T) {
	some = min(some, len(all))
	for i := range some {
		picked = append(picked, all[(i*len(all)/some+from)%len(all)])
	}
	return picked
}
