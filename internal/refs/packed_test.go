package refs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
)

// If packed-refs is rewritten twice within one second, it can look unchanged to a running git: same inode, same
// size. Its new content is read nevertheless.
func TestResolveAfterPackedRefsWereRewritten(t *testing.T) {
	git := gittest.NewRepo(t, gittest.Env(t))
	repo := open(t, git)
	one, two := git.Commit(t, "a", "1", "one"), git.Commit(t, "a", "2", "two")
	git.Git(t, "update-ref", "refs/handoffs/log/aa", one)
	git.Git(t, "pack-refs", "--all")
	packed := filepath.Join(repo.CommonDir, "packed-refs")
	second := time.Now().Truncate(time.Second)
	require.NoError(t, os.Chtimes(packed, second, second))

	got, err := repo.Resolve(t.Context(), "refs/handoffs/log/aa")
	require.NoError(t, err)
	require.Equal(t, one, got)

	text, err := os.ReadFile(packed)
	require.NoError(t, err)
	moved := strings.Replace(string(text), one+" refs/handoffs/log/aa", two+" refs/handoffs/log/aa", 1)
	require.NoError(t, os.WriteFile(packed, []byte(moved), 0o644))
	require.NoError(t, os.Chtimes(packed, second, second.Add(time.Millisecond)))

	got, err = repo.Resolve(t.Context(), "refs/handoffs/log/aa")
	require.NoError(t, err)
	assert.Equal(t, two, got)

	err = repo.Apply(t.Context(), Transaction{Edits: []Edit{{Ref: "refs/handoffs/log/aa", Old: two, New: one}}})
	require.NoError(t, err)
}

// A pinned version of packed-refs differs from each later one, whatever its times and size are, and from an
// equal file that is written within the same second.
func TestPinPacked(t *testing.T) {
	repo, r, oid := threeCommits(t)
	path := filepath.Join(r.CommonDir, "packed-refs")
	none, err := pinPacked(r.CommonDir)
	require.NoError(t, err)
	assert.True(t, none.holds())
	repo.Git(t, "update-ref", "refs/handoffs/log/aa", oid[0])
	repo.Git(t, "pack-refs", "--all")
	assert.False(t, none.holds())
	pin, err := pinPacked(r.CommonDir)
	require.NoError(t, err)
	t.Cleanup(func() { _ = pin.file.Close() })
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	for range 20 {
		assert.True(t, pin.holds())
		require.NoError(t, os.WriteFile(path+".new", text, 0o644))
		require.NoError(t, os.Chtimes(path+".new", pin.info.ModTime(), pin.info.ModTime()))
		require.NoError(t, os.Rename(path, path+".old"))
		require.NoError(t, os.Rename(path+".new", path))
		assert.False(t, pin.holds())
		require.NoError(t, os.Rename(path+".old", path))
	}
	second := time.Now().Truncate(time.Second)
	require.NoError(t, os.Chtimes(path, second, second))
	again, err := pinPacked(r.CommonDir)
	require.NoError(t, err)
	t.Cleanup(func() { _ = again.file.Close() })
	require.NoError(t, os.Chtimes(path, second, second.Add(time.Millisecond)))
	assert.False(t, again.holds())
}

func TestPackMany(t *testing.T) {
	git := gittest.NewRepo(t, gittest.Env(t))
	repo := open(t, git)
	one := git.Commit(t, "a", "1", "one")
	namespace := Namespace("refs/handoffs/remotes/000102030405/")
	require.NoError(t, PackMany(t.Context(), repo, namespace), "there are none")
	add := func(agent string, n int) {
		var edits []Edit
		for i := range n {
			edits = append(edits, Edit{Ref: fmt.Sprintf("%sinbox/%s/%d", namespace, agent, i), New: one})
		}
		require.NoError(t, repo.Apply(t.Context(), Transaction{Edits: edits}))
	}
	add("fixer", manyLoose)
	require.NoError(t, PackMany(t.Context(), repo, namespace))
	require.NoFileExists(t, filepath.Join(repo.CommonDir, "packed-refs"), "git gc sees to as few")
	add("other", 1)
	require.NoError(t, PackMany(t.Context(), repo, "refs/handoffs/remotes/060708090a0b/"))
	require.NoFileExists(t, filepath.Join(repo.CommonDir, "packed-refs"), "they are elsewhere")
	require.NoError(t, PackMany(t.Context(), repo, namespace))
	assert.NoFileExists(t, filepath.Join(repo.CommonDir, string(namespace), "inbox/fixer/0"))
	list, err := repo.List(t.Context(), string(namespace))
	require.NoError(t, err)
	assert.Len(t, list, manyLoose+1)
}
