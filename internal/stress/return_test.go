package stress

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"githandoff/internal/gittest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// copyAs copies a clone with all its state, as a backup does.
func copyAs(t testing.TB, w *gittest.Fixture, p *gittest.Repo, name string) *gittest.Repo {
	t.Helper()
	q := w.At(name)
	out, err := exec.Command("cp", "-a", p.Dir, q.Dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return q
}

// A clone was away and still tracks a handoff that has been acknowledged meanwhile. It does not bring the
// handoff back and cannot take it.
func TestAwayWhileItEnded(t *testing.T) {
	t.Parallel()
	w, boss, fixer := gittest.NewPair(t)
	id := boss.Must(t, "emit", "--to", elsewhere, "--goal", "g")
	away := w.Twin(t, "away", "fixer", "boss")
	assert.Contains(t, away.Must(t, "inbox"), id)
	oldBoss := copyAs(t, w, boss, "oldboss")
	fixer.Must(t, "resume")
	holding := copyAs(t, w, fixer, "holding") // this copy also has the record of the claim
	fixer.Must(t, "ack")

	assert.Contains(t, open(t, away, tracked), id, "it has not heard")
	away.Refuses(t, 5, []string{"acknowledged by fixer"}, "resume", id)
	away.Refuses(t, 3, []string{"nothing waits"}, "resume")
	away.Must(t, "sync")
	assert.Empty(t, away.Must(t, "inbox"))

	holding.Refuses(t, 3, []string{"nothing waits"}, "resume")
	holding.Refuses(t, 5, []string{"was acknowledged by fixer"}, "progress", id)
	holding.Must(t, "sync")

	for _, p := range []*gittest.Repo{boss, oldBoss} {
		assert.Contains(t, p.Must(t, "sync"), "acknowledged "+id)
		assert.Empty(t, open(t, p, sent, outbox))
		assert.Empty(t, p.Must(t, "sync"))
	}
	consistent(t, census(t, w.Hub, boss, fixer, away, oldBoss, holding))
	for _, p := range []*gittest.Repo{boss, fixer, away, oldBoss, holding} {
		sound(t, p)
		audited(t, p)
	}
	sound(t, w.Hub)
}

// A copy of the sender's clone still has the handoff in its outbox and never saw the lane. It delivers the
// handoff again, and the hub already has it in its log.
func TestLateDelivery(t *testing.T) {
	for name, upTo := range map[string]string{"offered": "", "claimed": "resume", "acknowledged": "ack"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, boss, fixer := gittest.NewPair(t)
			id := boss.Must(t, "emit", "--to", elsewhere, "--goal", "g", "--queue")
			late := copyAs(t, w, boss, "late")
			boss.Must(t, "sync")
			want := []string{"offered"}
			if upTo != "" {
				fixer.Must(t, "resume")
				want = append(want, "claimed")
			}
			if upTo == "ack" {
				fixer.Must(t, "ack")
				boss.Must(t, "sync")
				want = append(want, "acknowledged")
			}
			refs := w.Hub.Git(t, "for-each-ref", inbox, lanes)

			late.Must(t, "sync")
			assert.Equal(t, refs, w.Hub.Git(t, "for-each-ref", inbox, lanes), "the hub is as it was")
			assert.Empty(t, open(t, late, outbox))
			assert.Equal(t, want, events(t, w.Hub, id))
			if upTo == "ack" {
				assert.Empty(t, open(t, late, sent))
			}
			sound(t, late)
			audited(t, late)
			consistent(t, census(t, w.Hub, boss, fixer))
		})
	}
}

// A hub lost an inbox ref but kept its log. The sender delivers the handoff again, unless the log says that it
// has ended, even if the sender disputes that.
func TestHubThatLostAnInboxRefGetsItAgain(t *testing.T) {
	lose := func(t *testing.T, w *gittest.Fixture, id string) {
		t.Helper()
		w.Hub.Git(t, "update-ref", "-d", inbox+"/fixer/"+id)
	}
	t.Run("offered", func(t *testing.T) {
		t.Parallel()
		w, boss, fixer := gittest.NewPair(t)
		id := boss.Must(t, "emit", "--to", elsewhere, "--goal", "g")
		lose(t, w, id)
		fixer.Refuses(t, 3, nil, "resume")
		assert.Contains(t, boss.Must(t, "sync"), "delivered "+id)
		assert.Equal(t, []string{id}, open(t, w.Hub, inbox))
		assert.Empty(t, boss.Must(t, "sync"), "once is enough")
		fixer.Must(t, "resume")
		fixer.Must(t, "ack")
		assert.Contains(t, boss.Must(t, "sync"), "acknowledged "+id)
		audited(t, boss)
		audited(t, fixer)
	})
	t.Run("claimed", func(t *testing.T) {
		t.Parallel()
		w, boss, fixer := gittest.NewPair(t)
		id := boss.Must(t, "emit", "--to", elsewhere, "--goal", "g")
		fixer.Must(t, "resume")
		lose(t, w, id)
		fixer.Refuses(t, 3, []string{"payload is missing", "sync"}, "progress")
		assert.Contains(t, boss.Must(t, "sync"), "delivered "+id)
		assert.Empty(t, boss.Must(t, "sync"), "once is enough")
		fixer.Must(t, "progress", "-m", "it is still mine")
		w.Twin(t, "other", "fixer", "boss").Refuses(t, 5, []string{"is held by fixer"}, "resume", id)
		fixer.Must(t, "ack")
		assert.Contains(t, boss.Must(t, "sync"), "acknowledged "+id)
		assert.Empty(t, open(t, w.Hub, inbox))
		audited(t, boss)
		audited(t, fixer)
	})
	t.Run("disputed", func(t *testing.T) {
		t.Parallel()
		w, boss, fixer := gittest.NewPair(t)
		id := boss.Must(t, "emit", "--to", elsewhere, "--goal", "g")
		fixer.Must(t, "resume")
		fixer.Must(t, "ack")
		require.NoError(t, os.Remove(filepath.Join(boss.Dir, ".git/githandoff/trust.json")))
		boss.Must(t, "init", "--as", "boss") // the new trust list has no keys of others
		boss.Refuses(t, 4, []string{"disputed"}, "sync")
		boss.Refuses(t, 4, []string{"disputed"}, "sync")
		assert.Empty(t, open(t, w.Hub, inbox), "it was not sent again")
		assert.Equal(t, []string{id}, open(t, boss, sent), "it is not settled either")
		r := boss.Run(t, "audit")
		assert.Equal(t, 4, r.Code, "%s", r)
		assert.Equal(t, []string{"offered", "claimed", "acknowledged"}, events(t, w.Hub, id))
	})
}
