package refs_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/enginetest"
	"githandoff/internal/gittest"
	"githandoff/internal/refs"
)

// Only a file that does not contain its object is removed.
func TestDropDamaged(t *testing.T) {
	repo := gittest.NewFixture(t).NewRepo(t, "r")
	r := enginetest.Open(t, repo)
	oid := repo.Git(t, "rev-parse", "HEAD")
	file := filepath.Join(repo.Dir, ".git/objects", oid[:2], oid[2:])
	whole, err := os.ReadFile(file)
	require.NoError(t, err)
	other := repo.Git(t, "rev-parse", "HEAD^{tree}")
	foreign, err := os.ReadFile(filepath.Join(repo.Dir, ".git/objects", other[:2], other[2:]))
	require.NoError(t, err)

	require.NoError(t, r.Store.DropDamaged(oid))
	require.FileExists(t, file)
	for name, body := range map[string][]byte{
		"empty": nil, "zeros": make([]byte, len(whole)), "cut off": whole[:len(whole)-1], "half": whole[:len(whole)/2],
		"another object": foreign, "noise": bytes.Repeat([]byte("x"), 100),
	} {
		require.NoError(t, os.Remove(file))
		require.NoError(t, os.WriteFile(file, body, 0o444))
		require.NoError(t, r.Store.DropDamaged(oid), name)
		require.NoFileExists(t, file, name)
		require.NoError(t, os.WriteFile(file, whole, 0o644))
	}
	require.NoError(t, r.Store.DropDamaged(strings.Repeat("1", gittest.Objects().Digits())), "one that is not there")
}

// FindLost finds a ref whose history lacks an object, at any depth.
func TestFindLost(t *testing.T) {
	repo := gittest.NewFixture(t).NewRepo(t, "r")
	for _, text := range []string{"two\n", "three\n"} {
		repo.Commit(t, "dir/file", text, text)
	}
	repo.Git(t, "commit-graph", "write", "--reachable") // lets git know commits whose files are missing
	r := enginetest.Open(t, repo)
	list, err := r.List(t.Context(), "refs/heads/")
	require.NoError(t, err)
	lost, err := refs.FindLost(t.Context(), r, list)
	require.NoError(t, err)
	assert.Empty(t, lost)
	for _, rev := range []string{"HEAD", "HEAD~1", "HEAD~2", "HEAD^{tree}", "HEAD:dir", "HEAD~1:dir/file", "HEAD~2:README"} {
		oid := repo.Git(t, "rev-parse", rev)
		file := filepath.Join(repo.Dir, ".git/objects", oid[:2], oid[2:])
		require.NoError(t, os.Rename(file, file+"-away"))
		lost, err := refs.FindLost(t.Context(), r, list)
		require.NoError(t, err, rev)
		assert.Equal(t, []refs.Lost{{Ref: list[0], Object: oid}}, lost, rev)
		whole, err := refs.Connected(t.Context(), r, list)
		require.NoError(t, err, rev)
		assert.False(t, whole, rev)
		require.NoError(t, os.Rename(file+"-away", file))
	}
	whole, err := refs.Connected(t.Context(), r, list)
	require.NoError(t, err)
	assert.True(t, whole)
	whole, err = refs.Connected(t.Context(), r, nil)
	require.NoError(t, err)
	assert.True(t, whole, "no refs")
}

// A damaged object in a pack counts as lost.
func TestFindLostInAPack(t *testing.T) {
	repo := gittest.NewFixture(t).NewRepo(t, "r")
	repo.Commit(t, "file", strings.Repeat("one line\n", 99), "two")
	repo.Git(t, "repack", "-a", "-d", "-q")
	packs, err := filepath.Glob(filepath.Join(repo.Dir, ".git/objects/pack/*.pack"))
	require.NoError(t, err)
	require.Len(t, packs, 1)
	blob := repo.Git(t, "rev-parse", "HEAD:file")
	_, rest, _ := strings.Cut(repo.Git(t, "verify-pack", "-v", packs[0]), blob)
	at, err := strconv.Atoi(strings.Fields(rest)[3]) // the fields are type, size, size in the pack, offset
	require.NoError(t, err)
	b, err := os.ReadFile(packs[0])
	require.NoError(t, err)
	clear(b[at+4 : at+12])
	require.NoError(t, os.Chmod(packs[0], 0o644))
	require.NoError(t, os.WriteFile(packs[0], b, 0o644))

	list := []refs.Ref{{Name: "refs/heads/main", OID: repo.Git(t, "rev-parse", "HEAD")}}
	lost, err := refs.FindLost(t.Context(), enginetest.Open(t, repo), list)
	require.NoError(t, err)
	assert.Equal(t, []refs.Lost{{Ref: list[0], Object: blob}}, lost)
}

