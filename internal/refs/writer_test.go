package refs

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
)

func TestWrite(t *testing.T) {
	repo := gittest.NewRepo(t, gittest.Env(t))
	r := open(t, repo)
	blob := NewObject(gittest.Objects(), "blob", []byte("hello\n"))
	assert.Equal(t, gittest.Objects().Hash("blob", blob.Body), blob.OID)
	big := NewObject(gittest.Objects(), "blob", []byte(strings.Repeat("0123456789abcdef", 1<<16)))
	c := commit("a commit")
	require.NoError(t, r.Store.Write(blob, emptyTree(), big, c))
	assert.Equal(t, gittest.Objects().EmptyTree(), emptyTree().OID)
	for _, o := range []*Object{blob, emptyTree(), big, c} {
		assert.Equal(t, o.Type, repo.Git(t, "cat-file", "-t", o.OID))
		got, err := r.Read(t.Context(), o.OID, 2<<20)
		require.NoError(t, err)
		assert.Equal(t, o.Body, append([]byte(nil), got.Body...))
	}
	repo.Git(t, "update-ref", "refs/heads/main", c.OID)
	repo.Git(t, "update-ref", "refs/tags/a", blob.OID)
	repo.Git(t, "update-ref", "refs/tags/b", big.OID)
	assert.Empty(t, repo.Git(t, "fsck", "--strict", "--no-progress"))
	assertNoTemporaries(t, r)
}

func assertNoTemporaries(t *testing.T, r *Repo) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(r.Objects, func(path string, d fs.DirEntry, err error) error {
		assert.NotContains(t, d.Name(), "tmp_")
		return err
	}))
}

// Writing an object that exists updates its time, so that a gc keeps it.
func TestWriteFreshens(t *testing.T) {
	repo := gittest.NewRepo(t, gittest.Env(t))
	r := open(t, repo)
	o := NewObject(gittest.Objects(), "blob", []byte("old\n"))
	require.NoError(t, r.Store.Write(o))
	old := time.Now().Add(-30 * 24 * time.Hour)
	require.NoError(t, os.Chtimes(r.Store.loosePath(o.OID), old, old))
	require.NoError(t, r.Store.Write(o))
	repo.Git(t, "prune", "--expire=1.hour.ago")
	assert.Equal(t, "old", repo.Git(t, "cat-file", "blob", o.OID))
}

// The modes are those that git itself uses in the same repository.
func TestWriteModes(t *testing.T) {
	for _, mask := range []int{0o022, 0o077} {
		for _, shared := range []string{"", "umask", "group", "all", "true", "false", "0", "1", "2", "0640", "0660", "0664", "0600", "world"} {
			t.Run(fmt.Sprintf("%s under %03o", shared, mask), func(t *testing.T) {
				before := syscall.Umask(mask)
				t.Cleanup(func() { syscall.Umask(before) })
				sameModes(t, shared)
			})
		}
	}
}

func sameModes(t *testing.T, shared string) {
	t.Helper()
	repo := gittest.NewRepo(t, gittest.Env(t))
	if shared != "" {
		repo.Git(t, "config", "core.sharedRepository", shared)
	}
	r := open(t, repo)
	require.NoError(t, os.WriteFile(filepath.Join(repo.Dir, "theirs"), []byte("theirs\n"), 0o600))
	theirs := repo.Git(t, "hash-object", "-w", "theirs")
	ours := NewObject(gittest.Objects(), "blob", []byte("ours\n"))
	require.NoError(t, r.Store.Write(ours))
	assert.Equal(t, mode(t, r.Store.loosePath(theirs)), mode(t, r.Store.loosePath(ours.OID)), "file")
	dir := mode(t, filepath.Dir(r.Store.loosePath(theirs)))
	if shared == "0600" && !gittest.HasGit(t, "2.36") {
		dir &^= fs.ModeSetgid // an older git gives a private directory the setgid bit of its parent
	}
	assert.Equal(t, dir, mode(t, filepath.Dir(r.Store.loosePath(ours.OID))), "directory")
}

func mode(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	require.NoError(t, err)
	return info.Mode()
}

// The trace of git says whether git synced the loose object that it wrote.
func TestFsyncFollowsGit(t *testing.T) {
	if !gittest.HasGit(t, "2.36") {
		gittest.Missing(t, "git 2.36 or later is missing, which has core.fsync and traces what it syncs")
	}
	for _, tc := range [][]string{
		{},
		{"core.fsync", "loose-object"},
		{"core.fsync", "objects"},
		{"core.fsync", "all"},
		{"core.fsync", "committed"},
		{"core.fsync", "added"},
		{"core.fsync", "none"},
		{"core.fsync", "default"},
		{"core.fsync", "reference"},
		{"core.fsync", "all,-loose-object"},
		{"core.fsync", "-loose-object,all"},
		{"core.fsync", "none,loose-object"},
		{"core.fsync", "loose-object,none"},
		{"core.fsync", "-all"},
		{"core.fsync", "all", "core.fsync", "none"},
		{"core.fsync", "none", "core.fsync", "all"},
		{"core.fsyncObjectFiles", "true"},
		{"core.fsyncObjectFiles", "true", "core.fsync", "none"},
		{"core.fsyncObjectFiles", "false", "core.fsync", "loose-object"},
	} {
		t.Run(strings.Join(tc, " "), func(t *testing.T) {
			t.Parallel()
			env, trace := gittest.Env(t), filepath.Join(t.TempDir(), "trace")
			repo := gittest.NewRepo(t, env)
			for i := 0; i < len(tc); i += 2 {
				repo.Git(t, "config", "--add", tc[i], tc[i+1])
			}
			require.NoError(t, os.WriteFile(filepath.Join(repo.Dir, "a"), []byte("a\n"), 0o600))
			traced := &gittest.Repo{Dir: repo.Dir, Env: append(env, "GIT_TRACE2_EVENT="+trace)}
			traced.Git(t, "hash-object", "-w", "a")
			b, err := os.ReadFile(trace)
			require.NoError(t, err)
			assert.Equal(t, strings.Contains(string(b), `hardware-flush"`), open(t, repo).Store.fsyncLoose())
		})
	}
}
