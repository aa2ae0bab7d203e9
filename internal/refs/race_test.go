package refs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gitexec"
	"githandoff/internal/gittest"
)

// beside runs git again and again until stop is called. stop returns the number of runs.
func beside(t *testing.T, repo *gittest.Repo, args ...string) (stop func() int) {
	t.Helper()
	done, ended := make(chan struct{}), make(chan int)
	go func() {
		for n := 0; ; n++ {
			select {
			case <-done:
				ended <- n
				return
			default:
				repo.TryGit(args...)
			}
		}
	}()
	return func() int {
		close(done)
		return <-ended
	}
}

// Eight writers append commits to one ref while other processes pack refs and prune unreachable objects. Each
// commit whose write succeeded is there in the end.
func TestAcknowledgedWritesSurviveGC(t *testing.T) {
	t.Parallel()
	const writers = 8
	each := 6
	if testing.Short() {
		each = 2
	}
	repo := gittest.NewRepo(t, gittest.Env(t))
	repo.Commit(t, "a", "a", "first")
	lane := LocalNamespace.Lane(someID)
	stopPack := beside(t, repo, "pack-refs", "--all")
	stopGC := beside(t, repo, "gc", "--quiet", "--prune=now")

	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			r := openOwn(t, repo)
			for i := range each {
				name := fmt.Sprintf("%d-%d", w, i)
				if !assert.NoError(t, push(t.Context(), r, lane, name), name) {
					return
				}
			}
		})
	}
	wg.Wait()
	assert.Positive(t, stopPack())
	assert.Positive(t, stopGC())

	log := strings.Fields(repo.Git(t, "log", "--format=%s", lane))
	assert.Len(t, log, writers*each, "acknowledged entries are in the lane")
	for w := range writers {
		for i := range each {
			name := fmt.Sprintf("%d-%d", w, i)
			assert.Contains(t, log, name)
			assert.Equal(t, name, repo.Git(t, "log", "-1", "--format=%s", Root+"test/"+name))
		}
	}
	assert.Empty(t, repo.Git(t, "fsck", "--strict", "--no-progress", "--no-dangling"))
}

// openOwn opens the repository with its own runner, reader and updater, like another process.
func openOwn(t *testing.T, repo *gittest.Repo) *Repo {
	r, err := Open(t.Context(), &gitexec.Runner{Dir: repo.Dir, Env: gitexec.Environ(repo.Env)})
	if !assert.NoError(t, err) {
		t.FailNow()
	}
	t.Cleanup(r.Close)
	return r
}

// push appends an entry to a lane and creates a ref of its own, as a step of a handoff does. It tries again as
// long as it loses the race.
func push(ctx context.Context, r *Repo, lane, name string) error {
	for {
		tip, err := r.Resolve(ctx, lane)
		if err != nil {
			return err
		}
		var parents []string
		if tip != "" {
			parents = []string{tip}
		}
		entry, own := commit(name, parents...), commit(name)
		err = r.Apply(ctx, Transaction{
			Edits:   []Edit{{Root + "test/" + name, "", own.OID}, {lane, tip, entry.OID}},
			Objects: []*Object{emptyTree(), entry, own},
		})
		if !errors.As(err, new(*StaleError)) {
			return err
		}
	}
}

// While a gc runs that may already have chosen its objects, new objects go into a pack that the gc must keep.
// Afterwards the pack is like any other.
func TestSecureBesideAGC(t *testing.T) {
	repo := gittest.NewRepo(t, gittest.Env(t))
	repo.Commit(t, "a", "a", "first")
	r := open(t, repo)
	pid := filepath.Join(r.CommonDir, "gc.pid")
	require.NoError(t, os.WriteFile(pid, fmt.Appendf(nil, "%d %s", os.Getpid(), "localhost"), 0o600))

	blob := NewObject(gittest.Objects(), "blob", []byte(strings.Repeat("x", 5000)))
	c := commit("kept")
	tx := Transaction{Edits: []Edit{{Root + "test/a", "", c.OID}}, Objects: []*Object{emptyTree(), blob, c}}
	require.NoError(t, r.Apply(t.Context(), tx))
	keeps, err := filepath.Glob(filepath.Join(r.Objects, "pack/*.keep"))
	require.NoError(t, err)
	require.Len(t, keeps, 1)
	pack := strings.TrimSuffix(keeps[0], ".keep")
	assert.Contains(t, repo.Git(t, "verify-pack", "-v", pack+".idx"), blob.OID+" blob   5000")

	// The gc now unlinks the objects that it chose before.
	for _, o := range tx.Objects {
		require.NoError(t, os.Remove(r.Store.loosePath(o.OID)))
	}
	assert.Equal(t, "kept", repo.Git(t, "log", "-1", "--format=%s", Root+"test/a"))
	require.NoError(t, os.Remove(pid))
	repo.Git(t, "gc", "--quiet", "--prune=now")
	assert.FileExists(t, pack+".pack")

	assert.Len(t, backdateKept(t, r, 2*time.Minute), 1)
	later := commit("later")
	require.NoError(t, r.Apply(t.Context(), Transaction{Edits: []Edit{{Root + "test/b", "", later.OID}}, Objects: []*Object{later}}))
	assert.NoFileExists(t, keeps[0])
	left, err := os.ReadDir(r.Own("kept"))
	require.NoError(t, err)
	assert.Empty(t, left)
	repo.Git(t, "gc", "--quiet", "--prune=now")
	assert.NoFileExists(t, pack+".pack", "its objects were packed with the others")
	assert.Equal(t, "kept", repo.Git(t, "log", "-1", "--format=%s", Root+"test/a"))
}

