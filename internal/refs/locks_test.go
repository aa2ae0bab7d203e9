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

// lockFile makes a lock that looks as if git was killed an hour ago.
func lockFile(t *testing.T, r *Repo, name string) string {
	t.Helper()
	path := filepath.Join(r.CommonDir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
	require.NoError(t, os.WriteFile(path, nil, 0o666))
	hourAgo := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(path, hourAgo, hourAgo))
	return path
}

func locksOf(t *testing.T, r *Repo) map[string]Lock {
	t.Helper()
	list, err := r.Locks.List(time.Now())
	require.NoError(t, err)
	locks := map[string]Lock{}
	for _, l := range list {
		locks[l.Path] = l
	}
	return locks
}

func TestLocks(t *testing.T) {
	r := open(t, gittest.NewRepo(t, gittest.Env(t)))
	assert.Empty(t, locksOf(t, r))
	for _, name := range []string{
		"config.lock", "packed-refs.lock", "reftable/tables.list.lock", "reftable/0x01-0x02-ab.ref.lock", "refs/notes/handoffs.lock", "refs/handoffs/inbox/fixer/x.lock",
	} {
		path := lockFile(t, r, name)
		lock, found := locksOf(t, r)[path]
		require.True(t, found, name)
		assert.True(t, lock.Dead())
		assert.InDelta(t, time.Hour, lock.Age, float64(time.Minute))
		require.NoError(t, lock.Break())
		assert.NoFileExists(t, path)
		assert.NoError(t, lock.Break(), "gone already")
	}
	// Locks of other refs and files are not listed.
	lockFile(t, r, "index.lock")
	lockFile(t, r, "refs/heads/main.lock")
	assert.Empty(t, locksOf(t, r))
}

// git does not name the lock of reftables. The error of a step that the lock blocks does.
func TestLockOfReftables(t *testing.T) {
	r := open(t, gittest.NewRepo(t, gittest.Env(t)))
	path := lockFile(t, r, "reftable/tables.list.lock")
	edits := []Edit{{Ref: "refs/handoffs/inbox/fixer/x"}}
	before := r.Locks.standing(edits)
	assert.Equal(t, path, r.Locks.dead(edits, before))
	for _, err := range []error{r.Locks.refusal(edits, before, errors.New("cannot lock references")), r.Locks.Await(t.Context(), edits)} {
		assert.True(t, fault.Is(err, fault.Locked), "%v", err)
		assert.ErrorContains(t, err, path)
	}
}

func TestLocks_alive(t *testing.T) {
	r := open(t, gittest.NewRepo(t, gittest.Env(t)))
	path := lockFile(t, r, "config.lock")
	if _, err := os.Stat("/proc/self/fd"); err == nil {
		f, err := os.Open(path)
		require.NoError(t, err)
		held := locksOf(t, r)[path]
		require.NoError(t, f.Close())
		assert.Equal(t, os.Getpid(), held.Holder)
		assert.True(t, held.Looked)
		assert.False(t, held.Dead())
		assert.ErrorContains(t, held.Break(), "in use")
	}
	young, err := r.Locks.List(time.Now().Add(-time.Hour + 9*time.Second))
	require.NoError(t, err)
	require.Len(t, young, 1)
	assert.False(t, young[0].Dead())
	assert.Error(t, young[0].Break())

	// Another git takes the lock between the look and the removal.
	seen := locksOf(t, r)[path]
	require.True(t, seen.Dead())
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.WriteFile(path, nil, 0o666))
	assert.Error(t, seen.Break())
	assert.FileExists(t, path)
}

// A link in place of a directory of refs is followed, as git does it.
func TestBrokenBehindALinkedDirectory(t *testing.T) {
	repo, r, oids := threeCommits(t)
	for _, name := range []string{"refs/handoffs/log", "refs/handoffs"} {
		repo.Git(t, "update-ref", "refs/handoffs/log/aa", oids[0])
		dir, moved := filepath.Join(r.CommonDir, name), filepath.Join(t.TempDir(), "moved")
		require.NoError(t, os.Rename(dir, moved))
		require.NoError(t, os.Symlink(moved, dir))
		names, err := Broken(t.Context(), r)
		require.NoError(t, err)
		assert.Empty(t, names)
	}
}

func TestBroken(t *testing.T) {
	repo, r, oids := threeCommits(t)
	const whole, packed = "refs/handoffs/inbox/fixer/whole", "refs/handoffs/inbox/fixer/packed"
	repo.Git(t, "update-ref", packed, oids[0])
	repo.Git(t, "pack-refs", "--all")
	repo.Git(t, "update-ref", whole, oids[0])
	names, err := Broken(t.Context(), r)
	require.NoError(t, err)
	assert.Empty(t, names)

	write := func(name, content string) {
		path := filepath.Join(r.CommonDir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o666))
	}
	write("refs/handoffs/log/aa", "")
	write("refs/handoffs/log/bb", "not an object id\n")
	write("refs/handoffs/log/cc", strings.Repeat("1", gittest.Objects().Digits())+"\n")
	write("refs/handoffs/log/with space", oids[0]+"\n")
	write("refs/handoffs/log/dd.lock", "")
	write("refs/notes/handoffs", "")
	write(packed, "") // hides the packed ref
	write("refs/handoffs/log/ff", strings.Repeat("0", gittest.Objects().Digits())+"\n")
	write("refs/handoffs/log/gg", oids[0]+"x")
	write("refs/handoffs/log/hh", oids[0]+" x\n")
	write("refs/handoffs/log/ii", "ref: refs/handoffs/log/hh\n")
	write("refs/heads/code", "")
	damaged := []string{packed, "refs/handoffs/log/aa", "refs/handoffs/log/bb", "refs/handoffs/log/ff", "refs/handoffs/log/gg", "refs/notes/handoffs"}
	names, err = Damaged(r)
	require.NoError(t, err)
	assert.Equal(t, damaged, names)
	for _, name := range damaged {
		_, err := Broken(t.Context(), r)
		assert.True(t, fault.Is(err, fault.MissingObject), "%v", err)
		_, err = r.Resolve(t.Context(), name)
		assert.True(t, fault.Is(err, fault.MissingObject), "%s: %v", name, err)
		_, err = r.List(t.Context(), name)
		assert.True(t, fault.Is(err, fault.MissingObject), "%v", err)
		require.NoError(t, DropDamagedRef(r, name))
		assert.NoFileExists(t, filepath.Join(r.CommonDir, name+".lock"))
	}
	list, err := r.List(t.Context(), packed, "refs/heads/")
	require.NoError(t, err)
	assert.Equal(t, Ref{Name: packed, OID: oids[0]}, list[0])
	require.NoError(t, DropDamagedRef(r, whole))
	assert.FileExists(t, filepath.Join(r.CommonDir, whole))
	names, err = Broken(t.Context(), r)
	require.NoError(t, err)
	assert.Equal(t, []string{"refs/handoffs/log/cc", "refs/handoffs/log/with space"}, names)

	require.NoError(t, os.WriteFile(filepath.Join(r.CommonDir, "packed-refs"),
		[]byte("# pack-refs with: peeled fully-peeled sorted \n"+strings.Repeat("2", gittest.Objects().Digits())+" refs/handoffs/log/ee\n"), 0o666))
	names, err = Broken(t.Context(), r)
	require.NoError(t, err)
	assert.Contains(t, names, "refs/handoffs/log/ee")
}
