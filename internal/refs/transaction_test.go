package refs

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
	"githandoff/internal/gittest"
)

// threeCommits returns a repository with three commits to move refs between.
func threeCommits(t *testing.T) (*gittest.Repo, *Repo, [3]string) {
	t.Helper()
	repo := gittest.NewRepo(t, gittest.Env(t))
	var oids [3]string
	for i := range oids {
		oids[i] = repo.Commit(t, "a", string(rune('0'+i)), "commit")
	}
	return repo, open(t, repo), oids
}

// all returns the refs below refs/handoffs, from name to object id.
func all(t *testing.T, repo *gittest.Repo) map[string]string {
	t.Helper()
	m := map[string]string{}
	for line := range strings.Lines(repo.Git(t, "for-each-ref", "--format=%(refname) %(objectname)", Root) + "\n") {
		if name, oid, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			m[name] = oid
		}
	}
	return m
}

func TestApply(t *testing.T) {
	repo, r, oid := threeCommits(t)
	const a, b, c = Root + "test/a", Root + "test/b", Root + "test/c"
	apply := func(edits ...Edit) error { return r.Apply(t.Context(), Transaction{Edits: edits}) }

	require.NoError(t, apply())
	require.NoError(t, apply(Edit{a, "", oid[0]}, Edit{b, "", oid[1]}))
	assert.Equal(t, map[string]string{a: oid[0], b: oid[1]}, all(t, repo))
	require.NoError(t, apply(Edit{a, oid[0], oid[1]}, Edit{b, oid[1], ""}, Edit{c, "", oid[2]}))
	assert.Equal(t, map[string]string{a: oid[1], c: oid[2]}, all(t, repo))
	repo.Git(t, "pack-refs", "--all")
	require.NoError(t, apply(Edit{a, oid[1], ""}, Edit{c, oid[2], oid[0]}))
	assert.Equal(t, map[string]string{c: oid[0]}, all(t, repo))
	require.NoError(t, apply(Edit{a, "", ""}, Edit{c, oid[0], oid[1]}), "a is absent, as expected")
	require.NoError(t, apply(Edit{c, oid[1], oid[1]}), "pinned, not moved")
	assert.Equal(t, map[string]string{c: oid[1]}, all(t, repo))
}

// If one ref does not have its expected value, no ref moves.
func TestApplyStale(t *testing.T) {
	repo, r, oid := threeCommits(t)
	const a, b = Root + "test/a", Root + "test/b"
	repo.Git(t, "update-ref", a, oid[0])
	for _, tc := range []struct {
		name string
		edit Edit
	}{
		{"update from another value", Edit{a, oid[1], oid[2]}},
		{"update of what is absent", Edit{Root + "test/x", oid[1], oid[2]}},
		{"create of what is there", Edit{a, "", oid[2]}},
		{"create of what is there, to the value it has", Edit{a, "", oid[0]}},
		{"delete of another value", Edit{a, oid[1], ""}},
		{"delete of what is absent", Edit{Root + "test/x", oid[1], ""}},
		{"absent is not so", Edit{a, "", ""}},
		{"pinned at another value", Edit{a, oid[1], oid[1]}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := r.Apply(t.Context(), Transaction{Edits: []Edit{{b, "", oid[0]}, tc.edit}})
			var stale *StaleError
			require.ErrorAs(t, err, &stale)
			assert.Equal(t, []string{tc.edit.Ref}, stale.Refs)
			assert.ErrorContains(t, err, tc.edit.Ref)
			assert.Equal(t, map[string]string{a: oid[0]}, all(t, repo), "nothing moved")
		})
	}
}

// A missing ref does not tell who deleted it, so a second acknowledgement is not a success.
func TestApplyDeletesOnce(t *testing.T) {
	repo, r, oid := threeCommits(t)
	repo.Git(t, "update-ref", Root+"test/a", oid[0])
	gone := Transaction{Edits: []Edit{{Root + "test/a", oid[0], ""}}}
	require.NoError(t, r.Apply(t.Context(), gone))
	var stale *StaleError
	require.ErrorAs(t, r.Apply(t.Context(), gone), &stale)
}

