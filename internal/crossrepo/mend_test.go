package crossrepo_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/gittest"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
)

// damaged returns a clone whose copies of a hub have many objects, each in a file of its own.
func damaged(t *testing.T) (v *fixture, fixer *agent, hub *crossrepo.Hub, held lifecycle.ClaimProof) {
	t.Helper()
	v = newHubFixture(t, byPath())
	source := v.agent(t, "investigator")
	fixer = v.agent(t, "fixer")
	held = fixer.mustClaim(t, v.offer(t, source, "fixer"))
	for range 3 {
		_, err := fixer.Engine.Renew(t.Context(), fixer.home, held, lifecycle.Renewal{})
		require.NoError(t, err)
	}
	hub = fixer.home.(*crossrepo.Hub)
	require.NoError(t, hub.Refresh(t.Context(), lifecycle.WholeHandoffs(held.Place)))
	return v, fixer, hub, held
}

// recorded lists the objects of a clone's copies and mirror.
func recorded(t *testing.T, hub *crossrepo.Hub, clone *gittest.Repo) []string {
	t.Helper()
	tips := strings.Fields(clone.Git(t, "for-each-ref", "--format=%(objectname)", string(hub.Namespace()), string(hub.Mirror)))
	return strings.Fields(clone.Git(t, append([]string{"rev-list", "--objects", "--no-object-names"}, tips...)...))
}

// damage truncates or removes the files of objects. It also makes the refs old, for a young ref may lead to
// objects that are still being written.
func damage(t *testing.T, clone *gittest.Repo, empty bool, oids ...string) {
	t.Helper()
	old := time.Now().Add(-time.Hour)
	require.NoError(t, filepath.WalkDir(filepath.Join(clone.Dir, ".git/refs/handoffs"), func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Chtimes(path, old, old))
	}))
	loosen(t, clone)
	for _, oid := range oids {
		file := filepath.Join(clone.Dir, ".git/objects", oid[:2], oid[2:])
		if oid == gittest.Objects().EmptyTree() {
			continue
		}
		require.NoError(t, os.Remove(file))
		if empty {
			require.NoError(t, os.WriteFile(file, nil, 0o444))
		}
	}
}

// loosen unpacks the objects of a clone into files of their own.
func loosen(t *testing.T, clone *gittest.Repo) {
	t.Helper()
	dir := filepath.Join(clone.Dir, ".git/objects/pack")
	away := t.TempDir()
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, f := range files {
		require.NoError(t, os.Rename(filepath.Join(dir, f.Name()), filepath.Join(away, f.Name())))
	}
	for _, f := range files {
		if filepath.Ext(f.Name()) == ".pack" {
			clone.Git(t, "-c", "alias.unpack=!git unpack-objects -q <'"+filepath.Join(away, f.Name())+"'", "unpack")
		}
	}
}

// A power cut damaged the objects of a hub's copies, all of them or one. Mend fetches them again, and the copies
// of the lanes keep their values.
func TestMend(t *testing.T) {
	v, fixer, hub, held := damaged(t)
	copies := fixer.git.Git(t, "for-each-ref")
	all := recorded(t, hub, fixer.git)
	require.Greater(t, len(all), 10)
	cases := [][]string{all}
	for _, oid := range all {
		cases = append(cases, []string{oid})
	}
	for _, empty := range []bool{true, false} {
		for _, oids := range cases {
			if oids[0] == gittest.Objects().EmptyTree() && len(oids) == 1 {
				continue
			}
			damage(t, fixer.git, empty, oids...)
			hub = v.open(t, "fixer", fixer.Engine.Author.Signer, fixer.git).home.(*crossrepo.Hub)
			names, _, err := crossrepo.Mend(t.Context(), hub)
			require.NoError(t, err, oids)
			assert.NotEmpty(t, names)
			assert.Equal(t, copies, fixer.git.Git(t, "for-each-ref"), oids)
			fixer.git.Git(t, "fsck", "--strict")
		}
	}
	_, err := fixer.Engine.Renew(t.Context(), fixer.home, held, lifecycle.Renewal{})
	require.NoError(t, err)
}

