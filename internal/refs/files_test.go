package refs

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/gittest"
)

// looseRef writes the file of a ref with any content.
func looseRef(t *testing.T, repo *gittest.Repo, name, content string) {
	t.Helper()
	path := filepath.Join(repo.Dir, ".git", name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
}

// The value of a ref that is read from files is the one that git reads. Otherwise git is asked.
func TestReadRefLikeGit(t *testing.T) {
	env := gittest.Env(t)
	const name = "refs/handoffs/log/ab"
	for title, tc := range map[string]struct {
		make  func(r *gittest.Repo, one, two string)
		name  string // name of the ref; "" for the usual one
		byGit bool   // whether a process must answer
	}{
		"loose": {make: func(r *gittest.Repo, one, two string) { r.Git(t, "update-ref", name, one) }},
		"none":  {make: func(*gittest.Repo, string, string) {}},
		"packed": {make: func(r *gittest.Repo, one, two string) {
			r.Git(t, "update-ref", name, one)
			r.Git(t, "pack-refs", "--all")
		}},
		"packed, then moved": {make: func(r *gittest.Repo, one, two string) {
			r.Git(t, "update-ref", name, one)
			r.Git(t, "pack-refs", "--all")
			r.Git(t, "update-ref", name, two)
		}},
		"packed, then deleted": {make: func(r *gittest.Repo, one, two string) {
			r.Git(t, "update-ref", name, one)
			r.Git(t, "pack-refs", "--all")
			r.Git(t, "update-ref", "-d", name)
		}},
		"among many packed": {make: func(r *gittest.Repo, one, two string) {
			for i := range 40 {
				r.Git(t, "update-ref", fmt.Sprintf("refs/handoffs/log/%02x", i*5), two)
			}
			r.Git(t, "tag", "-a", "-m", "v", "v")
			r.Git(t, "update-ref", name, one)
			r.Git(t, "pack-refs", "--all")
		}},
		"a name that begins another": {make: func(r *gittest.Repo, one, two string) {
			r.Git(t, "update-ref", name+"c", one)
			r.Git(t, "pack-refs", "--all")
		}},
		"a directory left by other refs": {make: func(r *gittest.Repo, one, two string) {
			r.Git(t, "update-ref", name, one)
			r.Git(t, "pack-refs", "--all")
			require.NoError(t, os.MkdirAll(filepath.Join(r.Dir, ".git", name, "x"), 0o700))
		}},
		"below a ref":  {make: func(r *gittest.Repo, one, two string) { r.Git(t, "update-ref", name, one) }, name: name + "/c"},
		"no line feed": {make: func(r *gittest.Repo, one, two string) { looseRef(t, r, name, one) }},
		"another ref":  {make: func(r *gittest.Repo, one, two string) { r.Git(t, "symbolic-ref", name, "refs/heads/main") }, byGit: true},
		"another ref, by link": {make: func(r *gittest.Repo, one, two string) {
			looseRef(t, r, "refs/handoffs/log/x", two+"\n")
			require.NoError(t, os.Symlink("../../heads/main", filepath.Join(r.Dir, ".git", name)))
		}, byGit: true},
		"blanks behind the id": {make: func(r *gittest.Repo, one, two string) { looseRef(t, r, name, one+" \n") }, byGit: true},
		"a tag of a commit":    {make: func(r *gittest.Repo, one, two string) { r.Git(t, "tag", "-a", "-m", "v", "v") }, name: "refs/tags/v"},
		"of one worktree":      {make: func(r *gittest.Repo, one, two string) { r.Git(t, "update-ref", "refs/worktree/x", one) }, name: "refs/worktree/x", byGit: true},
		"where git keeps refs in another way": {make: func(r *gittest.Repo, one, two string) {
			r.Git(t, "update-ref", name, one)
			require.NoError(t, os.Mkdir(filepath.Join(r.Dir, ".git/reftable"), 0o700))
		}, byGit: true},
		"packed by hand, in no order": {make: func(r *gittest.Repo, one, two string) {
			looseRef(t, r, "packed-refs", fmt.Sprintf("%s refs/handoffs/log/z\n%s %s\n", two, one, name))
		}, byGit: true},
		"of a packed object": {make: func(r *gittest.Repo, one, two string) {
			r.Git(t, "update-ref", name, one)
			r.Git(t, "repack", "-adq")
		}, byGit: true},
		"not a name": {make: func(*gittest.Repo, string, string) {}, name: "refs/heads/../heads/main", byGit: true},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			repo := gittest.NewRepo(t, env)
			repo.Commit(t, "a", "1", "one")
			repo.Commit(t, "a", "2", "two")
			tc.make(repo, repo.Git(t, "rev-parse", "HEAD^"), repo.Git(t, "rev-parse", "HEAD"))
			ref := name
			if tc.name != "" {
				ref = tc.name
			}
			run := &gitexec.Runner{Dir: repo.Dir, Env: gitexec.Environ(env)}
			r, err := Open(t.Context(), run)
			require.NoError(t, err)
			t.Cleanup(r.Close)
			before := run.Started()
			got, err := r.Read(t.Context(), ref, 1<<20)
			require.NoError(t, err)
			assert.Equal(t, tc.byGit, run.Started() > before)
			want, err := r.reader.read(ref, 1<<20)
			require.NoError(t, err)
			assert.Equal(t, want, got)
		})
	}
}

