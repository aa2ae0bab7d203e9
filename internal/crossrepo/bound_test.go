package crossrepo_test

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/crossrepo"
	"githandoff/internal/enginetest"
	"githandoff/internal/fault"
	"githandoff/internal/gittest"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
	"githandoff/internal/team"
)

// fill adds more refs to the log of a hub than there can be lanes. empty removes them again.
func (v *fixture) fill(t *testing.T, tip string) (empty func()) {
	t.Helper()
	var create, remove strings.Builder
	for n := range handoff.MaxLanes + 1 {
		fmt.Fprintf(&create, "create refs/handoffs/log/junk-%d %s\n", n, tip)
		fmt.Fprintf(&remove, "delete refs/handoffs/log/junk-%d\n", n)
	}
	v.updateRefs(t, create.String())
	return func() { v.updateRefs(t, remove.String()) }
}

func (v *fixture) updateRefs(t *testing.T, lines string) {
	t.Helper()
	v.Hub.GitIn(t, strings.NewReader(lines), "update-ref", "--stdin")
}

// lookTrips makes the looks of a resume at a hub of which nothing is remembered. It returns the connections that
// they took.
func lookTrips(t *testing.T, hub *crossrepo.Hub, p lifecycle.Place, log string) []string {
	t.Helper()
	require.NoError(t, os.WriteFile(log, nil, 0o600))
	hub.AskAgain()
	require.NoError(t, hub.Refresh(t.Context(), lifecycle.FetchSpec{Inboxes: []string{"fixer"}, Log: true}))
	require.NoError(t, hub.Refresh(t.Context(), lifecycle.FetchSpec{Lanes: []handoff.ID{p.ID}, Once: true}))
	return tripsIn(t, log)
}

// A hub's log has more refs than there can be lanes. The first command still works, and later ones fetch only
// the lanes that they need. None of the other refs is fetched.
func TestTooManyLanes(t *testing.T) {
	v, log := newTracedFixture(t)
	source, fixer := v.agent(t, "investigator"), v.agent(t, "fixer")
	p := v.offer(t, source, "fixer")
	empty := v.fill(t, v.Hub.Git(t, "rev-parse", refs.LocalNamespace.Lane(p.ID)))
	hub := fixer.home.(*crossrepo.Hub)
	resume := func(trips ...string) {
		t.Helper()
		assert.Equal(t, trips, lookTrips(t, hub, p, log))
	}
	junk := func(space refs.Namespace) int {
		return strings.Count(fixer.git.Git(t, "for-each-ref", string(space)), "junk")
	}
	resume("fetch", "fetch", "fetch")
	resume("fetch", "fetch")
	assert.Zero(t, junk(refs.LocalNamespace))
	fixer.mustClaim(t, p)

	require.NoError(t, hub.RefreshAllLanes(t.Context())) // a look at all lanes fetches all refs
	assert.Equal(t, handoff.MaxLanes+1, junk(hub.Mirror))
	assert.Zero(t, junk(hub.Namespace()), "no copy is made of what is no lane")
	assert.Len(t, hub.StuckLanes(), 4, "a few are named, and the rest is counted")
	resume("fetch", "fetch")
	empty()
	require.NoError(t, hub.RefreshAllLanes(t.Context()))
	resume("fetch")
}

// Copies of refs whose names are not those of lanes are dropped.
func TestTooManyLanesAreDropped(t *testing.T) {
	overTransports(t, func(t *testing.T, v *fixture) {
		source, fixer := v.agent(t, "investigator"), v.agent(t, "fixer")
		p := v.offer(t, source, "fixer")
		hub := fixer.home.(*crossrepo.Hub)
		look := lifecycle.FetchSpec{Inboxes: []string{"fixer"}, Log: true}
		require.NoError(t, hub.Refresh(t.Context(), look))
		tip := fixer.tip(t, hub.Mirror.Lane(p.ID))
		fixer.git.Git(t, "update-ref", hub.Mirror.Lanes()+"junk", tip)
		v.fill(t, tip)
		require.NoError(t, hub.Refresh(t.Context(), look))
		assert.Empty(t, fixer.tip(t, hub.Mirror.Lanes()+"junk"))
		assert.Equal(t, tip, fixer.tip(t, hub.Mirror.Lane(p.ID)))
	})
}