// While the hub is away a clone keeps its refs as they are. If the hub has lost what this clone has seen, the
// clone keeps the copies of the lanes.
func TestMendWithoutTheHub(t *testing.T) {
	v, fixer, hub, held := damaged(t)
	copies := fixer.git.Git(t, "for-each-ref")
	lane := refs.LocalNamespace.Lane(held.Place.ID)
	damage(t, fixer.git, true, v.Hub.Git(t, "rev-parse", lane+"~2"))

	require.NoError(t, os.Rename(v.Hub.Dir, v.Hub.Dir+"-away"))
	_, _, err := crossrepo.Mend(t.Context(), hub)
	assert.True(t, fault.Is(err, fault.RemoteUnavailable), err)
	assert.Equal(t, copies, fixer.git.Git(t, "for-each-ref"))
	require.NoError(t, os.Rename(v.Hub.Dir+"-away", v.Hub.Dir))

	tip := v.Hub.Git(t, "rev-parse", lane)
	v.Hub.Git(t, "update-ref", lane, tip+"~3")
	_, _, err = crossrepo.Mend(t.Context(), hub)
	assert.True(t, fault.Is(err, fault.Rollback), err)
	assert.Equal(t, tip, fixer.git.Git(t, "rev-parse", hub.Namespace().Lane(held.Place.ID)), "it remembers what it had seen")
	assert.Empty(t, fixer.git.Git(t, "for-each-ref", string(hub.Mirror)), "the mirror says what the hub says now")

	v.Hub.Git(t, "update-ref", lane, tip)
	_, _, err = crossrepo.Mend(t.Context(), hub)
	require.NoError(t, err)
	require.NoError(t, hub.Refresh(t.Context(), lifecycle.WholeHandoffs(held.Place)))
	assert.Equal(t, copies, fixer.git.Git(t, "for-each-ref"))
}

// A step fetches the objects that the copies lack.
func TestStepInADamagedClone(t *testing.T) {
	v, fixer, _, held := damaged(t)
	lane := refs.LocalNamespace.Lane(held.Place.ID)
	inbox := refs.LocalNamespace.Inbox("fixer", held.Place.ID)
	for _, empty := range []bool{true, false} {
		for _, lost := range []string{lane, lane + "~2", inbox, inbox + "~2"} {
			damage(t, fixer.git, empty, v.Hub.Git(t, "rev-parse", lost))
			again := v.open(t, "fixer", fixer.Engine.Author.Signer, fixer.git)
			_, err := again.Engine.Renew(t.Context(), again.home, held, lifecycle.Renewal{})
			require.NoError(t, err, "%s, %v", lost, empty)
			fixer.git.Git(t, "fsck", "--strict")
		}
	}
}

// A claim, which reads the payload, fetches the objects that the copies lack over each transport.
func TestClaimInADamagedClone(t *testing.T) {
	for n, tr := range gittest.Transports() {
		t.Run(tr.Name, func(t *testing.T) {
			t.Parallel()
			for _, part := range []string{"", "^{tree}", ":handoff.json"} {
				v := newHubFixture(t, tr)
				source, fixer := v.agent(t, "investigator"), v.agent(t, "fixer")
				p := v.offer(t, source, "fixer")
				require.NotEmpty(t, fixer.look(t, p).Tip)
				damage(t, fixer.git, n%2 == 0, v.Hub.Git(t, "rev-parse", refs.LocalNamespace.Inbox("fixer", p.ID)+part))
				v.open(t, "fixer", fixer.Engine.Author.Signer, fixer.git).mustClaim(t, p)
				fixer.git.Git(t, "fsck", "--strict")
			}
		})
	}
}

