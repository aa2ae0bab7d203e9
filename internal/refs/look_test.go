package refs

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
	"githandoff/internal/gittest"
)

// A ref whose object is missing is not reported as absent: it keeps its id, and reading the object fails.
func TestLostObjectIsNotAbsent(t *testing.T) {
	repo := gittest.NewRepo(t, gittest.Env(t))
	whole := repo.Commit(t, "a", "1", "one")
	dir, blob := repo.Git(t, "rev-parse", "HEAD^{tree}"), repo.Git(t, "rev-parse", "HEAD:a")
	repo.Git(t, "tag", "-a", "-m", "v", "v")
	lost := strings.Repeat("ab", gittest.Objects().Digits()/2)
	looseRef(t, repo, "refs/handoffs/sent/b/x", lost+"\n")
	looseRef(t, repo, "refs/worktree/x", lost+"\n") // only git reads this ref
	r := open(t, repo)
	missing := func(name string) {
		t.Helper()
		o, err := r.Read(t.Context(), name, 1<<20)
		assert.True(t, fault.Is(err, fault.MissingObject), "%s: %v", name, err)
		assert.Nil(t, o)
	}
	absent := func(names ...string) {
		t.Helper()
		for _, name := range names {
			o, err := r.Read(t.Context(), name, 1<<20)
			require.NoError(t, err, name)
			assert.Nil(t, o, name)
			oid, err := r.Resolve(t.Context(), name)
			require.NoError(t, err, name)
			assert.Empty(t, oid, name)
		}
	}
	for _, ref := range []string{"refs/handoffs/sent/b/x", "refs/worktree/x"} {
		missing(ref)
		missing(ref + "^{commit}")
		missing(ref + ":handoff.json")
		oid, err := r.Resolve(t.Context(), ref)
		require.NoError(t, err)
		assert.Equal(t, lost, oid)
	}
	missing(lost + ":handoff.json")
	absent("refs/handoffs/sent/b/y", "refs/worktree/y", "refs/handoffs/sent/b/y^{commit}", "refs/heads/main:b", "refs/heads/main:b/c", "HEAD:b",
		"refs/tags/v:b", blob+"^{tree}", "nosuch", "nosuch:a")
	repo.Git(t, "update-index", "--add", "--cacheinfo", "160000,"+lost+",module")
	absent(repo.Git(t, "write-tree") + ":module") // the commit is in another repository
	tree := func(mode string) string {            // only git reads these modes
		body := append([]byte(mode+" x\x00"), bytes.Repeat([]byte{0xab}, gittest.Objects().Digits()/2)...)
		return repo.GitIn(t, bytes.NewReader(body), "hash-object", "-w", "-t", "tree", "--literally", "--stdin")
	}
	absent(tree("160001")+":x", tree("100664")+":y")
	missing(tree("100664") + ":x")
	odd := repo.GitIn(t, strings.NewReader("no tag"), "hash-object", "-w", "-t", "tag", "--literally", "--stdin")
	_, err := r.Read(t.Context(), odd+"^{tree}", 1<<20)
	require.NoError(t, err, "git takes it for no tag")
	o, err := r.Read(t.Context(), lost, 1<<20)
	require.NoError(t, err)
	assert.Nil(t, o, "an id alone says nothing")

	for i, oid := range []string{blob, dir, whole} {
		require.NoError(t, os.Remove(r.Store.loosePath(oid)))
		missing("refs/heads/main:a")
		if i > 0 {
			missing("refs/heads/main^{tree}")
			missing("refs/tags/v^{tree}")
			missing("refs/heads/main:b")
		}
	}
}

// A git that packs objects moves one away while it is being read. The next look finds it, even without a gc.pid.
func TestReadWhileAnObjectMoves(t *testing.T) {
	repo := gittest.NewRepo(t, gittest.Env(t))
	oid := repo.Commit(t, "a", "1", "one")
	file := filepath.Join(repo.Dir, ".git/objects", oid[:2], oid[2:])
	gittest.WrapGit(t, fmt.Sprintf(`if test -e '%[1]s.away'; then
	read name
	mv '%[1]s.away' '%[1]s'
	echo "$name missing"
	exec cat >/dev/null
fi`, file))
	r := openOwn(t, repo)
	for _, name := range []string{oid, "refs/heads/main"} {
		require.NoError(t, os.Rename(file, file+".away"))
		r.reader.close()
		o, err := r.Read(t.Context(), name, 1<<20)
		require.NoError(t, err)
		require.NotNil(t, o, name)
		assert.Equal(t, oid, o.OID)
	}
}

