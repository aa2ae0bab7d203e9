package stress

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// cutOff runs a command, and kills it and the hub's git between the ref of a handoff
// and its lane.
func cutOff(t *testing.T, w *world, p *place, args ...string) {
	t.Helper()
	lane := filepath.Join(w.hub.Dir, lanes)
	r, _ := trapped(t, p.command(args...), func(_ int, p point) verdict {
		if p.call == "rename" && strings.HasPrefix(filepath.Clean(p.path), lane) {
			return verdict{dies: both}
		}
		return verdict{}
	})
	require.Equal(t, -1, r.code, "%s", r)
	removeDeadLocks(t, w, w.at("boss"), w.at("fixer"))
}

// forget makes a clone one that never took part: it holds nothing, and has begun
// nothing.
func (p *place) forget(t *testing.T) {
	t.Helper()
	for _, dir := range []string{"claims", "intents"} {
		found, err := filepath.Glob(filepath.Join(p.Git(t, "rev-parse", "--absolute-git-dir"), "githandoff", dir))
		require.NoError(t, err)
		for _, name := range found {
			require.NoError(t, os.RemoveAll(name))
		}
	}
}

// A hub's git dies between the two refs of a step, and the clone that took it is gone.
// Every other clone reads the state from the lane: the next agent takes the handoff
// and ends it, and its source or a person can take it back.
func TestHalfAStepSeenFromElsewhere(t *testing.T) {
	for name, goesOn := range map[string]func(t *testing.T, boss, fixer *place, id string){
		"taken by id": func(t *testing.T, _, fixer *place, id string) {
			fixer.must(t, "resume", id)
			fixer.must(t, "ack")
		},
		"taken": func(t *testing.T, _, fixer *place, _ string) {
			fixer.must(t, "resume")
			fixer.must(t, "progress", "-m", "half way")
			fixer.must(t, "ack")
		},
		"revoked": func(t *testing.T, boss, _ *place, id string) { boss.must(t, "revoke", id) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			boss, fixer := w.pair(t)
			id := boss.must(t, "emit", "--to", elsewhere, "--goal", "g")
			cutOff(t, w, fixer, "resume")
			fixer.forget(t)
			goesOn(t, boss, fixer, id)
			boss.must(t, "sync")
			assert.Empty(t, open(t, w.hub, inbox))
			sound(t, w.hub)
			boss.audited(t)
		})
	}
}