// A damaged object at a hub is not reported as one of this clone.
func TestLookAtADamagedHub(t *testing.T) {
	overTransports(t, func(t *testing.T, v *fixture) {
		source, fixer := v.agent(t, "investigator"), v.agent(t, "fixer")
		p := v.offer(t, source, "fixer")
		tip := v.Hub.Git(t, "rev-parse", refs.LocalNamespace.Lane(p.ID))
		file := filepath.Join(v.Hub.Dir, "objects", tip[:2], tip[2:])
		require.NoError(t, os.Chmod(file, 0o600)) // git makes it read-only
		require.NoError(t, os.Truncate(file, 0))
		err := fixer.home.Refresh(t.Context(), lifecycle.WholeHandoffs(p))
		assert.True(t, fault.Is(err, fault.RemoteUnavailable), err)
	})
}

// A hub that lost an object of a snapshot is reported as damaged, and not as one that sent invalid objects.
func TestSnapshotOfADamagedHub(t *testing.T) {
	overTransports(t, func(t *testing.T, v *fixture) {
		source, fixer := v.agent(t, "investigator"), v.agent(t, "fixer")
		p := v.offer(t, source, "fixer")
		commit := source.git.Commit(t, "a", "a", "a")
		v.Hub.Git(t, "fetch", "--quiet", source.git.Dir, "HEAD:"+refs.LocalNamespace.Work(p.Agent, p.ID))
		for _, lost := range []string{v.Hub.Git(t, "rev-parse", commit+"^{tree}"), commit} {
			require.NoError(t, os.Remove(filepath.Join(v.Hub.Dir, "objects", lost[:2], lost[2:])))
			err := fixer.home.(*crossrepo.Hub).FetchWork(t.Context(), lifecycle.Place{Agent: p.Agent, ID: p.ID}, commit)
			require.True(t, fault.Is(err, fault.RemoteUnavailable), err)
			require.Len(t, fault.As(err).Hints, 2)
			assert.Contains(t, fault.As(err).Hints[0].Why, "git fsck names it there")
			assert.Contains(t, fault.As(err).Hints[1].Why, "githandoff work export "+string(p.ID))
		}
	})
}

// A hub that lost an object takes no push. The hint names the damage, and not the hub's settings.
func TestPushToADamagedHub(t *testing.T) {
	overTransports(t, func(t *testing.T, v *fixture) {
		source := v.agent(t, "investigator")
		p := v.offer(t, source, "fixer")
		tip := v.Hub.Git(t, "rev-parse", refs.LocalNamespace.Lane(p.ID))
		require.NoError(t, os.Remove(filepath.Join(v.Hub.Dir, "objects", tip[:2], tip[2:])))
		commit := source.git.Commit(t, "a", "a", "a")
		err := source.home.Apply(t.Context(), refs.Transaction{Edits: []refs.Edit{{Ref: source.home.Namespace().Inbox("x", p.ID), New: commit}}})
		require.True(t, fault.Is(err, fault.HubRefused), err)
		assert.Contains(t, fault.As(err).Hints[0].Why, "git fsck names it there")
	})
}

// A step reports an object that the hub has lost as well, with the command that may repair the clone.
func TestStepWithoutAnObject(t *testing.T) {
	v, fixer, _, held := damaged(t)
	lost := v.Hub.Git(t, "rev-parse", refs.LocalNamespace.Inbox("fixer", held.Place.ID)+"~2")
	damage(t, fixer.git, false, lost)
	hub := filepath.Join(v.Hub.Dir, "objects", lost[:2], lost[2:])
	require.NoError(t, os.Rename(hub, hub+"-away"))
	again := v.open(t, "fixer", fixer.Engine.Author.Signer, fixer.git)
	_, err := again.Engine.Renew(t.Context(), again.home, held, lifecycle.Renewal{})
	require.True(t, fault.Is(err, fault.MissingObject), err)
	assert.Equal(t, []string{"githandoff", "doctor", "--fix"}, fault.As(err).Hints[0].Run)

	require.NoError(t, os.Rename(hub+"-away", hub))
	_, err = again.Engine.Renew(t.Context(), again.home, held, lifecycle.Renewal{})
	require.NoError(t, err)
}