// The pid file of a killed gc has no effect.
func TestGCLeftBehind(t *testing.T) {
	repo := gittest.NewRepo(t, gittest.Env(t))
	r := open(t, repo)
	here, err := os.Hostname()
	require.NoError(t, err)
	dead := exec.Command("true")
	require.NoError(t, dead.Run())
	pid := filepath.Join(r.CommonDir, "gc.pid")
	for _, tc := range []struct {
		content string
		age     time.Duration
		runs    bool
	}{
		{fmt.Sprint(os.Getpid(), " ", here), 0, true},
		{fmt.Sprint(os.Getpid(), " ", here), 11 * time.Hour, true},
		{fmt.Sprint(os.Getpid(), " ", here), 13 * time.Hour, false},
		{fmt.Sprint(dead.Process.Pid, " ", here), time.Minute, true},
		{fmt.Sprint(dead.Process.Pid, " ", here), 2 * time.Hour, false},
		{fmt.Sprint(dead.Process.Pid, " ", here, ".elsewhere"), 2 * time.Hour, true},
		{"no number", 2 * time.Hour, true},
		{"", 2 * time.Hour, true},
	} {
		require.NoError(t, os.WriteFile(pid, []byte(tc.content), 0o600))
		at := time.Now().Add(-tc.age)
		require.NoError(t, os.Chtimes(pid, at, at))
		assert.Equal(t, tc.runs, r.Store.WatchGC().Ran, "%q of %s ago", tc.content, tc.age)
	}
}

// A gc that missed the kept pack when it listed a large directory removes the pack's index. The pack is then
// written again.
func TestKeptBesideTheTidyingOfAGC(t *testing.T) {
	repo := gittest.NewRepo(t, gittest.Env(t))
	repo.Commit(t, "a", "a", "first")
	r := open(t, repo)
	dir := filepath.Join(r.Objects, "pack")
	for i := range manyPackFiles + 1 {
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("other-%d", i)), nil, 0o600))
	}
	require.NoError(t, os.WriteFile(filepath.Join(r.CommonDir, "gc.pid"), fmt.Appendf(nil, "%d %s", os.Getpid(), "localhost"), 0o600))
	tidied := make(chan struct{})
	go func() {
		defer close(tidied)
		for {
			found, _ := filepath.Glob(filepath.Join(dir, "pack-*.idx"))
			for _, idx := range found {
				_ = os.Remove(idx)
				_ = os.Remove(strings.TrimSuffix(idx, ".idx") + ".keep")
				return
			}
		}
	}()
	c := commit("kept")
	require.NoError(t, r.Apply(t.Context(), Transaction{Edits: []Edit{{Root + "test/a", "", c.OID}}, Objects: []*Object{emptyTree(), c}}))
	<-tidied
	for _, kind := range []string{".pack", ".idx", ".keep"} {
		found, err := filepath.Glob(filepath.Join(dir, "pack-*"+kind))
		require.NoError(t, err)
		assert.Len(t, found, 1, kind)
	}
}

// backdateKept makes the notes on kept packs older, and returns their names.
func backdateKept(t *testing.T, r *Repo, age time.Duration) (names []string) {
	t.Helper()
	kept, err := os.ReadDir(r.Own("kept"))
	require.NoError(t, err)
	for _, k := range kept {
		old := time.Now().Add(-age)
		require.NoError(t, os.Chtimes(r.Own(filepath.Join("kept", k.Name())), old, old))
		names = append(names, k.Name())
	}
	return names
}