// A hub has more published keys than there can be. A sync fetches only those that are trusted here. Any other
// one comes by its name.
func TestTooManyKeys(t *testing.T) {
	v, log := newTracedFixture(t)
	fixer, pinned := v.agent(t, "fixer"), v.agent(t, "pinned")
	stranger := v.clone(t, "stranger", enginetest.NewKey(t))
	p := v.offer(t, pinned, "fixer")
	for _, s := range []*agent{pinned, stranger} {
		s.publishKey(t)
	}
	blob := v.Hub.GitIn(t, strings.NewReader("junk"), "hash-object", "-w", "--stdin")
	var create strings.Builder
	for n := range 4096 {
		fmt.Fprintf(&create, "create refs/handoffs/keys/%040x %s\n", n, blob)
	}
	v.updateRefs(t, create.String())

	hub, keys := fixer.home.(*crossrepo.Hub), team.New(fixer.Workspace)
	for _, trips := range [][]string{{"fetch", "fetch"}, {"fetch"}} {
		require.NoError(t, os.WriteFile(log, nil, 0o600))
		hub.AskAgain()
		require.NoError(t, hub.Fetch(t.Context(), lifecycle.FetchSpec{Log: true, Published: team.Published(hub), Few: keys.Pinned(hub)}))
		assert.Equal(t, trips, tripsIn(t, log))
		assert.NotEmpty(t, fixer.tip(t, hub.Mirror.Lane(p.ID)), "the log comes as a whole")
		copies := fixer.git.Git(t, "for-each-ref", "--format=%(refname)", string(hub.Namespace())+"keys/")
		assert.Equal(t, pinned.keyCopy(hub), copies)
	}
	public, _, err := keys.PublishedKey(t.Context(), stranger.Engine.Author.Signer.KID())
	require.NoError(t, err)
	assert.Equal(t, stranger.Engine.Author.Signer.KID(), public.KID())
}

// Refs whose names begin with that of the team's list, or of a lane, are no published keys: however many there are,
// a fetch ends, and brings the keys.
func TestManyRefsOfLongerNames(t *testing.T) {
	for _, lanes := range []string{"all", "needed"} {
		t.Run(lanes, func(t *testing.T) {
			v, log := newTracedFixture(t)
			fixer, sender := v.agent(t, "fixer"), v.agent(t, "sender")
			p := v.offer(t, sender, "fixer")
			sender.publishKey(t)
			hub, name, n := fixer.home.(*crossrepo.Hub), "trust", 4097
			if lanes == "needed" {
				fixer.Repo.Config["handoff.lanes"] = []string{lanes}
				name, n = "log/"+p.ID.Lane(), handoff.MaxLanes+1
			}
			blob := v.Hub.GitIn(t, strings.NewReader("junk"), "hash-object", "-w", "--stdin")
			var create strings.Builder
			for i := range n {
				fmt.Fprintf(&create, "create refs/handoffs/%s-%d %s\n", name, i, blob)
			}
			v.updateRefs(t, create.String())

			require.NoError(t, os.WriteFile(log, nil, 0o600))
			memory := []refs.Ref{{Name: hub.Namespace().Lane(p.ID)}}
			require.NoError(t, hub.Fetch(t.Context(), lifecycle.FetchSpec{Log: true, Memory: memory, Published: team.Published(hub)}))
			assert.Equal(t, []string{"fetch"}, tripsIn(t, log))
			assert.NotEmpty(t, fixer.tip(t, hub.Mirror.Lane(p.ID)))
			assert.NotEmpty(t, fixer.tip(t, sender.keyCopy(hub)))
			assert.False(t, hub.Crowded())
		})
	}
}

// publishKey publishes the key of an agent at the hub.
func (s *agent) publishKey(t *testing.T) {
	t.Helper()
	_, err := team.New(s.Workspace).PublishKey(t.Context(), s.home.(*crossrepo.Hub), s.Engine.Author.Signer.Public())
	require.NoError(t, err)
}

// keyCopy names the copy of the published key of an agent in another clone.
func (s *agent) keyCopy(hub *crossrepo.Hub) string {
	return string(hub.Namespace()) + "keys/" + sign.Hex(s.Engine.Author.Signer.KID())
}

// noise writes a blob to the hub that git neither compresses nor packs smaller.
func (v *fixture) noise(t *testing.T, size int) (oid string) {
	t.Helper()
	body := make([]byte, size)
	_, err := rand.Read(body)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "noise")
	require.NoError(t, os.WriteFile(file, body, 0o600))
	v.Hub.Git(t, "config", "core.compression", "0")
	return v.Hub.Git(t, "hash-object", "-w", file)
}