// A command was killed after its fetch and left a mirror, and a gc removed objects of the mirror. The next look
// fetches them again.
func TestLookMendsALane(t *testing.T) {
	v := newHubFixture(t, byPath())
	source, fixer := v.agent(t, "investigator"), v.agent(t, "fixer")
	p := v.offer(t, source, "fixer")
	held := fixer.mustClaim(t, p)
	lane := refs.LocalNamespace.Lane(p.ID)
	open := func() *crossrepo.Hub {
		return v.open(t, "investigator", source.Engine.Author.Signer, source.git).home.(*crossrepo.Hub)
	}
	looks := map[string]func(hub *crossrepo.Hub) error{
		"one lane":  func(hub *crossrepo.Hub) error { return hub.Refresh(t.Context(), lifecycle.WholeHandoffs(p)) },
		"all lanes": func(hub *crossrepo.Hub) error { return hub.RefreshAllLanes(t.Context()) },
		"known lanes": func(hub *crossrepo.Hub) error {
			memory, err := hub.Memory(t.Context())
			require.NoError(t, err)
			require.NoError(t, hub.Fetch(t.Context(), lifecycle.FetchSpec{Log: true, Memory: memory}))
			return hub.AdvanceMemory(t.Context(), memory)
		},
	}
	for name, look := range looks {
		mends := func(lost string) {
			damage(t, source.git, false, v.Hub.Git(t, "rev-parse", lane+lost))
			hub := open()
			require.NoError(t, look(hub), "%s %s", name, lost)
			assert.Empty(t, hub.StuckLanes())
			assert.Equal(t, v.Hub.Git(t, "rev-parse", lane), source.git.Git(t, "rev-parse", hub.Namespace().Lane(p.ID)))
			source.git.Git(t, "fsck", "--strict")
		}
		for _, lost := range []string{"~0", "~1", "~3"} { // the copy of the lane is at ~3
			for range 3 {
				_, err := fixer.Engine.Renew(t.Context(), fixer.home, held, lifecycle.Renewal{})
				require.NoError(t, err)
			}
			require.NoError(t, open().Fetch(t.Context(), lifecycle.WholeHandoffs(p)))
			mends(lost)
		}
		if name != "all lanes" { // a caller that asks for all lanes reads each of them
			mends("~1") // now the lane has not moved
		}
	}
}

// git considers a lane complete if a commit-graph has the lost commit, or another ref leads to it. Mend fetches
// the commit nevertheless.
func TestMendsWhatGitTakesForComplete(t *testing.T) {
	v, fixer, hub, held := damaged(t)
	copies := fixer.git.Git(t, "for-each-ref")
	lane := refs.LocalNamespace.Lane(held.Place.ID)
	for name, hide := range map[string]func(){
		"a commit-graph": func() { fixer.git.Git(t, "commit-graph", "write", "--reachable") },
		"another ref":    func() { fixer.git.Git(t, "update-ref", "refs/other", hub.Namespace().Lane(held.Place.ID)) },
	} {
		hide()
		damage(t, fixer.git, false, v.Hub.Git(t, "rev-parse", lane+"~1"))
		hub = v.open(t, "fixer", fixer.Engine.Author.Signer, fixer.git).home.(*crossrepo.Hub)
		_, _, err := crossrepo.Mend(t.Context(), hub)
		require.NoError(t, err, name)
		fixer.git.Git(t, "fsck", "--strict")
		require.NoError(t, os.RemoveAll(filepath.Join(fixer.git.Dir, ".git/objects/info")))
		fixer.git.Git(t, "update-ref", "-d", "refs/other")
	}
	assert.Equal(t, copies, fixer.git.Git(t, "for-each-ref"))
}

