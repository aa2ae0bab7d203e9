package stress

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/cli"
	"githandoff/internal/gittest"
)

// off runs a command in this process with the clock of p shifted by some time.
func off(t testing.TB, p *gittest.Repo, by time.Duration, args ...string) gittest.Result {
	t.Helper()
	var out, diag bytes.Buffer
	code := cli.Main(t.Context(), cli.Env{
		Stdin: bytes.NewReader(nil), Stdout: &out, Stderr: &diag,
		Getenv: func(name string) string { return gittest.Getenv(p.Env, name) }, Vars: p.Env,
		Now: func() time.Time { return time.Now().Add(by) }, Random: rand.Reader, Version: "test",
	}, append([]string{"-C", p.Dir}, args...))
	return gittest.Result{Stdout: out.String(), Stderr: diag.String(), Code: code}
}

// The clock of the sender or of the receiver is four minutes off, in either direction. The handoff is delivered,
// and one agent holds it. An entry with a date further ahead does not count before its time.
func TestClockOff(t *testing.T) {
	for name, by := range map[string]time.Duration{"ahead": 4 * time.Minute, "behind": -4 * time.Minute} {
		for _, who := range []string{"boss", "fixer"} {
			t.Run(who+" is "+name, func(t *testing.T) {
				t.Parallel()
				w := gittest.NewFixture(t)
				boss, fixer, other := w.Clone(t, "boss"), w.Clone(t, "fixer"), w.Clone(t, "other")
				for p, agent := range map[*gittest.Repo]string{boss: "boss", fixer: "fixer", other: "fixer"} {
					r := off(t, p, -24*time.Hour, "init", "--as", agent) // the keys must be older than any shifted clock
					require.Zero(t, r.Code, "%s", r)
				}
				boss.Must(t, "trust", "add", "fixer")
				fixer.Must(t, "trust", "add", "boss")
				other.Must(t, "trust", "add", "boss")
				bossOff, fixerOff := by, time.Duration(0)
				if who == "fixer" {
					bossOff, fixerOff = fixerOff, bossOff
				}
				good := func(r gittest.Result) gittest.Result {
					t.Helper()
					require.Zero(t, r.Code, "%s", r)
					return r
				}
				good(off(t, boss, bossOff, "emit", "--to", elsewhere, "--goal", "g"))
				r := good(off(t, fixer, fixerOff, "resume", "--json"))
				var row struct{ ID, State string }
				require.NoError(t, json.Unmarshal([]byte(r.Stdout), &row))
				assert.Equal(t, "claimed", row.State)

				r = off(t, other, 0, "resume")
				assert.Equal(t, 3, r.Code, "nobody else takes it by chance: %s", r)
				good(off(t, fixer, fixerOff, "progress", "-m", "half"))
				r = off(t, other, 0, "resume")
				assert.Equal(t, 3, r.Code, "nobody else takes it by chance: %s", r)
				good(off(t, fixer, fixerOff, "ack"))
				good(off(t, boss, bossOff, "sync"))
				assert.Equal(t, []string{"offered", "claimed", "progressed", "acknowledged"}, events(t, w.Hub, row.ID))
				for _, p := range []*gittest.Repo{boss, fixer, other} {
					audited(t, p)
				}
				consistent(t, census(t, w.Hub, boss, fixer))
			})
		}
	}
}

// Once its lease ran out, a claim can be taken over by an agent that asks for the handoff by id. An agent that
// asks for any handoff takes it over only after twice the lease. After that a step of the former holder is a
// conflict.
func TestTakeOver(t *testing.T) {
	t.Parallel()
	w, boss, fixer := gittest.NewPair(t)
	other := w.Twin(t, "other", "fixer", "boss")
	id := boss.Must(t, "emit", "--to", elsewhere, "--goal", "g")
	fixer.Must(t, "resume", "--lease", "1h")
	for _, tc := range []struct {
		by   time.Duration
		args []string
		code int
	}{
		{50 * time.Minute, []string{"resume", id}, 5},
		{50 * time.Minute, []string{"resume"}, 3},
		{70 * time.Minute, []string{"resume"}, 3},
		{125 * time.Minute, []string{"resume"}, 0},
	} {
		r := off(t, other, tc.by, tc.args...)
		assert.Equal(t, tc.code, r.Code, "%v, %v later: %s", tc.args, tc.by, r)
	}
	r := off(t, fixer, 126*time.Minute, "ack", id)
	assert.Equal(t, 5, r.Code, "%s", r)
	assert.Contains(t, r.Stderr, "is held by fixer until")
	r = off(t, fixer, 126*time.Minute, "progress", id)
	assert.Equal(t, 5, r.Code, "%s", r)
	r = off(t, other, 126*time.Minute, "ack")
	assert.Zero(t, r.Code, "%s", r)
	assert.Equal(t, []string{"offered", "claimed", "claimed", "acknowledged"}, events(t, w.Hub, id))
}
