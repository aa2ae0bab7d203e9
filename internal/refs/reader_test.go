package refs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/gittest"
)

var absent = strings.Repeat("0", gittest.Objects().Digits()-2) + "ff"

func TestRead(t *testing.T) {
	repo := gittest.NewRepo(t, gittest.Env(t))
	oid := repo.Commit(t, "a", "hello\n", "first")
	r := open(t, repo)
	for _, name := range []string{oid, "HEAD", "refs/heads/main"} {
		o, err := r.Read(t.Context(), name, 1<<20)
		require.NoError(t, err)
		require.NotNil(t, o, name)
		assert.Equal(t, oid, o.OID)
		assert.Equal(t, "commit", o.Type)
		assert.Equal(t, repo.Git(t, "cat-file", "commit", oid)+"\n", string(o.Body))
	}
	blob, err := r.Read(t.Context(), repo.Git(t, "rev-parse", "HEAD:a"), 6)
	require.NoError(t, err)
	assert.Equal(t, &Object{OID: gittest.Objects().Hash("blob", []byte("hello\n")), Type: "blob", Body: []byte("hello\n")}, blob)

	for _, name := range []string{absent, "refs/heads/absent", "refs/handoffs/inbox/fixer/" + someID, "absent"} {
		o, err := r.Read(t.Context(), name, 1<<20)
		require.NoError(t, err, name)
		assert.Nil(t, o, name)
	}
	for _, name := range []string{"HEAD\nHEAD", "HEAD other"} {
		_, err := r.Read(t.Context(), name, 1<<20)
		assert.Error(t, err, "%q", name)
	}
	assert.LessOrEqual(t, r.Runner.Started(), int64(4), "one process for all reads, another after a refusal")
}

func TestReadTooLarge(t *testing.T) {
	repo := gittest.NewRepo(t, gittest.Env(t))
	repo.Commit(t, "a", "hello\n", "first")
	r := open(t, repo)
	blob := repo.Git(t, "rev-parse", "HEAD:a")
	_, err := r.Read(t.Context(), blob, 5)
	assert.True(t, fault.Is(err, "too_large"), err)
	assert.Equal(t, fault.Denied, fault.CodeOf(err))
	o, err := r.Read(t.Context(), blob, 6)
	require.NoError(t, err, "what was not read is not in the way of the next")
	assert.Equal(t, "hello\n", string(o.Body))
}

// The process ends with the context of Open, whatever a read was doing. That is not reported as a fault of git
// or of the repository.
func TestReadInterrupted(t *testing.T) {
	repo := gittest.NewRepo(t, gittest.Env(t))
	repo.Commit(t, "a", "hello\n", "first")
	ctx, interrupt := context.WithCancel(t.Context())
	r, err := Open(ctx, &gitexec.Runner{Dir: repo.Dir, Env: gitexec.Environ(repo.Env)})
	require.NoError(t, err)
	t.Cleanup(r.Close)
	_, err = r.Read(t.Context(), "HEAD", 1<<20)
	require.NoError(t, err)
	interrupt()
	for err == nil { // the process may still answer for a moment
		_, err = r.Read(t.Context(), "HEAD", 1<<20)
	}
	assert.ErrorIs(t, err, context.Canceled)
}

// git dies if an object that it found is gone before it reads it, for example because of a gc. It is asked
// again. An object that stays unreadable is an error, and is not reported as absent.
func TestReadGitEnded(t *testing.T) {
	repo := gittest.NewRepo(t, gittest.Env(t))
	oid := repo.Commit(t, "a", "hello\n", "first")
	loose := filepath.Join(repo.Dir, ".git", "objects", oid[:2], oid[2:])
	whole, err := os.ReadFile(loose)
	require.NoError(t, err)
	require.NoError(t, os.Chmod(loose, 0o600))

	half := append([]byte(nil), whole[:len(whole)-8]...)
	require.NoError(t, os.WriteFile(loose, half, 0o600))
	r := open(t, repo)
	for _, name := range []string{oid, "refs/heads/main"} {
		o, err := r.Read(t.Context(), name, 1<<20)
		require.ErrorIs(t, err, errEnded, name)
		assert.Nil(t, o)
	}

	launch, launched := r.reader.launch, 0
	r.reader.launch = func() (*gitexec.Process, error) {
		if launched++; launched == 2 {
			require.NoError(t, os.WriteFile(loose, whole, 0o600))
		}
		return launch()
	}
	o, err := r.Read(t.Context(), "refs/heads/main", 1<<20)
	require.NoError(t, err)
	assert.Equal(t, oid, o.OID)
	assert.Equal(t, 2, launched)
}

