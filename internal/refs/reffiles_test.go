package refs

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gitexec"
	"githandoff/internal/gittest"
)

// Named lists the same refs as git, whether they are loose, packed or both, also beside tags, which have a
// second line in packed-refs.
func TestNamedLikeGit(t *testing.T) {
	git := gittest.NewRepo(t, gittest.Env(t))
	r := open(t, git)
	oid := git.Commit(t, "a", "1", "one")
	random := rand.New(rand.NewPCG(1, 2))
	const tags = "refs/tags/"
	prefixes := []string{
		"refs/aaa/", "refs/handoffs/inbox/a/", "refs/handoffs/inbox/fixer/", "refs/handoffs/inbox/fixer2/", "refs/handoffs/inbox/zz/", tags, "refs/zzz/", "refs/none/",
	}
	same := func(round string) {
		t.Helper()
		for _, some := range append([][]string{prefixes}, one(prefixes)...) {
			list, err := r.List(t.Context(), some...)
			require.NoError(t, err)
			var want []string
			for _, ref := range list {
				want = append(want, ref.Name)
			}
			slices.Sort(want)
			got, err := Named(t.Context(), r, some...)
			require.NoError(t, err)
			assert.Equal(t, want, got, "%s %s", round, some)
		}
	}
	same("nothing")
	for round := range 6 {
		var in strings.Builder
		for i := range 40 {
			prefix := prefixes[random.IntN(len(prefixes)-1)]
			name := strings.Repeat("n", 1+random.IntN(60)) + fmt.Sprint(round, "-", i)
			if prefix == tags {
				git.Git(t, "tag", "-a", "-m", "a tag", name)
				continue
			}
			fmt.Fprintf(&in, "create %s%s %s\n", prefix, name, oid)
		}
		_, err := r.Runner.Run(t.Context(), gitexec.Cmd{Args: []string{"update-ref", "--stdin"}, Stdin: strings.NewReader(in.String())})
		require.NoError(t, err)
		same(fmt.Sprint("loose ", round))
		if round%2 == 0 {
			git.Git(t, "pack-refs", "--all")
			same(fmt.Sprint("packed ", round))
		}
	}
}

func one(list []string) (each [][]string) {
	for _, s := range list {
		each = append(each, []string{s})
	}
	return each
}

// If packed-refs does not say that it is sorted, git is asked. An empty file needs no git.
func TestNamedReadsUnsortedPackedRefs(t *testing.T) {
	git := gittest.NewRepo(t, gittest.Env(t))
	r := open(t, git)
	oid := git.Commit(t, "a", "1", "one")
	path := filepath.Join(r.CommonDir, "packed-refs")
	content := oid + " refs/handoffs/inbox/b/two\n" + oid + " refs/handoffs/inbox/a/one\n"
	require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	names, err := Named(t.Context(), r, "refs/handoffs/inbox/a/")
	require.NoError(t, err)
	assert.Equal(t, []string{"refs/handoffs/inbox/a/one"}, names)
	require.NoError(t, os.WriteFile(path, nil, 0o644))
	names, err = Named(t.Context(), r, "refs/handoffs/inbox/a/")
	require.NoError(t, err)
	assert.Empty(t, names)
}

// Locate finds the same directories as git in plain cases. It finds none if the environment steers git, or if a
// directory may be a repository itself.
func TestLocateLikeGit(t *testing.T) {
	env := gittest.Env(t)
	git := gittest.NewRepo(t, env)
	git.Commit(t, "a", "1", "one")
	linked := filepath.Join(t.TempDir(), "linked")
	git.Git(t, "worktree", "add", "-q", "-b", "other", linked)
	below := filepath.Join(linked, "x", "y")
	require.NoError(t, os.MkdirAll(below, 0o755))
	for _, dir := range []string{git.Dir, linked, below} {
		r, err := Open(t.Context(), &gitexec.Runner{Dir: dir, Env: gitexec.Environ(env)})
		require.NoError(t, err)
		t.Cleanup(r.Close)
		d, ok := Locate(dir, env)
		require.True(t, ok)
		assert.Equal(t, Dirs{r.Worktree, r.GitDir, r.CommonDir}, d)
	}
	bare := gittest.NewBare(t, env)
	for _, dir := range []string{bare.Dir, filepath.Join(bare.Dir, "refs"), "/", "relative", filepath.Join(git.Dir, ".git", "refs")} {
		_, ok := Locate(dir, env)
		assert.False(t, ok, dir)
	}
	_, ok := Locate(git.Dir, append(slices.Clone(env), "GIT_DIR="+bare.Dir))
	assert.False(t, ok)
	ceiling := append(slices.Clone(env), "GIT_CEILING_DIRECTORIES="+linked)
	_, ok = Locate(below, ceiling)
	assert.False(t, ok)
	_, ok = Locate(linked, ceiling)
	assert.True(t, ok)
}

// A file ".git" is read only if git could have written it: nobody waits for a pipe, nor reads a huge file.
func TestLocateByHostileFile(t *testing.T) {
	env := gittest.Env(t)
	git := gittest.NewRepo(t, env)
	link := []byte("gitdir: " + filepath.Join(git.Dir, ".git") + "\n")
	dir := t.TempDir()
	own := filepath.Join(dir, ".git")
	require.NoError(t, os.WriteFile(own, link, 0o600))
	_, ok := Locate(dir, env)
	require.True(t, ok)
	require.NoError(t, os.WriteFile(own, append(link, bytes.Repeat([]byte("\n"), maxFile)...), 0o600))
	_, ok = Locate(dir, env)
	assert.False(t, ok)
	require.NoError(t, os.Remove(own))
	require.NoError(t, syscall.Mkfifo(own, 0o600))
	writer, err := os.OpenFile(own, os.O_RDWR, 0) // the pipe does not end
	require.NoError(t, err)
	defer writer.Close()
	_, ok = Locate(dir, env)
	assert.False(t, ok)
}