// Restore brings only the missing objects of refs from a scratch repository. An object that is lost there too
// does not prevent the others from being brought.
func TestRestore(t *testing.T) {
	repo := gittest.NewFixture(t).NewRepo(t, "r")
	for _, text := range []string{"two\n", "three\n"} {
		repo.Commit(t, "dir/file", text, text)
	}
	other := repo.Commit(t, "other", "not in the history of the ref", "other")
	repo.Git(t, "reset", "--quiet", "--hard", "HEAD~1")
	scratch, objects, copied := scratchCopy(t, repo)
	gone := repo.Git(t, "rev-parse", "HEAD~1:dir/file")
	brought := []string{
		repo.Git(t, "rev-parse", "HEAD:dir"), repo.Git(t, "rev-parse", "HEAD:dir/file"),
		repo.Git(t, "rev-parse", "HEAD~1^{tree}"), repo.Git(t, "rev-parse", "HEAD~2"), repo.Git(t, "rev-parse", "HEAD~2:README"),
	}
	for _, oid := range append(brought, gone, other) {
		require.NoError(t, os.Remove(loose(objects, oid)))
	}
	require.NoError(t, os.Remove(loose(copied, gone)))

	list := []refs.Ref{{Name: "refs/heads/main", OID: repo.Git(t, "rev-parse", "HEAD")}}
	lost, err := scratch.Restore(t.Context(), list)
	require.NoError(t, err)
	assert.Equal(t, []refs.Lost{{Ref: list[0], Object: gone}}, lost)
	for _, oid := range brought {
		assert.FileExists(t, loose(objects, oid))
	}
	assert.NoFileExists(t, loose(objects, other))
}

// An object that is too large for a handoff stays lost, and does not prevent the others from being brought.
func TestRestoreBesideAHugeObject(t *testing.T) {
	repo := gittest.NewFixture(t).NewRepo(t, "r")
	repo.Commit(t, "huge", strings.Repeat("\x00", 65<<20), "two")
	scratch, objects, _ := scratchCopy(t, repo)
	huge, small := repo.Git(t, "rev-parse", "HEAD:huge"), repo.Git(t, "rev-parse", "HEAD:README")
	for _, oid := range []string{huge, small} {
		require.NoError(t, os.Remove(loose(objects, oid)))
	}
	list := []refs.Ref{{Name: "refs/heads/main", OID: repo.Git(t, "rev-parse", "HEAD")}}
	lost, err := scratch.Restore(t.Context(), list)
	require.NoError(t, err)
	assert.Equal(t, []refs.Lost{{Ref: list[0], Object: huge}}, lost)
	assert.FileExists(t, loose(objects, small))
}

// scratchCopy returns a scratch repository with a copy of each object of repo, and the object directories of
// both.
func scratchCopy(t *testing.T, repo *gittest.Repo) (scratch *refs.Scratch, objects, copied string) {
	t.Helper()
	r := enginetest.Open(t, repo)
	scratch, err := refs.NewScratch(t.Context(), r)
	require.NoError(t, err)
	t.Cleanup(scratch.Close)
	copies, err := filepath.Glob(filepath.Join(r.Own(refs.ScratchName), "*", "objects"))
	require.NoError(t, err)
	require.Len(t, copies, 1)
	objects = filepath.Join(repo.Dir, ".git/objects")
	copied = copies[0]
	require.NoError(t, os.CopyFS(copied, os.DirFS(objects)))
	return scratch, objects, copied
}

// loose returns the path of a loose object in an object directory.
func loose(objects, oid string) string { return filepath.Join(objects, oid[:2], oid[2:]) }
