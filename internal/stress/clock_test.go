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

// off runs a command in this process, at a place whose clock is off.
func (p *place) off(t testing.TB, by time.Duration, args ...string) result {
	t.Helper()
	var out, diag bytes.Buffer
	code := cli.Main(t.Context(), cli.Env{
		Stdin: bytes.NewReader(nil), Stdout: &out, Stderr: &diag,
		Getenv: func(name string) string { return gittest.Getenv(p.Env, name) }, Vars: p.Env,
		Now: func() time.Time { return time.Now().Add(by) }, Random: rand.Reader, Version: "test",
	}, append([]string{"-C", p.Dir}, args...))
	return result{out: out.String(), diag: diag.String(), code: code}
}

// One clock four minutes off, in either direction: the sender's or the receiver's.
// The work goes through, and is held by one. What is dated further ahead does not
// count before its time.
func TestClockOff(t *testing.T) {
	for name, by := range map[string]time.Duration{"ahead": 4 * time.Minute, "behind": -4 * time.Minute} {
		for _, who := range []string{"boss", "fixer"} {
			t.Run(who+" is "+name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				boss, fixer, other := w.clone(t, "boss"), w.clone(t, "fixer"), w.clone(t, "other")
				for p, agent := range map[*place]string{boss: "boss", fixer: "fixer", other: "fixer"} {
					r := p.off(t, -24*time.Hour, "init", "--as", agent) // keys are older than clocks are wrong
					require.Zero(t, r.code, "%s", r)
				}
				boss.must(t, "trust", "add", "fixer")
				fixer.must(t, "trust", "add", "boss")
				other.must(t, "trust", "add", "boss")
				bossOff, fixerOff := by, time.Duration(0)
				if who == "fixer" {
					bossOff, fixerOff = fixerOff, bossOff
				}
				good := func(r result) result {
					t.Helper()
					require.Zero(t, r.code, "%s", r)
					return r
				}
				good(boss.off(t, bossOff, "emit", "--to", elsewhere, "--goal", "g"))
				r := good(fixer.off(t, fixerOff, "resume", "--json"))
				var row struct{ ID, State string }
				require.NoError(t, json.Unmarshal([]byte(r.out), &row))
				assert.Equal(t, "claimed", row.State)

				r = other.off(t, 0, "resume")
				assert.Equal(t, 3, r.code, "nobody else takes it by chance: %s", r)
				good(fixer.off(t, fixerOff, "progress", "-m", "half"))
				r = other.off(t, 0, "resume")
				assert.Equal(t, 3, r.code, "nobody else takes it by chance: %s", r)
				good(fixer.off(t, fixerOff, "ack"))
				good(boss.off(t, bossOff, "sync"))
				assert.Equal(t, []string{"offered", "claimed", "progressed", "acknowledged"}, events(t, w.hub, row.ID))
				for _, p := range []*place{boss, fixer, other} {
					p.audited(t)
				}
				consistent(t, census(t, w.hub, boss.Repo, fixer.Repo))
			})
		}
	}
}

// A claim is taken over by whoever asks for it by id once its lease ran out, and
// by chance only after twice the lease: then the former holder's step is a conflict.
func TestTakeOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	boss, fixer := w.pair(t)
	other := w.twin(t, "other", "fixer", "boss")
	id := boss.must(t, "emit", "--to", elsewhere, "--goal", "g")
	fixer.must(t, "resume", "--lease", "1h")
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
		r := other.off(t, tc.by, tc.args...)
		assert.Equal(t, tc.code, r.code, "%v, %v later: %s", tc.args, tc.by, r)
	}
	r := fixer.off(t, 126*time.Minute, "ack", id)
	assert.Equal(t, 5, r.code, "%s", r)
	assert.Contains(t, r.diag, "is held by fixer until")
	r = fixer.off(t, 126*time.Minute, "progress", id)
	assert.Equal(t, 5, r.code, "%s", r)
	r = other.off(t, 126*time.Minute, "ack")
	assert.Zero(t, r.code, "%s", r)
	assert.Equal(t, []string{"offered", "claimed", "claimed", "acknowledged"}, events(t, w.hub, id))
}