// otherLane names a lane in which a handoff does not end.
func otherLane(id handoff.ID) string {
	if id.Lane() == "zz" {
		return "yy"
	}
	return "zz"
}

// Published keys that are too large to fetch are left out from then on, and the log comes if it is not too large as well.
func TestKeysTooLarge(t *testing.T) {
	for name, largeLane := range map[string]bool{"alone": false, "beside a lane": true} {
		t.Run(name, func(t *testing.T) {
			v, log := newTracedFixture(t)
			fixer, sender := v.agent(t, "fixer"), v.agent(t, "sender")
			p := v.offer(t, sender, "fixer")
			large := v.noise(t, 40<<20)
			v.Hub.Git(t, "update-ref", fmt.Sprintf("refs/handoffs/keys/%040x", 1), large)
			hub, trips := fixer.home.(*crossrepo.Hub), []string{"fetch", "fetch", "fetch"}
			var memory []refs.Ref
			if largeLane {
				v.Hub.Git(t, "update-ref", "refs/handoffs/log/"+otherLane(p.ID), large)
				trips = append(trips, "fetch")
				memory = []refs.Ref{{Name: hub.Namespace().Lane(p.ID)}}
			}
			for _, trips := range [][]string{trips, {"fetch"}} {
				require.NoError(t, os.WriteFile(log, nil, 0o600))
				hub.AskAgain()
				require.NoError(t, hub.Fetch(t.Context(), lifecycle.FetchSpec{Log: true, Memory: memory, Published: team.Published(hub)}))
				assert.Equal(t, trips, tripsIn(t, log))
				assert.NotEmpty(t, fixer.tip(t, hub.Mirror.Lane(p.ID)))
				assert.True(t, hub.Crowded())
			}
		})
	}
}

// Published keys that do not come because the connection broke are left out only once.
func TestKeysThatDoNotCome(t *testing.T) {
	gittest.WrapGit(t, `case "$*" in *'/keys/*:'*) # the hub sends its refs and no object
	exec "$git" -c remote.origin.uploadpack='git -c uploadpack.packObjectsHook=false upload-pack' "$@" ;;
esac`)
	v := newHubFixture(t, byPath())
	fixer, sender := v.agent(t, "fixer"), v.agent(t, "sender")
	p := v.offer(t, sender, "fixer")
	v.Hub.Git(t, "update-ref", fmt.Sprintf("refs/handoffs/keys/%040x", 1), v.noise(t, 1000))
	hub := fixer.home.(*crossrepo.Hub)
	require.NoError(t, hub.Fetch(t.Context(), lifecycle.FetchSpec{Log: true, Published: team.Published(hub)}))
	assert.NotEmpty(t, fixer.tip(t, hub.Mirror.Lane(p.ID)), "the log comes as a whole")
	assert.False(t, hub.Crowded())
}

// A lane that is too large to fetch does not keep an agent from the other handoffs.
func TestLogTooLarge(t *testing.T) {
	v, log := newTracedFixture(t)
	source, fixer, late := v.agent(t, "investigator"), v.agent(t, "fixer"), v.agent(t, "late")
	stranger := v.clone(t, "stranger", enginetest.NewKey(t))
	stranger.publishKey(t)
	p := v.offer(t, source, "fixer")
	lane := otherLane(p.ID)
	v.Hub.Git(t, "update-ref", "refs/handoffs/log/"+lane, v.noise(t, 40<<20))

	hub := fixer.home.(*crossrepo.Hub)
	for _, trips := range [][]string{{"fetch", "fetch", "fetch"}, {"fetch", "fetch"}} {
		assert.Equal(t, trips, lookTrips(t, hub, p, log))
	}
	assert.Empty(t, fixer.tip(t, hub.Mirror.Lanes()+lane))
	for _, pattern := range []string{"tmp_obj_*", "*/tmp_obj_*", "pack/tmp_pack_*"} {
		left, err := filepath.Glob(filepath.Join(fixer.Repo.Objects, pattern))
		require.NoError(t, err)
		assert.Empty(t, left, "what the fetch had brought is removed")
	}
	fixer.mustClaim(t, p)

	hub = late.home.(*crossrepo.Hub)
	require.NoError(t, hub.Fetch(t.Context(), lifecycle.FetchSpec{Log: true, Published: team.Published(hub)}))
	assert.NotEmpty(t, late.tip(t, stranger.keyCopy(hub)), "the published keys come")
	assert.False(t, hub.Crowded())
}