// An interrupt leaves the copies unchanged.
func TestMendInterrupted(t *testing.T) {
	v, fixer, hub, held := damaged(t)
	copies := fixer.git.Git(t, "for-each-ref")
	lane := refs.LocalNamespace.Lane(held.Place.ID)
	damage(t, fixer.git, false, v.Hub.Git(t, "rev-parse", lane+"~2"))
	ctx, interrupt := context.WithCancel(t.Context())
	fixer.git.Git(t, "config", "remote."+hub.Alias.Name+".uploadpack", "touch "+fault.Arg(v.Hub.Dir)+"/asked; sleep 60; git-upload-pack")
	again := v.open(t, "fixer", fixer.Engine.Author.Signer, fixer.git).home.(*crossrepo.Hub)
	go func() {
		for ; ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
			if _, err := os.Stat(filepath.Join(v.Hub.Dir, "asked")); err == nil {
				interrupt()
			}
		}
	}()
	_, _, err := crossrepo.Mend(ctx, again)
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, copies, fixer.git.Git(t, "for-each-ref"))
}

// If the hub no longer has the lost commits either, the clone still knows how far the lane was.
func TestLookAtALaneLostAtTheHub(t *testing.T) {
	v, fixer, hub, held := damaged(t)
	lane := refs.LocalNamespace.Lane(held.Place.ID)
	tip, lost := v.Hub.Git(t, "rev-parse", lane), v.Hub.Git(t, "rev-parse", lane+"~1")
	v.Hub.Git(t, "update-ref", lane, lost+"~1")
	damage(t, fixer.git, false, lost)
	for range 2 {
		hub = v.open(t, "fixer", fixer.Engine.Author.Signer, fixer.git).home.(*crossrepo.Hub)
		err := hub.Refresh(t.Context(), lifecycle.WholeHandoffs(held.Place))
		assert.True(t, fault.Is(err, fault.Rollback), err)
		assert.Equal(t, tip, fixer.git.Git(t, "rev-parse", hub.Namespace().Lane(held.Place.ID)))
	}
	_, _, err := crossrepo.Mend(t.Context(), hub)
	assert.True(t, fault.Is(err, fault.Rollback), err)
}

// Mend keeps an intact file, even if a pack claims to have its object: the pack may be damaged, and the file may
// have been restored from a backup.
func TestMendLeavesWholeFiles(t *testing.T) {
	v, fixer, hub, held := damaged(t)
	damage(t, fixer.git, false, v.Hub.Git(t, "rev-parse", refs.LocalNamespace.Lane(held.Place.ID)+"~2"))
	blob := fixer.git.Git(t, "rev-parse", fixer.git.Commit(t, "code", strings.Repeat("not pushed\n", 99), "code")+":code")
	fixer.git.Git(t, "-c", "alias.pack=!echo "+blob+" | git pack-objects -q .git/objects/pack/pack", "pack")
	packs, err := filepath.Glob(filepath.Join(fixer.git.Dir, ".git/objects/pack/*.pack"))
	require.NoError(t, err)
	require.Len(t, packs, 1)
	b, err := os.ReadFile(packs[0])
	require.NoError(t, err)
	for i := 16; i < len(b)-20; i++ {
		b[i] = 0
	}
	require.NoError(t, os.Chmod(packs[0], 0o644))
	require.NoError(t, os.WriteFile(packs[0], b, 0o644))

	_, _, err = crossrepo.Mend(t.Context(), hub)
	require.NoError(t, err)
	assert.Contains(t, fixer.git.Git(t, "cat-file", "blob", blob), "not pushed")
}