// git takes the size of an object from a damaged pack, and its content from the file in which the object was
// fetched again.
func TestReadOfAWrongSize(t *testing.T) {
	for name, third := range map[string]byte{"too small": 0, "too large": 0x7f} {
		t.Run(name, func(t *testing.T) {
			repo := gittest.NewRepo(t, gittest.Env(t))
			content := incompressible()
			oid, file, whole := packDamaged(t, repo, third)

			_, err := open(t, repo).Read(t.Context(), "refs/heads/main:a", 1<<20)
			require.True(t, fault.Is(err, fault.MissingObject), err)

			require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
			require.NoError(t, os.WriteFile(file, whole, 0o600))
			require.NotContains(t, repo.Git(t, "cat-file", "-s", oid), "3000")
			r := open(t, repo)
			for _, name := range []string{oid, "refs/heads/main:a"} {
				for _, limit := range []int64{1 << 20, 4096} {
					o, err := r.Read(t.Context(), name, limit)
					require.NoError(t, err, name)
					assert.True(t, bytes.Equal(content, o.Body), name)
				}
			}
			tip, err := r.Read(t.Context(), "refs/heads/main^{tree}", 1<<20)
			require.NoError(t, err)
			assert.Equal(t, "tree", tip.Type)

			borrowed := t.TempDir()
			require.NoError(t, os.MkdirAll(filepath.Join(borrowed, oid[:2]), 0o700))
			require.NoError(t, os.Rename(file, filepath.Join(borrowed, oid[:2], oid[2:])))
			require.NoError(t, os.WriteFile(filepath.Join(repo.Dir, ".git", "objects", "info", "alternates"), []byte(borrowed+"\n"), 0o600))
			o, err := open(t, repo).Read(t.Context(), oid, 1<<20)
			require.NoError(t, err)
			assert.True(t, bytes.Equal(content, o.Body), "from an alternate")

			all, err := ReadAhead(t.Context(), r, "blob", slices.Values([]string{oid, oid}), 1<<20)
			require.NoError(t, err)
			assert.Nil(t, all.Take(oid), "the caller reads it by its id")
		})
	}
}

// What git announced and does not send is lost: the rest of an object is not waited for.
func TestReadHeadOfAWrongSize(t *testing.T) {
	repo := gittest.NewRepo(t, gittest.Env(t))
	oid, file, whole := packDamaged(t, repo, 0x7f)
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
	require.NoError(t, os.WriteFile(file, whole, 0o600))
	_, err := open(t, repo).ReadHead(t.Context(), oid, 1<<16)
	assert.True(t, fault.Is(err, fault.MissingObject), err)
}

// An object that is gone when it is read alone was lost.
func TestReadAloneOfALostObject(t *testing.T) {
	repo := gittest.NewRepo(t, gittest.Env(t))
	_, err := readAlone(t.Context(), open(t, repo), &Object{OID: absent, Type: "blob"}, 1<<20, errSize)
	assert.True(t, fault.Is(err, fault.MissingObject), err)
}

// incompressible returns the content of a file whose size has three bytes in a pack.
func incompressible() []byte {
	content := make([]byte, 3000)
	_, _ = rand.NewChaCha8([32]byte{}).Read(content)
	return content
}

// packDamaged commits a file into a pack with a wrong size for it, and returns the id of the file, and the object file
// in which it was before.
func packDamaged(t *testing.T, repo *gittest.Repo, third byte) (oid, file string, whole []byte) {
	t.Helper()
	repo.Commit(t, "a", string(incompressible()), "first")
	oid = repo.Git(t, "rev-parse", "HEAD:a")
	file = filepath.Join(repo.Dir, ".git", "objects", oid[:2], oid[2:])
	whole, err := os.ReadFile(file)
	require.NoError(t, err)
	repo.Git(t, "repack", "-adq")
	damageSize(t, repo, oid, third)
	return oid, file, whole
}

// damageSize sets the third byte of an object in a pack, which has the highest bits of its size.
func damageSize(t *testing.T, repo *gittest.Repo, oid string, third byte) {
	t.Helper()
	packs, err := filepath.Glob(filepath.Join(repo.Dir, ".git", "objects", "pack", "*.pack"))
	require.NoError(t, err)
	require.Len(t, packs, 1)
	pack, err := os.ReadFile(packs[0])
	require.NoError(t, err)
	for line := range strings.Lines(repo.Git(t, "verify-pack", "-v", packs[0])) {
		if f := strings.Fields(line); f[0] == oid {
			at, err := strconv.Atoi(f[4])
			require.NoError(t, err)
			pack[at+2] = third
		}
	}
	require.NoError(t, os.Remove(packs[0]))
	require.NoError(t, os.WriteFile(packs[0], pack, 0o600))
}

// A reader that is already running finds the objects that another process repacks, packs or adds.
func TestReadBesideRepack(t *testing.T) {
	repo := gittest.NewRepo(t, gittest.Env(t))
	var oids []string
	for i := range 5 {
		oids = append(oids, repo.Commit(t, "a", fmt.Sprint(i), fmt.Sprint(i)))
	}
	r := open(t, repo)
	check := func(what string) {
		for _, oid := range oids {
			o, err := r.Read(t.Context(), oid, 1<<20)
			require.NoError(t, err, what)
			require.NotNil(t, o, what)
		}
		now, err := r.Resolve(t.Context(), "refs/heads/main")
		require.NoError(t, err)
		assert.Equal(t, oids[len(oids)-1], now, what)
	}
	check("loose")
	repo.Git(t, "repack", "-a", "-d", "-q")
	repo.Git(t, "pack-refs", "--all")
	check("packed")
	oids = append(oids, repo.Commit(t, "b", "b", "b"))
	check("loose beside packed")
	repo.Git(t, "gc", "--quiet", "--prune=now")
	check("after gc")
	repo.Git(t, "repack", "-a", "-d", "-q", "--depth=1", "-f")
	check("packed anew")
}