// A process may be killed, and a gc may unlink objects, right after the refs have moved. So the kept pack is
// there before the refs move, and no other process drops it meanwhile, whichever gc runs.
func TestKeptBeforeTheRefsMove(t *testing.T) {
	repo := gittest.NewRepo(t, gittest.Env(t))
	repo.Commit(t, "a", "a", "first")
	r := open(t, repo)
	pid := filepath.Join(r.CommonDir, "gc.pid")
	begin := func(age time.Duration) {
		require.NoError(t, os.WriteFile(pid, fmt.Appendf(nil, "%d %s", os.Getpid(), "localhost"), 0o600))
		at := time.Now().Add(-age)
		require.NoError(t, os.Chtimes(pid, at, at))
	}
	keeps := func() []string {
		all, err := filepath.Glob(filepath.Join(r.Objects, "pack/*.keep"))
		require.NoError(t, err)
		return all
	}
	kept := commit("kept")
	objects := []*Object{emptyTree(), kept}
	begin(time.Hour)
	gc := r.Store.collecting()
	err := r.Apply(t.Context(), Transaction{Edits: []Edit{{Root + "test/a", kept.OID, kept.OID}}, Objects: objects})
	require.ErrorAs(t, err, new(*StaleError), "the refs do not move")
	mine := keeps()
	require.Len(t, mine, 1)

	other := openOwn(t, repo)
	c := commit("other")
	apply := func(name string) {
		require.NoError(t, other.Apply(t.Context(), Transaction{Edits: []Edit{{Root + "test/" + name, "", c.OID}}, Objects: []*Object{emptyTree(), c}}))
	}
	require.NoError(t, os.Remove(pid))
	apply("none-runs")
	assert.Equal(t, mine, keeps())
	begin(0)
	apply("another-runs")
	assert.Subset(t, keeps(), mine)
	backdateKept(t, r, 2*unmoved)
	begin(unmoved + unmoved/2)
	c = commit("third")
	apply("it-began-soon-after")
	assert.Subset(t, keeps(), mine)

	again, err := r.Store.protect(t.Context(), gc, objects)
	require.NoError(t, err)
	assert.False(t, again.Equal(gc))
	assert.Subset(t, keeps(), mine)
	written := keeps()
	same, err := r.Store.protect(t.Context(), again, []*Object{commit("not seen by this gc")})
	require.NoError(t, err)
	assert.Equal(t, again, same)
	assert.Equal(t, written, keeps(), "what is protected from a gc is not written again")
}

// If no gc runs, only missing objects are written again.
func TestSecureWritesWhatIsMissing(t *testing.T) {
	repo := gittest.NewRepo(t, gittest.Env(t))
	repo.Commit(t, "a", "a", "first")
	r := open(t, repo)
	there, gone := commit("there"), commit("gone")
	require.NoError(t, r.Store.Write(emptyTree(), there, gone))
	require.NoError(t, os.Remove(r.Store.loosePath(gone.OID)))
	r.Hold(gone) // an object that is in memory need not be on disk
	before, err := os.Stat(r.Store.loosePath(there.OID))
	require.NoError(t, err)
	require.NoError(t, r.Store.secure(t.Context(), time.Time{}, []*Object{there, gone}))
	assert.Equal(t, "commit", repo.Git(t, "cat-file", "-t", gone.OID))
	after, err := os.Stat(r.Store.loosePath(there.OID))
	require.NoError(t, err)
	assert.True(t, os.SameFile(before, after))
}

// git reads the packs that githandoff makes, with objects of every size class.
func TestEncodePack(t *testing.T) {
	repo := gittest.NewRepo(t, gittest.Env(t))
	var objects []*Object
	for _, size := range []int{0, 1, 15, 16, 2047, 2048, 1 << 18} {
		objects = append(objects, NewObject(gittest.Objects(), "blob", []byte(strings.Repeat("y", size))))
	}
	objects = append(objects, emptyTree(), commit("c"))
	pack, err := encodePack(gittest.Objects(), objects)
	require.NoError(t, err)
	path := filepath.Join(repo.Dir, "x.pack")
	require.NoError(t, os.WriteFile(path, pack, 0o600))
	repo.Git(t, "index-pack", "--strict", path)
	verified := repo.Git(t, "verify-pack", "-v", filepath.Join(repo.Dir, "x.idx"))
	for _, o := range objects {
		assert.Regexp(t, fmt.Sprintf(`(?m)^%s %-6s %d `, o.OID, o.Type, len(o.Body)), verified)
	}
}