// Mend's temporary repository reads the same configuration as this one, and has the same format.
func TestMendReadsTheSameConfiguration(t *testing.T) {
	v, fixer, hub, held := damaged(t)
	base, name := filepath.Split(v.Hub.Dir)
	rewrites := filepath.Join(t.TempDir(), `re\writes "of"; # `)
	fixer.git.Git(t, "config", "--file", rewrites, "url."+base+".insteadOf", "x:/")
	fixer.git.Git(t, "config", "init.defaultObjectFormat", "sha256")
	fixer.git.Git(t, "config", "init.defaultBranch", "no..branch")
	gitDir := fixer.git.Git(t, "rev-parse", "--absolute-git-dir")
	for key, url := range map[string]string{
		"includeIf.gitdir:" + gitDir + ".path":                                                "x:/" + name,
		"includeIf.onbranch:" + fixer.git.Git(t, "symbolic-ref", "--short", "HEAD") + ".path": "x:/" + name,
	} {
		fixer.git.Git(t, "config", key, rewrites)
		fixer.git.Git(t, "remote", "set-url", hub.Alias.Name, url)
		damage(t, fixer.git, false, v.Hub.Git(t, "rev-parse", refs.LocalNamespace.Lane(held.Place.ID)+"~2"))
		again := v.open(t, "fixer", fixer.Engine.Author.Signer, fixer.git)
		_, _, err := crossrepo.Mend(t.Context(), crossrepo.NewHub(hub.Alias, again.Repo, nil))
		require.NoError(t, err, key)
		fixer.git.Git(t, "config", "--unset", key)
	}
}

// Mend brings no object that no ref leads to: a later fetch would consider it present, but a gc would remove it.
func TestMendBringsNoMore(t *testing.T) {
	v, fixer, hub, held := damaged(t)
	lost := v.Hub.Git(t, "rev-parse", refs.LocalNamespace.Lane(held.Place.ID)+"~2")
	second := v.Clone(t, "second")
	again := v.open(t, "fixer", fixer.Engine.Author.Signer, second)
	_, err := again.Engine.Renew(t.Context(), again.home, held, lifecycle.Renewal{})
	require.NoError(t, err)
	damage(t, fixer.git, true, lost)
	_, _, err = crossrepo.Mend(t.Context(), hub)
	require.NoError(t, err)
	assert.Equal(t, "commit", fixer.git.Git(t, "cat-file", "-t", lost))
	assert.Empty(t, fixer.git.Git(t, "fsck", "--unreachable", "--no-progress"))
}

// A gc that has already chosen its objects removes none of those that Mend brings meanwhile.
func TestMendBesideGC(t *testing.T) {
	v, fixer, hub, held := damaged(t)
	lost := v.Hub.Git(t, "rev-parse", refs.LocalNamespace.Lane(held.Place.ID)+"~2")
	damage(t, fixer.git, false, lost)
	require.NoError(t, os.WriteFile(filepath.Join(fixer.git.Dir, ".git/gc.pid"), fmt.Appendf(nil, "%d localhost", os.Getpid()), 0o600))
	_, _, err := crossrepo.Mend(t.Context(), hub)
	require.NoError(t, err)
	_ = os.Remove(filepath.Join(fixer.git.Dir, ".git/objects", lost[:2], lost[2:]))
	fixer.git.Git(t, "fsck", "--strict")
}

// A hub that has lost an object sends nothing to a fetch that asks for it. Mend still brings the objects of
// other handoffs.
func TestMendAroundWhatTheHubLost(t *testing.T) {
	v, fixer, hub, held := damaged(t)
	source := v.agent(t, "other")
	second := fixer.mustClaim(t, v.offer(t, source, "fixer"))
	require.NoError(t, hub.Refresh(t.Context(), lifecycle.WholeHandoffs(second.Place)))
	here, there := refs.LocalNamespace.Inbox("fixer", held.Place.ID), refs.LocalNamespace.Inbox("fixer", second.Place.ID)
	lost, both := v.Hub.Git(t, "rev-parse", here+"~2"), v.Hub.Git(t, "rev-parse", there+"~1")
	damage(t, fixer.git, true, lost, both)
	file := filepath.Join(v.Hub.Dir, "objects", both[:2], both[2:])
	require.NoError(t, os.Rename(file, file+"-away"))

	brought, dropped, err := crossrepo.Mend(t.Context(), hub)
	assert.True(t, fault.Is(err, fault.RemoteUnavailable), err)
	assert.Contains(t, brought, hub.Namespace().Inbox("fixer", held.Place.ID))
	assert.Empty(t, dropped, "the hub may find it again")
	assert.Equal(t, "commit", fixer.git.Git(t, "cat-file", "-t", lost))

	require.NoError(t, os.Rename(file+"-away", file))
	_, _, err = crossrepo.Mend(t.Context(), hub)
	require.NoError(t, err)
	fixer.git.Git(t, "fsck", "--strict")
}