func TestApplyDirectoryConflict(t *testing.T) {
	t.Parallel()
	repo, r, oid := threeCommits(t)
	taken := Root + "test/a"
	repo.Git(t, "update-ref", taken, oid[0])
	repo.Git(t, "pack-refs", "--all")
	err := r.Apply(t.Context(), Transaction{Edits: []Edit{{Root + "test/b", "", oid[0]}, {taken + "/below", "", oid[0]}}})
	assert.Equal(t, fault.Unavailable, fault.CodeOf(err), err)
	assert.False(t, errors.As(err, new(*StaleError)))
	assert.Equal(t, map[string]string{taken: oid[0]}, all(t, repo))
}

func TestApplyMovesAsideInTheSameTransaction(t *testing.T) {
	repo, r, oid := threeCommits(t)
	inbox, lane, outbox := LocalNamespace.Inbox("fixer", someID), LocalNamespace.Lane(someID), Outbox("fixer", someID)
	repo.Git(t, "update-ref", outbox, oid[0])
	tx := Transaction{Edits: []Edit{{inbox, "", oid[0]}, {lane, "", oid[1]}}, LocalEdits: []Edit{{outbox, oid[1], ""}}}
	require.ErrorAs(t, r.Apply(t.Context(), tx), new(*StaleError))
	assert.Equal(t, map[string]string{outbox: oid[0]}, all(t, repo))
	tx.LocalEdits[0].Old = oid[0]
	require.NoError(t, r.Apply(t.Context(), tx))
	assert.Equal(t, map[string]string{inbox: oid[0], lane: oid[1]}, all(t, repo))
}

// A git that is killed leaves the first edits of a transaction. In each such state the payload has a ref, and a
// receipt has its lane entry.
func TestDeletionsComeLast(t *testing.T) {
	tx := Transaction{
		Edits:      []Edit{{"inbox/a", "1", ""}, {"inbox/b", "", "2"}, {"lane", "3", "4"}},
		LocalEdits: []Edit{{"outbox", "5", ""}, {"sent", "", "5"}},
	}
	edits := tx.inOrder()
	var names []string
	for _, e := range edits {
		names = append(names, e.Ref)
	}
	assert.Equal(t, []string{"inbox/b", "lane", "sent", "inbox/a", "outbox"}, names)
	assert.Equal(t, "create inbox/b 2\nupdate lane 4 3\ncreate sent 5\ndelete inbox/a 1\ndelete outbox 5\n", updateCommands(gittest.Objects(), edits))
	assert.Equal(t, "verify x "+gittest.Objects().Zero()+"\n", updateCommands(gittest.Objects(), []Edit{{"x", "", ""}}))
}

func TestApplyWritesObjectsFirst(t *testing.T) {
	t.Parallel()
	repo, r, _ := threeCommits(t)
	c := commit("new")
	err := r.Apply(t.Context(), Transaction{Edits: []Edit{{Root + "test/a", "", c.OID}}, Objects: []*Object{emptyTree(), c}})
	require.NoError(t, err)
	assert.Equal(t, "commit", repo.Git(t, "cat-file", "-t", Root+"test/a"))

	err = r.Apply(t.Context(), Transaction{Edits: []Edit{{Root + "test/b", "", absent}}})
	assert.Equal(t, fault.Unavailable, fault.CodeOf(err), "no ref leads to what is not there: %v", err)
	assert.NotContains(t, all(t, repo), Root+"test/b")
}