// A gc has removed the object of a ref that moved a moment ago, and has ended. The process that moved the ref
// writes the object again a little later, and the read waits for that. The object of a ref that moved long ago
// is lost.
func TestReadSoonAfterAMove(t *testing.T) {
	const ref = "refs/handoffs/log/ab"
	for name, keep := range map[string]func(*gittest.Repo){
		"loose":  func(*gittest.Repo) {},
		"packed": func(repo *gittest.Repo) { repo.Git(t, "pack-refs", "--all") },
	} {
		t.Run(name, func(t *testing.T) {
			repo := gittest.NewRepo(t, gittest.Env(t))
			oid := repo.Commit(t, "a", "1", "one")
			file := filepath.Join(repo.Dir, ".git/objects", oid[:2], oid[2:])
			r := openOwn(t, repo)
			repo.Git(t, "update-ref", ref, oid)
			keep(repo)
			require.NoError(t, os.Rename(file, file+".away"))
			time.AfterFunc(settles/3, func() { _ = os.Rename(file+".away", file) })
			o, err := r.Read(t.Context(), ref, 1<<20)
			require.NoError(t, err)
			require.NotNil(t, o)

			require.NoError(t, os.Rename(file, file+".away"))
			r.reader.close()
			old := time.Now().Add(-time.Hour)
			for _, f := range []string{ref, "packed-refs"} {
				_ = os.Chtimes(filepath.Join(r.CommonDir, f), old, old) // only one of the two files exists
			}
			_, err = r.Read(t.Context(), ref, 1<<20)
			assert.True(t, fault.Is(err, fault.MissingObject), "%v", err)
		})
	}
}

// A delivery moves a handoff from the packed outbox to the sent handoffs, after the loose refs were read and
// before packed-refs is read. A list shows one of the two refs, and never none.
func TestListsSeeATransactionWhole(t *testing.T) {
	const from, to = "refs/handoffs/outbox/b/x", "refs/handoffs/sent/b/x"
	repo, r, oid := threeCommits(t)
	repo.Git(t, "update-ref", from, oid[0])
	repo.Git(t, "pack-refs", "--all")
	moved := 0
	loose, ok, err := atOnce(r, maps.Equal, func() (map[string]string, bool, error) {
		seen := map[string]string{}
		return seen, looseBelow(r, "refs/handoffs", seen), nil
	}, func(path string) (bool, error) {
		if moved++; moved == 1 {
			repo.GitIn(t, strings.NewReader(fmt.Sprintf("create %s %s\ndelete %s\n", to, oid[0], from)), "update-ref", "--stdin")
		}
		tip, ok, err := packedTip(path, from)
		assert.Empty(t, tip)
		return ok, err
	})
	require.NoError(t, err)
	assert.True(t, ok)
	assert.Equal(t, map[string]string{to: oid[0]}, loose)
	assert.Equal(t, 2, moved)

	// Only loose refs move, between the list of the first directory and that of the second.
	looked := 0
	names, ok, err := atOnce(r, slices.Equal[[]string], func() ([]string, bool, error) {
		var names []string
		for _, prefix := range []string{"refs/handoffs/outbox/b/", "refs/handoffs/sent/b/"} {
			some, err := looseNames(r, []string{prefix})
			require.NoError(t, err)
			names = append(names, some...)
			if looked++; looked == 1 {
				repo.GitIn(t, strings.NewReader(fmt.Sprintf("create %s %s\ndelete %s\n", from, oid[0], to)), "update-ref", "--stdin")
			}
		}
		return names, true, nil
	}, func(string) (bool, error) { return true, nil })
	require.NoError(t, err)
	assert.True(t, ok)
	assert.Equal(t, []string{from}, names)

	// If the files keep changing, git is asked instead.
	_, ok, err = atOnce(r, func(a, b int) bool { return a == b }, func() (int, bool, error) { looked++; return looked, true, nil },
		func(string) (bool, error) { return true, nil })
	require.NoError(t, err)
	assert.False(t, ok)
}