// The lists of refs are those of git, whatever the refs are.
func TestListLikeGit(t *testing.T) {
	env := gittest.Env(t)
	mixed := func(r *gittest.Repo, one, two string) {
		for i := range 9 {
			r.Git(t, "update-ref", fmt.Sprintf("refs/handoffs/inbox/fixer/ho_%d", i), one)
			r.Git(t, "update-ref", fmt.Sprintf("refs/handoffs/inbox/fixer-2/ho_%d", i), two)
			r.Git(t, "update-ref", fmt.Sprintf("refs/handoffs/remotes/%d/keys/ab", i), two)
			r.Git(t, "update-ref", fmt.Sprintf("refs/handoffs/remotes/%d/log/ab", i), two)
		}
		r.Git(t, "tag", "-a", "-m", "v", "v")
		r.Git(t, "pack-refs", "--all")
		r.Git(t, "update-ref", "refs/handoffs/inbox/fixer/ho_3", two)
		r.Git(t, "update-ref", "refs/handoffs/inbox/fixer/ho_11", two)
		r.Git(t, "update-ref", "-d", "refs/handoffs/inbox/fixer/ho_4")
		r.Git(t, "update-ref", "refs/handoffs/inbox/alone", two)
	}
	patterns := [][]string{
		{"refs/handoffs/"},
		{"refs/handoffs/inbox/fixer/"},
		{"refs/handoffs/inbox/fixer"},
		{"refs/handoffs/inbox/alone"},
		{"refs/handoffs/inbox/alone/"},
		{"refs/handoffs/none/"},
		{"refs/handoffs/remotes/*/keys/*"},
		{"refs/handoffs/remotes/*/keys/ab", "refs/handoffs/inbox/"},
		{"refs/handoffs/inbox/", "refs/handoffs/inbox/fixer/"},
		{"refs/handoffs/inbox/fix*"},
		{"refs/heads/", "refs/tags/"},
		{"refs/heads/m?in"},
		{"refs"},
		{"refs/"},
	}
	for title, tc := range map[string]struct {
		make    func(r *gittest.Repo, one, two string)
		byGit   int  // number of lists that need a process
		refused bool // whether a list that matches ho_7, whose file is damaged, is refused
	}{
		"mixed": {make: mixed, byGit: 3},
		"none":  {make: func(*gittest.Repo, string, string) {}, byGit: 3},
		"damaged": {func(r *gittest.Repo, one, two string) {
			mixed(r, one, two)
			looseRef(t, r, "refs/handoffs/inbox/fixer/ho_7", "")
		}, 9, true},
		"another ref": {func(r *gittest.Repo, one, two string) {
			mixed(r, one, two)
			r.Git(t, "symbolic-ref", "refs/handoffs/inbox/fixer/ho_7", "refs/heads/main")
		}, 9, false},
		"an object that is gone": {func(r *gittest.Repo, one, two string) {
			mixed(r, one, two)
			looseRef(t, r, "refs/handoffs/inbox/fixer/ho_7", strings.Repeat("ab", gittest.Objects().Digits()/2)+"\n")
		}, 3, false},
		"locks and directories": {func(r *gittest.Repo, one, two string) {
			mixed(r, one, two)
			looseRef(t, r, "refs/handoffs/inbox/fixer/ho_7.lock", "")
			require.NoError(t, os.MkdirAll(filepath.Join(r.Dir, ".git/refs/handoffs/inbox/fixer/ho_8/x"), 0o700))
		}, 3, false},
		"odd names": {func(r *gittest.Repo, one, two string) {
			mixed(r, one, two)
			r.Git(t, "update-ref", "refs/handoffs/inbox/ä", one)
			looseRef(t, r, "refs/handoffs/inbox/a b", one+"\n")
		}, 7, false},
		"another way": {func(r *gittest.Repo, one, two string) {
			mixed(r, one, two)
			require.NoError(t, os.Mkdir(filepath.Join(r.Dir, ".git/reftable"), 0o700))
		}, len(patterns), false},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			repo := gittest.NewRepo(t, env)
			repo.Commit(t, "a", "1", "one")
			repo.Commit(t, "a", "2", "two")
			tc.make(repo, repo.Git(t, "rev-parse", "HEAD^"), repo.Git(t, "rev-parse", "HEAD"))
			run := &gitexec.Runner{Dir: repo.Dir, Env: gitexec.Environ(env)}
			r, err := Open(t.Context(), run)
			require.NoError(t, err)
			t.Cleanup(r.Close)
			byGit := 0
			for _, p := range patterns {
				before := run.Started()
				got, err := r.List(t.Context(), p...)
				byGit += int(run.Started() - before)
				if tc.refused && matchAny(p, "refs/handoffs/inbox/fixer/ho_7") {
					assert.True(t, fault.Is(err, fault.MissingObject), "%q: %v", p, err)
					continue
				}
				require.NoError(t, err)
				want, err := r.listing(t.Context(), "%(objectname) %(refname)", p)
				require.NoError(t, err)
				assert.ElementsMatch(t, want.Refs(), got, "%q", p)
				assert.True(t, slices.IsSortedFunc(got, func(a, b Ref) int { return strings.Compare(a.Name, b.Name) }), "%q", p)
			}
			assert.Equal(t, tc.byGit, byGit)
		})
	}
}

