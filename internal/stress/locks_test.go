package stress

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
	"githandoff/internal/gittest"
)

// dead makes a lock as a killed git leaves it: an empty file that no process has open.
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
	old   = 11 * time.Second // older than the age from which doctor considers a lock dead
)

// mended checks that doctor leaves a young lock alone and removes an old one.
func mended(t testing.TB, p *gittest.Repo, lock string) {
	t.Helper()
	grow(t, lock, young)
	p.Refuses(t, 1, nil, "doctor", "--fix")
	assert.FileExists(t, lock, "it may be alive: it is younger than 10 s")
	grow(t, lock, old)
	assert.Contains(t, p.Must(t, "doctor", "--fix"), "removed "+lock)
	assert.NoFileExists(t, lock)
}

// A dead git left a lock in the repository that is the home. The error names the lock and the command that
// removes it. Nothing is half done, and the command works once the lock is removed.
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
			w := gittest.NewFixture(t)
			boss := w.Agent(t, "boss")
			boss.Git(t, "config", "core.packedRefsTimeout", "10")
			id := boss.Must(t, "emit", "--to", "boss", "--goal", "g")
			boss.Git(t, "pack-refs", "--all")
			args := slices.Clone(tc.args)
			if i := slices.Index(args, "ID"); i >= 0 {
				args[i] = id
			}
			lock := dead(t, boss, tc.lock(id), young)
			before := boss.Git(t, "for-each-ref", "refs/handoffs")

			boss.Refuses(t, 8, []string{lock, "githandoff doctor --fix"}, args...)
			assert.Equal(t, before, boss.Git(t, "for-each-ref", "refs/handoffs"), "nothing was half done")
			mended(t, boss, lock)
			boss.Must(t, args...)
			sound(t, boss)
			audited(t, boss)
			consistent(t, census(t, boss))
		})
	}
}

// A lock in this clone that blocks a fetch is not reported as a fault of the hub.
func TestDeadLockOfFetch(t *testing.T) {
	for name, lockOf := range map[string]func(namespace, id string) string{
		"inbox": func(namespace, id string) string { return namespace + "/inbox/fixer/" + id + ".lock" },
		"lane":  func(namespace, id string) string { return namespace + "/log/" + id[len(id)-2:] + ".lock" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, boss, fixer := gittest.NewPair(t)
			first := boss.Must(t, "emit", "--to", elsewhere, "--goal", "g")
			fixer.Must(t, "resume")
			fixer.Must(t, "ack")
			ref := fixer.Git(t, "for-each-ref", "--format=%(refname)", tracked+"/*/log/"+first[len(first)-2:])
			namespace := filepath.Dir(filepath.Dir(ref))

			id := boss.Must(t, "emit", "--to", elsewhere, "--goal", "g")
			lock := dead(t, fixer, lockOf(namespace, id), young)
			r := fixer.Refuses(t, 8, []string{lock, "githandoff doctor --fix"}, "resume")
			assert.NotContains(t, r.Stderr, "origin cannot")
			mended(t, fixer, lock)
			assert.Contains(t, fixer.Must(t, "resume"), id)
			sound(t, fixer)
		})
	}
}

// A dead lock at the hub is named as well, the step is kept, and doctor at the hub removes the lock.
func TestDeadLockAtHub(t *testing.T) {
	t.Parallel()
	w, boss, fixer := gittest.NewPair(t)
	hub := w.At("hub.git")
	id := boss.Must(t, "emit", "--to", elsewhere, "--goal", "g")
	lock := dead(t, hub, lanes+"/"+id[len(id)-2:]+".lock", young)

	clears := "env " + fault.Arg("GIT_DIR="+hub.Dir) + " githandoff doctor --fix"
	fixer.Refuses(t, 8, []string{lock, "hint: " + clears}, "resume")
	assert.Equal(t, []string{"offered"}, events(t, hub, id))
	mended(t, hub, lock)
	fixer.Must(t, "resume")

	lock = dead(t, hub, inbox+"/fixer/"+id+".lock", young)
	fixer.Refuses(t, 8, []string{lock, "the step is kept", "hint: " + clears, "hint: githandoff sync"}, "ack")
	mended(t, hub, lock)
	assert.Contains(t, fixer.Must(t, "sync"), "acknowledged "+id)
	assert.Contains(t, boss.Must(t, "sync"), "acknowledged "+id)
	sound(t, hub)
	sound(t, fixer)
	audited(t, fixer)
}

// Notes are optional: a lock on their ref causes a warning, and the step is taken. A later sync writes the note.
func TestDeadLockOfNotes(t *testing.T) {
	t.Parallel()
	w := gittest.NewFixture(t)
	boss := w.Agent(t, "boss")
	lock := dead(t, boss, "refs/notes/handoffs.lock", young)
	r := boss.Run(t, "emit", "--to", "boss", "--goal", "g")
	require.Zero(t, r.Code, "%s", r)
	assert.Contains(t, r.Stderr, lock)
	mended(t, boss, lock)
	boss.Must(t, "sync")
	note := boss.Git(t, "notes", "--ref=handoffs", "show", "HEAD")
	assert.Contains(t, note, " offered "+handoffID.FindString(r.Stdout)+" ")
	sound(t, boss)
}
