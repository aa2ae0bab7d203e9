package stress

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"githandoff/internal/gittest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// cutOff runs a command, and kills it and the hub's git after the ref of a handoff has moved and before its lane
// does.
func cutOff(t *testing.T, w *gittest.Fixture, p *gittest.Repo, args ...string) {
	t.Helper()
	lane := filepath.Join(w.Hub.Dir, lanes)
	r, _ := trapped(t, p.Command(t, args...), func(_ int, p point) verdict {
		if p.call == "rename" && strings.HasPrefix(filepath.Clean(p.path), lane) {
			return verdict{dies: both}
		}
		return verdict{}
	})
	require.Equal(t, -1, r.Code, "%s", r)
	removeDeadLocks(t, w, w.At("boss"), w.At("fixer"))
}

// forget makes p look like a clone that never took part: it holds nothing, has no unfinished step, and knows
// nothing of the hub.
func forget(t *testing.T, p *gittest.Repo) {
	t.Helper()
	for ref := range strings.FieldsSeq(p.Git(t, "for-each-ref", "--format=%(refname)", "refs/handoffs/")) {
		p.Git(t, "update-ref", "-d", ref)
	}
	private := filepath.Join(p.Git(t, "rev-parse", "--absolute-git-dir"), "githandoff")
	for _, dir := range []string{"claims", "hubs", "read"} {
		require.NoError(t, os.RemoveAll(filepath.Join(private, dir)))
	}
}

// A hub's git dies between the two refs of a step, and the clone that took the step is gone. Every other clone
// reads the state from the lane: the next agent takes the handoff and ends it, and its source or a person can
// withdraw it.
func TestHalfAStepSeenFromElsewhere(t *testing.T) {
	for name, goesOn := range map[string]func(t *testing.T, boss, fixer *gittest.Repo, id string){
		"taken by id": func(t *testing.T, _, fixer *gittest.Repo, id string) {
			fixer.Must(t, "resume", id)
			fixer.Must(t, "ack")
		},
		"taken": func(t *testing.T, _, fixer *gittest.Repo, _ string) {
			fixer.Must(t, "resume")
			fixer.Must(t, "progress", "-m", "half way")
			fixer.Must(t, "ack")
		},
		"revoked": func(t *testing.T, boss, _ *gittest.Repo, id string) { boss.Must(t, "revoke", id) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, boss, fixer := gittest.NewPair(t)
			id := boss.Must(t, "emit", "--to", elsewhere, "--goal", "g")
			cutOff(t, w, fixer, "resume")
			forget(t, fixer)
			goesOn(t, boss, fixer, id)
			boss.Must(t, "sync")
			assert.Empty(t, open(t, w.Hub, inbox))
			sound(t, w.Hub)
			audited(t, boss)
		})
	}
}