// A clone that fetches only the lanes it needs gets the new entries of a large lane, and not the lane again: that
// would look like too many published keys.
func TestLargeLaneThatMoved(t *testing.T) {
	v, log := newTracedFixture(t)
	fixer := v.agent(t, "fixer")
	stranger := v.clone(t, "stranger", enginetest.NewKey(t))
	stranger.publishKey(t)
	fixer.Repo.Config["handoff.lanes"] = []string{"needed"}
	tree := v.Hub.GitIn(t, strings.NewReader("100644 blob "+v.noise(t, 40<<20)+"\tlarge\n"), "mktree")
	first := v.Hub.Git(t, "commit-tree", "-m", "first", tree)
	v.Hub.Git(t, "update-ref", "refs/handoffs/log/zz", first)

	hub := fixer.home.(*crossrepo.Hub)
	for _, space := range []refs.Namespace{hub.Namespace(), hub.Mirror} {
		fixer.git.Git(t, "fetch", "--quiet", "origin", "refs/handoffs/log/zz:"+space.Lanes()+"zz")
	}
	second := v.Hub.Git(t, "commit-tree", "-m", "second", "-p", first, gittest.Objects().EmptyTree())
	v.Hub.Git(t, "update-ref", "refs/handoffs/log/zz", second)
	require.NoError(t, os.WriteFile(log, nil, 0o600))
	memory := []refs.Ref{{Name: hub.Namespace().Lanes() + "zz", OID: first}}
	require.NoError(t, hub.Fetch(t.Context(), lifecycle.FetchSpec{Log: true, Memory: memory, Published: team.Published(hub)}))
	assert.Equal(t, []string{"fetch"}, tripsIn(t, log))
	assert.Equal(t, second, fixer.tip(t, hub.Mirror.Lanes()+"zz"))
	assert.NotEmpty(t, fixer.tip(t, stranger.keyCopy(hub)))
	assert.False(t, hub.Crowded())
}

// git before 2.38 cannot write a huge object as a loose one within its memory limit. It can write it into a
// pack, so the other handoffs can still be read.
func TestHugeObjectStaysInAPack(t *testing.T) {
	gittest.WrapGit(t, `case " $* " in
*' fetch.unpackLimit=1 '*) ;;
*' fetch '*) echo 'fatal: attempting to allocate 293601281 over limit 134217728' >&2; exit 128 ;;
esac`)
	v := newHubFixture(t, byPath())
	source, fixer := v.agent(t, "investigator"), v.agent(t, "fixer")
	p := v.offer(t, source, "fixer")
	fixer.mustClaim(t, p)
	packs, err := filepath.Glob(filepath.Join(fixer.Repo.Objects, "pack", "*.pack"))
	require.NoError(t, err)
	assert.NotEmpty(t, packs)
}

// The limit on file sizes also holds for files of the user: a trace of git, or the log of a command through
// which git reaches the hub. Both lose the rest of their text, the commands go on, and no ref of the hub is
// reported as too large.
func TestTraceLargerThanTheBound(t *testing.T) {
	for name, trace := range map[string]func(t *testing.T, fixer *agent, file string) string{
		"a trace of git":         func(_ *testing.T, _ *agent, file string) string { return "GIT_TRACE=" + file },
		"a trace of its packets": func(_ *testing.T, _ *agent, file string) string { return "GIT_TRACE_PACKET=" + file },
		"a log of a command": func(t *testing.T, fixer *agent, file string) string {
			fixer.git.Git(t, "config", "remote.origin.uploadpack", logging(t, file, ""))
			return "UNUSED=1"
		},
	} {
		t.Run(name, func(t *testing.T) {
			v, file := newHubFixture(t, byPath()), filepath.Join(t.TempDir(), "trace")
			source, fixer := v.agent(t, "investigator"), v.agent(t, "fixer")
			p := v.offer(t, source, "fixer")
			require.NoError(t, os.WriteFile(file, nil, 0o600))
			require.NoError(t, os.Truncate(file, 40<<20))
			fixer.Repo.Runner.Env = append(fixer.Repo.Runner.Env, trace(t, fixer, file))
			hub := fixer.home.(*crossrepo.Hub)
			require.NoError(t, hub.Refresh(t.Context(), lifecycle.FetchSpec{Inboxes: []string{"fixer"}, Lanes: []handoff.ID{p.ID}, Log: true}))
			known, err := filepath.Glob(fixer.Repo.Own("hubs/*.json"))
			require.NoError(t, err)
			require.NotEmpty(t, known)
			for _, path := range known {
				text, err := os.ReadFile(path)
				require.NoError(t, err)
				assert.NotContains(t, string(text), "narrow")
			}
			fixer.mustClaim(t, p)
		})
	}
}

