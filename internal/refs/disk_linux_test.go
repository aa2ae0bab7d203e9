package refs

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
	"githandoff/internal/gittest"
)

// smallDisk makes a repository whose disk has room for size bytes.
func smallDisk(t *testing.T, size string) *gittest.Repo {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		gittest.Missing(t, "needs root, to mount a tmpfs: %v", err)
	}
	t.Cleanup(func() { assert.NoError(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
	repo := &gittest.Repo{Dir: dir, Env: gittest.Env(t)}
	repo.Git(t, "init", "--quiet", "--template=")
	return repo
}

func TestApplyOnAFullDisk(t *testing.T) {
	repo := smallDisk(t, "512k")
	r := open(t, repo)
	filler := filepath.Join(repo.Dir, "filler")
	f, err := os.Create(filler)
	require.NoError(t, err)
	_, err = f.Write(make([]byte, 1<<20))
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.NoError(t, f.Close())

	c := commit("no room")
	tx := Transaction{Edits: []Edit{{Ref: LocalNamespace.Lane(someID), New: c.OID}}, Objects: []*Object{emptyTree(), c}}
	err = r.Apply(t.Context(), tx)
	assert.True(t, fault.Is(err, "disk_full"), err)
	assert.Equal(t, fault.Unavailable, fault.CodeOf(err))
	assert.ErrorIs(t, err, syscall.ENOSPC)
	assert.NotEmpty(t, fault.As(err).Advice())
	assert.Empty(t, repo.Git(t, "for-each-ref"), "nothing was recorded")
	assertNoTemporaries(t, r)

	require.NoError(t, os.Remove(filler))
	require.NoError(t, r.Apply(t.Context(), tx), "the same again")
	assert.Equal(t, c.OID, repo.Git(t, "rev-parse", LocalNamespace.Lane(someID)))
	assert.Empty(t, repo.Git(t, "fsck", "--strict", "--no-progress"))
}

func TestApplyReadOnly(t *testing.T) {
	var repo *gittest.Repo
	if os.Geteuid() == 0 { // file modes do not restrict root
		repo = smallDisk(t, "1m")
		require.NoError(t, syscall.Mount("", repo.Dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	} else {
		repo = gittest.NewRepo(t, gittest.Env(t))
		objects := filepath.Join(repo.Dir, ".git/objects")
		require.NoError(t, os.Chmod(objects, 0o555))
		t.Cleanup(func() { assert.NoError(t, os.Chmod(objects, 0o755)) })
	}
	c := commit("may not")
	err := open(t, repo).Apply(t.Context(), Transaction{
		Edits: []Edit{{Ref: LocalNamespace.Lane(someID), New: c.OID}}, Objects: []*Object{c},
	})
	assert.True(t, fault.Is(err, "read_only"), err)
	assert.Equal(t, fault.Unavailable, fault.CodeOf(err))
	assert.Empty(t, repo.Git(t, "for-each-ref"))
}