// If a gc removed the object of a new value, the error names it.
func TestApplyNamesALostObject(t *testing.T) {
	repo, r, oid := threeCommits(t)
	lost := repo.Git(t, "commit-tree", "-m", "lost", "HEAD^{tree}")
	require.NoError(t, os.Remove(filepath.Join(r.Objects, lost[:2], lost[2:])))
	a, b := Edit{Root + "a", "", oid[0]}, Edit{Root + "b", "", lost}
	err := r.Apply(t.Context(), Transaction{Edits: []Edit{a, b}})
	assert.True(t, fault.Is(err, fault.MissingObject), err)
	assert.ErrorContains(t, err, lost)
	assert.Empty(t, all(t, repo))
}

// The error names a lock that a dead git left, so that a user can remove it.
func TestApplyNamesTheLock(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, lock string
		edit       func(oid [3]string) Edit
	}{
		{"of the ref", Root + "log/0r.lock", func(oid [3]string) Edit { return Edit{Root + "log/0r", "", oid[0]} }},
		{"of packed refs", "packed-refs.lock", func(oid [3]string) Edit { return Edit{Root + "packed", oid[0], ""} }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			repo, r, oid := threeCommits(t)
			repo.Git(t, "config", "core.packedRefsTimeout", "10")
			repo.Git(t, "update-ref", Root+"packed", oid[0])
			repo.Git(t, "pack-refs", "--all")
			path := filepath.Join(r.CommonDir, tc.lock)
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			require.NoError(t, os.WriteFile(path, nil, 0o600))
			err := r.Apply(t.Context(), Transaction{Edits: []Edit{tc.edit(oid)}})
			assert.True(t, fault.Is(err, "locked"), err)
			assert.Equal(t, fault.Unavailable, fault.CodeOf(err))
			assert.ErrorContains(t, err, path)
			assert.Contains(t, fault.As(err).Advice(), "doctor --fix")

			require.NoError(t, os.Remove(path))
			assert.NoError(t, r.Apply(t.Context(), Transaction{Edits: []Edit{tc.edit(oid)}}))
		})
	}
}

// A lock that is old and that no process has open is reported after two tries, and not only after all of them.
func TestApplyNamesADeadLockSoon(t *testing.T) {
	t.Parallel()
	_, r, oid := threeCommits(t)
	path := filepath.Join(r.CommonDir, "packed-refs.lock")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	old := time.Now().Add(-2 * abandoned)
	require.NoError(t, os.Chtimes(path, old, old))
	require.NoError(t, r.Apply(t.Context(), Transaction{Edits: []Edit{{Root + "log/0r", "", oid[0]}}}))

	started := r.Runner.Started()
	err := r.Apply(t.Context(), Transaction{Edits: []Edit{{Root + "log/0r", oid[0], ""}}})
	assert.True(t, fault.Is(err, "locked"), err)
	assert.ErrorContains(t, err, path)
	assert.LessOrEqual(t, r.Runner.Started()-started, int64(2), "one git a try")
}

// A transaction waits for a lock that a running git holds for a moment.
func TestApplyWaitsForALock(t *testing.T) {
	t.Parallel()
	_, r, oid := threeCommits(t)
	path := filepath.Join(r.CommonDir, Root+"log/0r.lock")
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	removed := make(chan error)
	time.AfterFunc(200*time.Millisecond, func() { removed <- os.Remove(path) })
	assert.NoError(t, r.Apply(t.Context(), Transaction{Edits: []Edit{{Root + "log/0r", "", oid[0]}}}))
	assert.NoError(t, <-removed)
}

// Hooks of the repository do not run.
func TestApplyRunsNoHooks(t *testing.T) {
	repo, r, oid := threeCommits(t)
	hook := filepath.Join(repo.Dir, ".git/hooks/reference-transaction")
	require.NoError(t, os.WriteFile(hook, []byte("#!/bin/sh\nexit 1\n"), 0o755))
	_, _, code := repo.TryGit("update-ref", Root+"test/x", oid[0])
	require.NotZero(t, code, "the hook is a hook")
	assert.NoError(t, r.Apply(t.Context(), Transaction{Edits: []Edit{{Root + "test/a", "", oid[0]}}}))
}