// Refs are listed and read while one git moves a handoff from ref to ref and others pack refs and objects
// without a pause. The handoff is always at one ref, or also at the next one, since git creates the new ref
// before it removes the old one. No other ref is missing, and a deleted one does not come back. The test gives
// no ref an earlier value again, because git's own pruning would then consider the loose ref equal to the packed
// one.
func TestLooksBesideUpkeep(t *testing.T) {
	const first, lane, ended = "refs/handoffs/outbox/b/0", "refs/handoffs/log/ab", "refs/handoffs/inbox/b/x"
	repo, r, oid := threeCommits(t)
	for _, ref := range []string{first, lane, ended} {
		repo.Git(t, "update-ref", ref, oid[0])
	}
	packs, collections := beside(t, repo, "pack-refs", "--all"), beside(t, repo, "gc", "--quiet", "--prune=now")
	var over, gone atomic.Bool
	var step atomic.Int64 // the last step of the lane that was applied
	written := make(chan struct{})
	w := openOwn(t, repo)
	go func() {
		defer close(written)
		at, tip := first, oid[0]
		for i := 1; !over.Load(); i++ {
			to := fmt.Sprintf("refs/handoffs/%s/b/%d", []string{"outbox", "sent"}[i%2], i)
			entry := commit(fmt.Sprint("step ", i), tip)
			edits := []Edit{{to, "", oid[0]}, {lane, tip, entry.OID}, {at, oid[0], ""}}
			if i == 5 {
				edits = append(edits, Edit{ended, oid[0], ""})
			}
			if !assert.NoError(t, w.Apply(t.Context(), Transaction{Edits: edits, Objects: []*Object{entry}})) {
				return
			}
			at, tip = to, entry.OID
			step.Store(int64(i))
			gone.Store(i >= 5)
		}
	}()
	t.Cleanup(func() { // also after a failure, before the repository is removed
		over.Store(true)
		<-written
	})
	looks, err := strconv.Atoi(cmp.Or(os.Getenv("GITHANDOFF_STRESS"), "1"))
	require.NoError(t, err)
	for range looks * 100 {
		list, err := r.List(t.Context(), "refs/handoffs/sent/", "refs/handoffs/outbox/", lane)
		require.NoError(t, err)
		require.NotEmpty(t, list)
		require.Equal(t, lane, list[0].Name)
		var names []string
		for _, ref := range list[1:] {
			names = append(names, ref.Name)
		}
		requireOnePlace(t, names)
		names, err = Named(t.Context(), r, "refs/handoffs/sent/b/", "refs/handoffs/outbox/b/")
		require.NoError(t, err)
		requireOnePlace(t, names)
		before, was := step.Load(), gone.Load()
		tip, err := r.Resolve(t.Context(), lane)
		require.NoError(t, err)
		require.NotEmpty(t, tip)
		o, err := r.Read(t.Context(), lane, 1<<20)
		require.NoError(t, err)
		require.NotNil(t, o)
		if _, n, ok := strings.Cut(string(o.Body), "step "); ok {
			seen, err := strconv.ParseInt(strings.TrimSpace(n), 10, 64)
			require.NoError(t, err)
			require.GreaterOrEqual(t, seen, before, "an earlier value after a later one")
		}
		tip, err = r.Resolve(t.Context(), ended)
		require.NoError(t, err)
		require.False(t, was && tip != "", "a deleted ref")
	}
	over.Store(true)
	<-written
	t.Log(step.Load(), "transactions,", packs(), "times packed,", collections(), "collections")
}

// requireOnePlace requires one ref of the moving handoff, or two successive ones.
func requireOnePlace(t *testing.T, names []string) {
	t.Helper()
	places := make([]int, len(names))
	for i, name := range names {
		n, err := strconv.Atoi(path.Base(name))
		require.NoError(t, err)
		places[i] = n
	}
	slices.Sort(places)
	require.Contains(t, []int{1, 2}, len(places), "%s", names)
	require.Equal(t, len(places)-1, places[len(places)-1]-places[0], "%s", names)
}