// A fetch that reads a damaged file below the tip of a ref repairs it. Newer versions of git read fewer commits,
// so how many it meets depends on the version.
func TestFetchMendsWhatItMeets(t *testing.T) {
	v, fixer, hub, held := damaged(t)
	met := 0
	for _, below := range []string{"~1", "~2", "~2^{tree}"} {
		_, err := fixer.Engine.Renew(t.Context(), fixer.home, held, lifecycle.Renewal{})
		require.NoError(t, err)
		damage(t, fixer.git, true, v.Hub.Git(t, "rev-parse", refs.LocalNamespace.Lane(held.Place.ID)+below))
		v.offer(t, v.agent(t, "other"), "fixer")
		require.NoError(t, hub.Refresh(t.Context(), lifecycle.FetchSpec{Inboxes: []string{"fixer"}, Log: true}))
		if _, _, code := fixer.git.TryGit("fsck", "--strict"); code == 0 {
			met++
			continue
		}
		_, _, err = crossrepo.Mend(t.Context(), hub)
		require.NoError(t, err)
		fixer.git.Git(t, "fsck", "--strict")
	}
	assert.NotZero(t, met)
}

// Mend removes a copy whose objects nobody has, together with the damaged file. Otherwise git fsck and git gc
// would report it for good.
func TestMendDropsACopy(t *testing.T) {
	v := newHubFixture(t, byPath())
	source, fixer := v.agent(t, "investigator"), v.agent(t, "fixer")
	p := v.offer(t, source, "fixer")
	hub := fixer.home.(*crossrepo.Hub)
	require.NoError(t, hub.Refresh(t.Context(), lifecycle.WholeHandoffs(p)))
	inbox := refs.LocalNamespace.Inbox("fixer", p.ID)
	damage(t, fixer.git, true, v.Hub.Git(t, "rev-parse", inbox))
	v.Hub.Git(t, "update-ref", "-d", inbox)
	_, dropped, err := crossrepo.Mend(t.Context(), hub)
	require.NoError(t, err)
	assert.Equal(t, []string{hub.Namespace().Inbox("fixer", p.ID)}, dropped)
	fixer.git.Git(t, "fsck", "--strict")
}

// A hub that lists its refs and sends nothing is asked only a few times, however much is lost here.
func TestMendGivesUp(t *testing.T) {
	v, fixer, hub, held := damaged(t)
	tip := fixer.git.Git(t, "rev-parse", string(hub.Namespace())+"inbox/fixer/"+string(held.Place.ID))
	for repo, namespace := range map[*gittest.Repo]refs.Namespace{v.Hub: refs.LocalNamespace, fixer.git: hub.Namespace()} {
		var spread strings.Builder
		for i := range 200 {
			fmt.Fprintf(&spread, "create %skeys/%040d %s\n", namespace, i, tip)
		}
		repo.GitIn(t, strings.NewReader(spread.String()), "update-ref", "--stdin")
	}
	damage(t, fixer.git, false, tip)
	asked := filepath.Join(t.TempDir(), "asked")
	fixer.git.Git(t, "config", "remote."+hub.Alias.Name+".uploadpack", "echo >>'"+asked+"'; git -c uploadpack.packObjectsHook=/bin/false upload-pack")
	hub = v.open(t, "fixer", fixer.Engine.Author.Signer, fixer.git).home.(*crossrepo.Hub)
	for range 5 {
		_, _, err := crossrepo.Mend(t.Context(), hub)
		require.True(t, fault.Is(err, fault.RemoteUnavailable), err)
	}
	b, err := os.ReadFile(asked)
	require.NoError(t, err)
	assert.LessOrEqual(t, strings.Count(string(b), "\n"), 40)
	assert.Greater(t, strings.Count(string(b), "\n"), 20, "the hub may have the rest")
}
