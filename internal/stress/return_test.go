package stress

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// copyAs copies a place with all that it knows, as a backup does.
func (w *world) copyAs(t testing.TB, p *place, name string) *place {
	t.Helper()
	q := w.at(name)
	out, err := exec.Command("cp", "-a", p.Dir, q.Dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return q
}

// A clone that was away, and still tracks a handoff that was acknowledged since,
// does not bring it back, and cannot take it.
func TestAwayWhileItEnded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	boss, fixer := w.pair(t)
	id := boss.must(t, "emit", "--to", elsewhere, "--goal", "g")
	away := w.twin(t, "away", "fixer", "boss")
	assert.Contains(t, away.must(t, "inbox"), id)
	oldBoss := w.copyAs(t, boss, "oldboss")
	fixer.must(t, "resume")
	holding := w.copyAs(t, fixer, "holding") // also remembers the claim
	fixer.must(t, "ack")

	assert.Contains(t, open(t, away.Repo, tracked), id, "it has not heard")
	away.refuses(t, 5, []string{"acknowledged by fixer"}, "resume", id)
	away.refuses(t, 3, []string{"nothing waits"}, "resume")
	away.must(t, "sync")
	assert.Empty(t, away.must(t, "inbox"))

	holding.refuses(t, 3, []string{"nothing waits"}, "resume")
	holding.refuses(t, 5, []string{"was acknowledged by fixer"}, "progress", id)
	holding.must(t, "sync")

	for _, p := range []*place{boss, oldBoss} {
		assert.Contains(t, p.must(t, "sync"), "acknowledged "+id)
		assert.Empty(t, open(t, p.Repo, sent, outbox))
		assert.Empty(t, p.must(t, "sync"))
	}
	consistent(t, census(t, w.hub, boss.Repo, fixer.Repo, away.Repo, oldBoss.Repo, holding.Repo))
	for _, p := range []*place{boss, fixer, away, oldBoss, holding} {
		sound(t, p.Repo)
		p.audited(t)
	}
	sound(t, w.hub)
}

// A copy of the sender that still has the handoff in its outbox, and never saw
// the lane, delivers it once more: the hub remembers.
func TestLateDelivery(t *testing.T) {
	for name, upTo := range map[string]string{"offered": "", "claimed": "resume", "acknowledged": "ack"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			boss, fixer := w.pair(t)
			id := boss.must(t, "emit", "--to", elsewhere, "--goal", "g", "--queue")
			late := w.copyAs(t, boss, "late")
			boss.must(t, "sync")
			want := []string{"offered"}
			if upTo != "" {
				fixer.must(t, "resume")
				want = append(want, "claimed")
			}
			if upTo == "ack" {
				fixer.must(t, "ack")
				boss.must(t, "sync")
				want = append(want, "acknowledged")
			}
			refs := w.hub.Git(t, "for-each-ref", inbox, lanes)

			late.must(t, "sync")
			assert.Equal(t, refs, w.hub.Git(t, "for-each-ref", inbox, lanes), "the hub is as it was")
			assert.Empty(t, open(t, late.Repo, outbox))
			assert.Equal(t, want, events(t, w.hub, id))
			if upTo == "ack" {
				assert.Empty(t, open(t, late.Repo, sent))
			}
			sound(t, late.Repo)
			late.audited(t)
			consistent(t, census(t, w.hub, boss.Repo, fixer.Repo))
		})
	}
}

// A hub that lost the inbox ref, and nothing of its log, is given it again,
// unless its log says, rightly or not, that it is over.
func TestRedelivery(t *testing.T) {
	lose := func(t *testing.T, w *world, id string) {
		t.Helper()
		w.hub.Git(t, "update-ref", "-d", inbox+"/fixer/"+id)
	}
	t.Run("offered", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		boss, fixer := w.pair(t)
		id := boss.must(t, "emit", "--to", elsewhere, "--goal", "g")
		lose(t, w, id)
		fixer.refuses(t, 3, nil, "resume")
		assert.Contains(t, boss.must(t, "sync"), "delivered "+id)
		assert.Equal(t, []string{id}, open(t, w.hub, inbox))
		assert.Empty(t, boss.must(t, "sync"), "once is enough")
		fixer.must(t, "resume")
		fixer.must(t, "ack")
		assert.Contains(t, boss.must(t, "sync"), "acknowledged "+id)
		boss.audited(t)
		fixer.audited(t)
	})
	t.Run("claimed", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		boss, fixer := w.pair(t)
		id := boss.must(t, "emit", "--to", elsewhere, "--goal", "g")
		fixer.must(t, "resume")
		lose(t, w, id)
		fixer.refuses(t, 3, []string{"payload is gone", "sync"}, "progress")
		assert.Contains(t, boss.must(t, "sync"), "delivered "+id)
		assert.Empty(t, boss.must(t, "sync"), "once is enough")
		fixer.must(t, "progress", "-m", "it is still mine")
		w.twin(t, "other", "fixer", "boss").refuses(t, 5, []string{"is held by fixer"}, "resume", id)
		fixer.must(t, "ack")
		assert.Contains(t, boss.must(t, "sync"), "acknowledged "+id)
		assert.Empty(t, open(t, w.hub, inbox))
		boss.audited(t)
		fixer.audited(t)
	})
	t.Run("disputed", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		boss, fixer := w.pair(t)
		id := boss.must(t, "emit", "--to", elsewhere, "--goal", "g")
		fixer.must(t, "resume")
		fixer.must(t, "ack")
		require.NoError(t, os.Remove(filepath.Join(boss.Dir, ".git/githandoff/trust.json")))
		boss.must(t, "init", "--as", "boss") // forgets whom it trusted
		boss.refuses(t, 4, []string{"disputed"}, "sync")
		boss.refuses(t, 4, []string{"disputed"}, "sync")
		assert.Empty(t, open(t, w.hub, inbox), "it was not sent again")
		assert.Equal(t, []string{id}, open(t, boss.Repo, sent), "it is not settled either")
		r := boss.run(t, "audit")
		assert.Equal(t, 4, r.code, "%s", r)
		assert.Equal(t, []string{"offered", "claimed", "acknowledged"}, events(t, w.hub, id))
	})
}
