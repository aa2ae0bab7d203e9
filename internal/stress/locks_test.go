package stress

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
)

// dead leaves a lock as a git does that is killed: an empty file that no process
// has open.
func dead(t testing.TB, repo *gittest.Repo, name string, age time.Duration) string {
	t.Helper()
	path := filepath.Join(repo.Git(t, "rev-parse", "--absolute-git-dir"), name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, nil, 0o644))
	grow(t, path, age)
	return path
}

func grow(t testing.TB, path string, age time.Duration) {
	t.Helper()
	then := time.Now().Add(-age)
	require.NoError(t, os.Chtimes(path, then, then))
}

const (
	young = 3 * time.Second
	old   = 11 * time.Second // older than what doctor takes for dead
)

// mended checks that a young lock is left alone, and that an old one goes.
func (p *place) mended(t testing.TB, lock string) {
	t.Helper()
	grow(t, lock, young)
	p.refuses(t, 1, nil, "doctor", "--fix")
	assert.FileExists(t, lock, "it may be alive: it is younger than 10 s")
	grow(t, lock, old)
	assert.Contains(t, p.must(t, "doctor", "--fix"), "removed "+lock)
	assert.NoFileExists(t, lock)
}

// The lock of a git that died, in the repository that is the home, is named with
// the command that removes it; nothing is half done, and then all is as it was.
func TestDeadLock(t *testing.T) {
	inboxRef := func(id string) string { return inbox + "/boss/" + id + ".lock" }
	lane := func(id string) string { return lanes + "/" + id[len(id)-2:] + ".lock" }
	packed := func(string) string { return "packed-refs.lock" }
	halfPacked := func(string) string { return "packed-refs.new" }
	for name, tc := range map[string]struct {
		lock func(id string) string
		args []string
	}{
		"resume meets inbox ref":         {inboxRef, []string{"resume"}},
		"resume meets lane":              {lane, []string{"resume"}},
		"revoke meets lane":              {lane, []string{"revoke", "ID"}},
		"revoke meets packed refs":       {packed, []string{"revoke", "ID"}},
		"revoke meets half packed refs":  {halfPacked, []string{"revoke", "ID"}},
		"reroute meets packed refs":      {packed, []string{"reroute", "ID", "--to", "fixer"}},
		"reroute meets half packed refs": {halfPacked, []string{"reroute", "ID", "--to", "fixer"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			boss := w.agent(t, "boss", "boss")
			boss.Git(t, "config", "core.packedRefsTimeout", "10")
			id := boss.must(t, "emit", "--to", "boss", "--goal", "g")
			boss.Git(t, "pack-refs", "--all")
			args := slices.Clone(tc.args)
			if i := slices.Index(args, "ID"); i >= 0 {
				args[i] = id
			}
			lock := dead(t, boss.Repo, tc.lock(id), young)
			before := boss.Git(t, "for-each-ref", "refs/handoffs")

			boss.refuses(t, 8, []string{lock, "githandoff doctor --fix"}, args...)
			assert.Equal(t, before, boss.Git(t, "for-each-ref", "refs/handoffs"), "nothing was half done")
			boss.mended(t, lock)
			boss.must(t, args...)
			sound(t, boss.Repo)
			boss.audited(t)
			consistent(t, census(t, boss.Repo))
		})
	}
}

// A lock in the way of a fetch, left in this clone, is not the hub's fault.
func TestDeadLockOfFetch(t *testing.T) {
	for name, lockOf := range map[string]func(namespace, id string) string{
		"inbox": func(namespace, id string) string { return namespace + "/inbox/fixer/" + id + ".lock" },
		"lane":  func(namespace, id string) string { return namespace + "/log/" + id[len(id)-2:] + ".lock" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			boss, fixer := w.pair(t)
			first := boss.must(t, "emit", "--to", elsewhere, "--goal", "g")
			fixer.must(t, "resume")
			fixer.must(t, "ack")
			ref := fixer.Git(t, "for-each-ref", "--format=%(refname)", tracked+"/*/log/"+first[len(first)-2:])
			namespace := filepath.Dir(filepath.Dir(ref))

			id := boss.must(t, "emit", "--to", elsewhere, "--goal", "g")
			lock := dead(t, fixer.Repo, lockOf(namespace, id), young)
			r := fixer.refuses(t, 8, []string{lock, "githandoff doctor --fix"}, "resume")
			assert.NotContains(t, r.diag, "origin cannot")
			fixer.mended(t, lock)
			assert.Contains(t, fixer.must(t, "resume"), id)
			sound(t, fixer.Repo)
		})
	}
}

// At the hub the lock is named as well, the work is kept, and doctor there removes
// it.
func TestDeadLockAtHub(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	boss, fixer := w.pair(t)
	hub := w.at("hub.git")
	id := boss.must(t, "emit", "--to", elsewhere, "--goal", "g")
	lock := dead(t, hub.Repo, lanes+"/"+id[len(id)-2:]+".lock", young)

	clears := "githandoff -C " + hub.Dir + " doctor --fix"
	fixer.refuses(t, 8, []string{lock, "hint: " + clears}, "resume")
	assert.Equal(t, []string{"offered"}, events(t, hub.Repo, id))
	hub.mended(t, lock)
	fixer.must(t, "resume")

	lock = dead(t, hub.Repo, inbox+"/fixer/"+id+".lock", young)
	fixer.refuses(t, 8, []string{lock, "the step is kept", "hint: " + clears, "hint: githandoff sync"}, "ack")
	hub.mended(t, lock)
	assert.Contains(t, fixer.must(t, "sync"), "acknowledged "+id)
	assert.Contains(t, boss.must(t, "sync"), "acknowledged "+id)
	sound(t, hub.Repo)
	sound(t, fixer.Repo)
	fixer.audited(t)
}

// Notes are hints: the lock of their ref is warned of, and the step is taken.
// The note comes with a later sync.
func TestDeadLockOfNotes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	boss := w.agent(t, "boss", "boss")
	lock := dead(t, boss.Repo, "refs/notes/handoffs.lock", young)
	r := boss.run(t, "emit", "--to", "boss", "--goal", "g")
	require.Zero(t, r.code, "%s", r)
	assert.Contains(t, r.diag, lock)
	boss.mended(t, lock)
	boss.must(t, "sync")
	note := boss.Git(t, "notes", "--ref=handoffs", "show", "HEAD")
	assert.Contains(t, note, " offered "+handoffID.FindString(r.out)+" ")
	sound(t, boss.Repo)
}