// A broken ref is an error of git, and is not read as a missing ref.
func TestReadBrokenRef(t *testing.T) {
	repo := gittest.NewRepo(t, gittest.Env(t))
	repo.Commit(t, "a", "1", "one")
	r := open(t, repo)
	for _, content := range []string{"", "no id\n", strings.Repeat("0", gittest.Objects().Digits()) + "\n", strings.Repeat("g", gittest.Objects().Digits()) + "\n"} {
		looseRef(t, repo, "refs/handoffs/log/ab", content)
		_, ok := r.tipInFiles("refs/handoffs/log/ab")
		assert.False(t, ok, "%q", content)
	}
}

// The file of an object is used only if its content matches the id, which covers type, size and content.
func TestReadLoose(t *testing.T) {
	dir := t.TempDir()
	file := func(oid, content string) {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, oid[:2]), 0o700))
		var b bytes.Buffer
		z := zlib.NewWriter(&b)
		_, err := z.Write([]byte(content))
		require.NoError(t, err)
		require.NoError(t, z.Close())
		require.NoError(t, os.WriteFile(filepath.Join(dir, oid[:2], oid[2:]), b.Bytes(), 0o600))
	}
	hello := NewObject(gittest.Objects(), "blob", []byte("hello"))
	file(hello.OID, "blob 5\x00hello")
	o, err := ReadLoose(dir, hello.OID, 5)
	require.NoError(t, err)
	assert.Equal(t, hello, o)
	_, err = ReadLoose(dir, hello.OID, 4)
	require.ErrorContains(t, err, "5 bytes, limit 4")
	_, err = ReadLoose(dir, absent, 5)
	require.ErrorIs(t, err, fs.ErrNotExist)
	for _, content := range []string{"", "blob", "blob 5", "blob 5\x00hell", "blob 5\x00hallo", "tree 5\x00hello", "blob 4\x00hello", "blob -1\x00", "note 5\x00hello", "blob 99999999999\x00x"} {
		file(hello.OID, content)
		_, err = ReadLoose(dir, hello.OID, 5)
		require.Error(t, err, "%q", content)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, hello.OID[:2], hello.OID[2:]), []byte("no zlib"), 0o600))
	_, err = ReadLoose(dir, hello.OID, 5)
	require.Error(t, err)
}

// While a git packs and moves a ref without end, each read finds one of the ref's values, and never an earlier
// value after a later one.
func TestReadRefBesidePacking(t *testing.T) {
	repo := gittest.NewRepo(t, gittest.Env(t))
	const name, rounds = "refs/handoffs/log/ab", 60
	number := map[string]int{}
	var commits []string
	for i := range rounds {
		c := repo.Git(t, "commit-tree", "-m", fmt.Sprint(i), repo.Git(t, "mktree"))
		commits, number[c] = append(commits, c), i
	}
	repo.Git(t, "update-ref", name, commits[0])
	r := open(t, repo)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i, c := range commits {
			_, _, _ = repo.TryGit("update-ref", name, c)
			if i%2 == 1 {
				_, _, _ = repo.TryGit("pack-refs", "--all", "--prune")
			}
		}
	}()
	last := 0
	for ended := false; !ended; {
		select {
		case <-done:
			ended = true
		default:
		}
		tip, ok := r.tipInFiles(name)
		require.True(t, ok)
		n, known := number[tip]
		require.True(t, known, "%q", tip)
		require.GreaterOrEqual(t, n, last)
		last = n
	}
	assert.Equal(t, rounds-1, last)
}

// A list with no patterns is empty and needs no process. git would list all refs.
func TestListOfNothing(t *testing.T) {
	env := gittest.Env(t)
	repo := gittest.NewRepo(t, env)
	repo.Commit(t, "a", "1", "one")
	r, err := Open(t.Context(), &gitexec.Runner{Dir: repo.Dir, Env: gitexec.Environ(env)})
	require.NoError(t, err)
	t.Cleanup(r.Close)
	before := r.Runner.Started()
	listing, whole, err := r.Listing(t.Context())
	require.NoError(t, err)
	assert.Empty(t, listing)
	assert.True(t, whole)
	list, err := r.List(t.Context())
	require.NoError(t, err)
	assert.Empty(t, list)
	assert.Equal(t, before, r.Runner.Started())
}