// A command that fails because it cannot add to its log is run again without a limit.
func TestLogLargerThanTheBound(t *testing.T) {
	v, file := newHubFixture(t, byPath()), filepath.Join(t.TempDir(), "log")
	source, fixer := v.agent(t, "investigator"), v.agent(t, "fixer")
	p := v.offer(t, source, "fixer")
	fixer.git.Git(t, "config", "remote.origin.uploadpack", logging(t, file, "set -e"))
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.NoError(t, os.Truncate(file, 40<<20))
	hub := fixer.home.(*crossrepo.Hub)
	require.NoError(t, hub.Refresh(t.Context(), lifecycle.FetchSpec{Inboxes: []string{"fixer"}, Lanes: []handoff.ID{p.ID}, Log: true}))
	fixer.mustClaim(t, p)
}

// logging returns a program that serves a fetch and adds a line to a log.
func logging(t *testing.T, log, first string) string {
	t.Helper()
	return uploadPack(t, "%s\n/bin/echo fetch >>'%s'", first, log)
}

// uploadPack returns the command of a program that runs some lines of shell and then serves a fetch.
func uploadPack(t *testing.T, format string, args ...any) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "upload-pack")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+fmt.Sprintf(format, args...)+"\nexec git-upload-pack \"$@\"\n"), 0o700))
	return fault.Arg(path)
}

// A copy of a ref below a lane, as older versions made them, does not record the state of the lane. It is
// removed to make room for the copy of the lane.
func TestRefBelowALaneIsNotItsMemory(t *testing.T) {
	v := newHubFixture(t, byPath())
	source, fixer := v.agent(t, "investigator"), v.agent(t, "fixer")
	p := v.offer(t, source, "fixer")
	hub := fixer.home.(*crossrepo.Hub)
	lane := hub.Namespace().Lane(p.ID)
	other := fixer.git.Commit(t, "a", "a", "first")
	for name, heal := range map[string]func() error{
		"a look": func() error { return hub.Refresh(t.Context(), lifecycle.WholeHandoffs(p)) },
		"what is known": func() error {
			memory, err := hub.Memory(t.Context())
			assert.Empty(t, memory)
			return err
		},
	} {
		fixer.git.Git(t, "update-ref", "-d", lane)
		fixer.git.Git(t, "update-ref", lane+"/x", other)
		require.NoError(t, heal(), name)
		assert.Empty(t, fixer.tip(t, lane+"/x"), name)
	}
	require.NoError(t, hub.Refresh(t.Context(), lifecycle.WholeHandoffs(p)))
	fixer.mustClaim(t, p)
}

// A symbolic ref in the mirror does not make a hub look rewound.
func TestSymbolicMirrorRefIsNotARewind(t *testing.T) {
	v := newHubFixture(t, byPath())
	source, fixer := v.agent(t, "investigator"), v.agent(t, "fixer")
	p := v.offer(t, source, "fixer")
	hub := fixer.home.(*crossrepo.Hub)
	require.NoError(t, hub.Refresh(t.Context(), lifecycle.WholeHandoffs(p)))
	other := fixer.git.Commit(t, "a", "a", "first")
	fixer.git.Git(t, "update-ref", "refs/kept/other", other)
	fixer.git.Git(t, "symbolic-ref", hub.Mirror.Lane(p.ID), "refs/kept/other")
	hub.AskAgain()
	require.NoError(t, hub.Refresh(t.Context(), lifecycle.FetchSpec{Lanes: []handoff.ID{p.ID}, Once: true}))
	assert.Equal(t, fixer.tip(t, hub.Namespace().Lane(p.ID)), fixer.tip(t, hub.Mirror.Lane(p.ID)))
	fixer.mustClaim(t, p)
}