func TestReadFromManyGoroutines(t *testing.T) {
	repo := gittest.NewRepo(t, gittest.Env(t))
	repo.Commit(t, "a", "one\n", "one")
	repo.Commit(t, "b", "two\n", "two")
	r := open(t, repo)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			name, want := []string{"HEAD:a", "HEAD:b"}[i%2], []string{"one\n", "two\n"}[i%2]
			for range 50 {
				o, err := r.Read(t.Context(), name, 1<<10)
				if !assert.NoError(t, err) || !assert.NotNil(t, o) || !assert.Equal(t, want, string(o.Body)) {
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestResolve(t *testing.T) {
	repo := gittest.NewRepo(t, gittest.Env(t))
	oid := repo.Commit(t, "a", "x", "first")
	r := open(t, repo)
	got, err := r.Resolve(t.Context(), "refs/heads/main")
	require.NoError(t, err)
	assert.Equal(t, oid, got)
	got, err = r.Resolve(t.Context(), LocalNamespace.Lane(someID))
	require.NoError(t, err)
	assert.Empty(t, got)
	repo.Git(t, "update-ref", LocalNamespace.Lane(someID), oid)
	got, err = r.Resolve(t.Context(), LocalNamespace.Lane(someID))
	require.NoError(t, err)
	assert.Equal(t, oid, got, "made by another process")
}

func TestList(t *testing.T) {
	repo := gittest.NewRepo(t, gittest.Env(t))
	oid := repo.Commit(t, "a", "x", "first")
	names := []string{LocalNamespace.Inbox("a", otherID), LocalNamespace.Inbox("a", someID), LocalNamespace.Inbox("ab", someID)}
	for _, n := range names {
		repo.Git(t, "update-ref", n, oid)
	}
	repo.Git(t, "pack-refs", "--all")
	r := open(t, repo)
	for _, tc := range []struct {
		patterns []string
		want     []string
	}{
		{[]string{LocalNamespace.Inbox("a", "")}, []string{names[1], names[0]}},
		{[]string{names[2]}, []string{names[2]}},
		{[]string{Root + "inbox/*/" + someID}, []string{names[1], names[2]}},
		{[]string{LocalNamespace.Inbox("ab", ""), LocalNamespace.Inbox("a", "")}, []string{names[1], names[0], names[2]}},
		{[]string{Root + "outbox/"}, nil},
		{[]string{"--count=1"}, nil},
	} {
		list, err := r.List(t.Context(), tc.patterns...)
		require.NoError(t, err)
		var got []string
		for _, ref := range list {
			assert.Equal(t, oid, ref.OID)
			got = append(got, ref.Name)
		}
		assert.Equal(t, tc.want, got, tc.patterns)
	}
}

func TestRevParse(t *testing.T) {
	repo := gittest.NewRepo(t, gittest.Env(t))
	oid := repo.Commit(t, "a", "x", "first")
	r := open(t, repo)
	got, err := r.RevParse(t.Context(), oid[:8])
	require.NoError(t, err)
	assert.Equal(t, oid, got)
	for _, rev := range []string{"absent", "--all", "-h", "--git-dir"} {
		got, err := r.RevParse(t.Context(), rev)
		assert.Error(t, err, rev)
		assert.Empty(t, got, rev)
	}
}

func TestCommits(t *testing.T) {
	repo := gittest.NewRepo(t, gittest.Env(t))
	first := repo.Commit(t, "a", strings.Repeat("x", 2<<20), "first\n\nwith a body\n")
	repo.Git(t, "tag", "-m", "annotated", "v1")
	repo.Git(t, "update-ref", "refs/handoffs/test/a-blob", repo.Git(t, "rev-parse", "HEAD:a"))
	repo.Git(t, "update-ref", "refs/handoffs/test/b-commit", first)
	repo.Git(t, "update-ref", "refs/handoffs/test/c-tag", "v1")
	r := open(t, repo)
	got := map[string]string{}
	require.NoError(t, Commits(t.Context(), r, func(ref Ref, raw []byte) error {
		got[ref.Name] = string(raw)
		return nil
	}, "refs/handoffs/test/"))
	assert.Equal(t, map[string]string{
		"refs/handoffs/test/a-blob":   "",
		"refs/handoffs/test/b-commit": repo.Git(t, "cat-file", "commit", first) + "\n",
		"refs/handoffs/test/c-tag":    "",
	}, got)

	stop := errors.New("enough")
	assert.ErrorIs(t, Commits(t.Context(), r, func(Ref, []byte) error { return stop }, "refs/handoffs/test/"), stop)
}
