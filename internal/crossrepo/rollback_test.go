package crossrepo_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/app/emit"
	"githandoff/internal/app/finish"
	"githandoff/internal/app/hubsync"
	"githandoff/internal/crossrepo"
	"githandoff/internal/enginetest"
	"githandoff/internal/fault"
	"githandoff/internal/gittest"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
)

// backup is an earlier state of a hub.
type backup map[string]string

func (v *fixture) backup(t *testing.T) backup {
	t.Helper()
	b := backup{}
	list := v.Hub.Git(t, "for-each-ref", "--format=%(refname) %(objectname)")
	for _, line := range splitLines(list) {
		b[line[0]] = line[1]
	}
	return b
}

// restore returns the hub to an earlier state. Refs that were added since are removed.
func (v *fixture) restore(t *testing.T, b backup) {
	t.Helper()
	for _, line := range splitLines(v.Hub.Git(t, "for-each-ref", "--format=%(refname) %(objectname)")) {
		if b[line[0]] == "" {
			v.Hub.Git(t, "update-ref", "-d", line[0])
		}
	}
	for name, oid := range b {
		v.Hub.Git(t, "update-ref", name, oid)
	}
}

// A hub whose lane lost entries that this clone has seen is refused. A clone with the longer lane gives the
// entries back. A handoff that ended stays ended.
func TestHubRestoredFromABackup(t *testing.T) {
	v := newHubFixture(t, byPath())
	source, fixer, late := v.agent(t, "investigator"), v.agent(t, "fixer"), v.agent(t, "fixer")
	empty := v.backup(t)
	p := v.offer(t, source, "fixer")
	offered := v.backup(t)
	h := fixer.mustClaim(t, p)
	claimed := v.backup(t)
	_, _, err := fixer.Engine.Acknowledge(t.Context(), fixer.home, h, lifecycle.Outcome{})
	require.NoError(t, err)
	ended := v.log(t, p.ID)
	hub := fixer.home.(*crossrepo.Hub)

	for name, b := range map[string]backup{"before the receipt": claimed, "before the claim": offered} {
		v.restore(t, b)
		err = hub.Refresh(t.Context(), lifecycle.WholeHandoffs(p))
		assert.True(t, fault.Is(err, "rollback"), "%s: %v", name, err)
		assert.Equal(t, fault.Denied, fault.CodeOf(err))
		_, _, err = fixer.tryClaim(t.Context(), p)
		assert.Error(t, err, "nobody is given it who has seen how it ended")
		require.NoError(t, hub.CatchUp(t.Context()), name)
		assert.Equal(t, ended, v.log(t, p.ID), name)
		require.NoError(t, hub.Refresh(t.Context(), lifecycle.WholeHandoffs(p)), name)
		_, _, err = late.tryClaim(t.Context(), p)
		assert.True(t, fault.Is(err, "replayed"), "nor is anybody else: %v", err)
	}

	// The lane itself is gone. A fetch does not notice that, but a push does.
	v.restore(t, empty)
	assert.Equal(t, []string{refs.LocalNamespace.Lane(p.ID)}, missingLanes(t, hub))
	require.NoError(t, hub.CatchUp(t.Context()))
	assert.Equal(t, ended, v.log(t, p.ID))
}

// missingLanes lists the lanes that a clone has seen and its hub has lost.
func missingLanes(t *testing.T, hub *crossrepo.Hub) []string {
	t.Helper()
	memory, err := hub.Memory(t.Context())
	require.NoError(t, err)
	require.NoError(t, hub.Fetch(t.Context(), lifecycle.FetchSpec{Log: true, Memory: memory}))
	lost, err := hub.Lost(t.Context(), memory)
	require.NoError(t, err)
	return lost
}

// Several clones notice at once that a hub was restored. If another clone gives back all or some of the lanes
// first, a clone still gives back the rest.
func TestAnotherCloneGivesBackFirst(t *testing.T) {
	v := newHubFixture(t, byPath())
	source, fixer := v.agent(t, "investigator"), v.agent(t, "fixer")
	empty := v.backup(t)
	p := v.offer(t, source, "fixer")
	offered := v.backup(t)
	h := fixer.mustClaim(t, p)
	claimed := v.backup(t)
	_, _, err := fixer.Engine.Acknowledge(t.Context(), fixer.home, h, lifecycle.Outcome{})
	require.NoError(t, err)
	ended, log := v.backup(t), v.log(t, p.ID)
	hub := fixer.home.(*crossrepo.Hub)

	for name, b := range map[string][2]backup{
		"a part": {offered, claimed}, "all": {offered, ended}, "a part of nothing": {empty, claimed}, "all of nothing": {empty, ended},
	} {
		v.restore(t, b[0])
		memory, err := hub.Memory(t.Context())
		require.NoError(t, err, name)
		require.NoError(t, hub.Fetch(t.Context(), lifecycle.FetchSpec{Log: true, Memory: memory}), name)
		v.restore(t, b[1])
		require.NoError(t, hub.GiveBackLost(t.Context(), memory, crossrepo.Means{}), name)
		assert.Equal(t, log, v.log(t, p.ID), name)
	}
}

// sameLane returns another id of the same lane.
func sameLane(id handoff.ID) handoff.ID { return "ho_01kahcp3g000000000000000" + handoff.ID(id.Lane()) }

// A hub that lost a lane takes no step from a clone that knows the lane.
func TestHubThatLostItsLane(t *testing.T) {
	v := newHubFixture(t, byPath())
	source := v.agent(t, "investigator")
	v.agent(t, "fixer")
	p := v.offer(t, source, "fixer")
	v.Hub.Git(t, "update-ref", "-d", refs.LocalNamespace.Lane(p.ID))
	env := v.Envelope(t, "investigator", "fixer")
	env.ID = sameLane(p.ID)
	again, err := source.Engine.Author.Prepare(t.Context(), source.home, env, "")
	require.NoError(t, err)
	_, err = source.Engine.Offer(t.Context(), source.home, again)
	assert.True(t, fault.Is(err, "rollback"), err)
	assert.Empty(t, v.inbox(t, lifecycle.Place{Agent: "fixer", ID: env.ID}))

	require.NoError(t, source.home.(*crossrepo.Hub).CatchUp(t.Context()))
	_, err = source.Engine.Offer(t.Context(), source.home, again)
	require.NoError(t, err)
	assert.Equal(t, []string{"offered"}, v.log(t, env.ID))
	assert.Equal(t, []string{"offered"}, v.log(t, p.ID))
}

// A lane with two histories must be joined by a person.
func TestHubFork(t *testing.T) {
	v := newHubFixture(t, byPath())
	source, fixer, peer := v.agent(t, "investigator"), v.agent(t, "fixer"), v.agent(t, "fixer")
	p := v.offer(t, source, "fixer")
	offered := v.backup(t)
	fixer.mustClaim(t, p)
	v.restore(t, offered)
	peer.mustClaim(t, p) // peer has not seen the other claim
	forked := v.backup(t)

	hub := fixer.home.(*crossrepo.Hub)
	err := hub.Refresh(t.Context(), lifecycle.WholeHandoffs(p))
	assert.True(t, fault.Is(err, "rollback"), err)
	err = hub.CatchUp(t.Context())
	assert.True(t, fault.Is(err, "rollback"), err)
	assert.ErrorContains(t, err, "different histories")
	assert.Equal(t, forked, v.backup(t), "nothing was changed there")
}

// newLostCrate returns a hub that lost the crate of 9 handoffs sent there. full is what it had.
func newLostCrate(t *testing.T) (v *fixture, source *agent, full backup, log string) {
	t.Helper()
	v, source, c, log := newCrate(t, 9)
	empty := v.backup(t)
	c.send(t, source, log)
	full = v.backup(t)
	v.restore(t, empty)
	return v, source, full, log
}

// A hub that lost many lanes gets them in one push.
func TestCatchUpInOnePush(t *testing.T) {
	t.Parallel()
	v, source, full, log := newLostCrate(t)
	require.NoError(t, os.WriteFile(log, nil, 0o600))
	hub := source.home.(*crossrepo.Hub)
	require.NoError(t, hub.CatchUp(t.Context()))
	assert.Equal(t, []string{"fetch", "push"}, tripsIn(t, log))
	assert.ErrorContains(t, hub.GaveBack(), "entries of 7 lanes")
	for name, oid := range full {
		if strings.HasPrefix(name, "refs/handoffs/log/") {
			assert.Equal(t, oid, v.Hub.Git(t, "rev-parse", name))
		}
	}
	require.NoError(t, hub.CatchUp(t.Context()), "nothing is left to give")
}

// A hub that refuses one lane gets the others in one push. Whatever arrived counts, also without an answer.
func TestCatchUpInPart(t *testing.T) {
	t.Parallel()
	const bad = "refs/handoffs/log/02"
	for name, tc := range map[string]struct {
		hub    func(*testing.T, *fixture)
		pushes int
		back   string
	}{
		"a hook refuses a lane": {
			func(t *testing.T, v *fixture) { v.hook(t, "update", "[ $1 != "+bad+" ]") },
			3, "6 lanes",
		},
		"a lane is hidden": {
			func(t *testing.T, v *fixture) { v.Hub.Git(t, "config", "receive.hideRefs", bad) },
			3, "6 lanes",
		},
		"the answer is lost": {
			func(t *testing.T, v *fixture) { v.loseAnswers(t) }, 1, "7 lanes",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, source, full, log := newLostCrate(t)
			tc.hub(t, v)
			require.NoError(t, os.WriteFile(log, nil, 0o600))
			hub := source.home.(*crossrepo.Hub)
			err := hub.CatchUp(t.Context())
			pushes := slices.DeleteFunc(tripsIn(t, log), func(trip string) bool { return trip != "push" })
			assert.Len(t, pushes, tc.pushes)
			assert.ErrorContains(t, hub.GaveBack(), "entries of "+tc.back)
			now := v.backup(t)
			if tc.back == "6 lanes" {
				assert.ErrorContains(t, err, bad)
				assert.Empty(t, now[bad])
				delete(full, bad)
			} else {
				assert.NoError(t, err)
			}
			for name, oid := range full {
				if strings.HasPrefix(name, "refs/handoffs/log/") {
					assert.Equal(t, oid, now[name], name)
				}
			}
		})
	}
}

// A hub can write a line into the report of git, in the reason of a refusal, that names a ref which nobody pushed.
// Catching up ends nevertheless.
func TestCatchUpRefusedForAnotherRef(t *testing.T) {
	lies := filepath.Join(t.TempDir(), "lies")
	gittest.WrapGit(t, `case " $* " in *' push '*)
	if [ -e '`+lies+`' ]; then printf '!\trefs/x:refs/x\t[remote rejected] (no)\n'; exit 1; fi
esac`)
	_, source, _, _ := newLostCrate(t)
	require.NoError(t, os.WriteFile(lies, nil, 0o600))
	err := source.home.(*crossrepo.Hub).CatchUp(t.Context())
	assert.True(t, fault.Is(err, fault.HubRefused), "%v", err)
}

// A hub that is ahead of a clone does not have another history.
func TestCatchUpWithAHubThatIsAhead(t *testing.T) {
	v := newHubFixture(t, byPath())
	source, fixer := v.agent(t, "investigator"), v.agent(t, "fixer")
	p := v.offer(t, source, "fixer")
	fixer.mustClaim(t, p)
	require.NoError(t, source.home.(*crossrepo.Hub).CatchUp(t.Context()))
	assert.Equal(t, []string{"offered", "claimed"}, v.log(t, p.ID))
}

// A person with a root key joins two histories, and all clones go on from there. The entries of the hub count,
// and those of the other history that still can.
func TestRootKeyJoinsAFork(t *testing.T) {
	v := newHubFixture(t, byPath())
	source, fixer, peer := v.agent(t, "investigator"), v.agent(t, "fixer"), v.agent(t, "fixer")
	p := v.offer(t, source, "fixer")
	other := v.Envelope(t, "investigator", "fixer")
	other.ID = sameLane(p.ID)
	offered := v.backup(t)
	h := fixer.mustClaim(t, p)
	_, _, err := fixer.Engine.Acknowledge(t.Context(), fixer.home, h, lifecycle.Outcome{})
	require.NoError(t, err)
	v.restore(t, offered)
	second, err := peer.Engine.Author.Prepare(t.Context(), peer.home, other, "")
	require.Error(t, err, "the peer is no sender of this name")
	require.Nil(t, second)
	late := v.agent(t, "investigator")
	second, err = late.Engine.Author.Prepare(t.Context(), late.home, other, "")
	require.NoError(t, err)
	_, err = late.Engine.Offer(t.Context(), late.home, second)
	require.NoError(t, err)

	_, err = hubsync.New(fixer.Workspace, finish.New(fixer.Workspace)).Sync(t.Context(), []string{"origin"})
	assert.True(t, fault.Is(err, "rollback"), "an agent may not join: %v", err)

	alice := v.open(t, "alice@example.com", enginetest.NewKey(t), fixer.git)
	v.Trusted = append(v.Trusted, sign.TrustEntry{
		KID: alice.Engine.Author.Signer.KID(), Key: alice.Engine.Author.Signer.Public().Text(), Roles: []string{sign.RoleRoot},
		Principals: []string{"user:alice@example.com"},
	})
	v.Spread(t)
	_, err = hubsync.New(alice.Workspace, finish.New(alice.Workspace)).Sync(t.Context(), []string{"origin"})
	require.NoError(t, err)

	for name, who := range map[string]*agent{"the one that saw it": fixer, "the one that did not": late, "a new clone": v.agent(t, "fixer")} {
		require.NoError(t, who.home.Refresh(t.Context(), lifecycle.WholeHandoffs(p)), name)
		assert.Equal(t, lifecycle.Ended, who.look(t, p).Phase(), name)
		assert.Equal(t, lifecycle.Open, who.look(t, lifecycle.Place{Agent: "fixer", ID: other.ID}).Phase(), name)
	}
	fixer.mustClaim(t, lifecycle.Place{Agent: "fixer", ID: other.ID})
}

// A merge that no root key signed could hide a receipt from clones that accept any fast-forward. The lane is
// refused.
func TestMergeOfALaneByAStranger(t *testing.T) {
	v := newHubFixture(t, byPath())
	source, fixer := v.agent(t, "investigator"), v.agent(t, "fixer")
	p := v.offer(t, source, "fixer")
	lane := refs.LocalNamespace.Lane(p.ID)
	offered := v.backup(t)
	h := fixer.mustClaim(t, p)
	_, _, err := fixer.Engine.Acknowledge(t.Context(), fixer.home, h, lifecycle.Outcome{})
	require.NoError(t, err)
	ended := v.backup(t)
	v.restore(t, offered)
	tree := strings.TrimSpace(v.Hub.Git(t, "rev-parse", lane+"^{tree}"))

	for name, merge := range map[string]func() string{
		"unsigned": func() string {
			return strings.TrimSpace(v.Hub.Git(t, "commit-tree", "-m", "x", "-p", offered[lane], "-p", ended[lane], tree))
		},
		"by an agent": func() string {
			o, err := fixer.Engine.Join(t.Context(), offered[lane], ended[lane])
			require.NoError(t, err)
			require.NoError(t, fixer.Repo.Store.Write(o))
			fixer.git.Git(t, "push", "-q", "origin", o.OID+":refs/heads/carrier")
			return o.OID
		},
	} {
		v.Hub.Git(t, "update-ref", lane, merge())
		for who, s := range map[string]*agent{"who saw the end": fixer, "who did not": v.agent(t, "fixer")} {
			_, _, err := s.tryClaim(t.Context(), p)
			assert.Error(t, err, "%s, %s", name, who)
			require.NoError(t, s.home.Refresh(t.Context(), lifecycle.WholeHandoffs(p)))
			_, err = s.Engine.Reader.Load(t.Context(), s.home, p)
			assert.True(t, fault.Is(err, "rollback"), "%s, %s: %v", name, who, err)
		}
		fixer.git.Git(t, "update-ref", fixer.home.Namespace().Lane(p.ID), ended[lane])
	}
}

// sync repairs a hub that was restored: the log, the receipts and the open handoffs.
func TestSyncCatchesUp(t *testing.T) {
	for _, lost := range []string{"nothing but the last step", "everything"} {
		t.Run(lost, func(t *testing.T) {
			v := newHubFixture(t, byPath())
			source, fixer := v.agent(t, "investigator"), v.agent(t, "fixer")
			empty := v.backup(t)
			var sent []handoff.ID
			for range 2 {
				done, err := emit.New(source.Workspace).Emit(t.Context(), emit.Request{Envelope: v.Envelope(t, "investigator", "fixer"), Home: source.home})
				require.NoError(t, err)
				sent = append(sent, done.ID)
			}
			before := v.backup(t)
			p := lifecycle.Place{Agent: "fixer", ID: sent[0]}
			h := fixer.mustClaim(t, p)
			_, _, err := fixer.Engine.Acknowledge(t.Context(), fixer.home, h, lifecycle.Outcome{})
			require.NoError(t, err)
			source.look(t, p) // the source has seen the receipt and not yet reacted to it

			if lost == "everything" {
				before = empty
			}
			v.restore(t, before)
			_, err = hubsync.New(source.Workspace, finish.New(source.Workspace)).Sync(t.Context(), nil)
			require.NoError(t, err)
			assert.Equal(t, []string{"offered", "claimed", "acknowledged"}, v.log(t, sent[0]))
			assert.Contains(t, v.log(t, sent[1]), "offered")
			assert.NotEmpty(t, v.inbox(t, lifecycle.Place{Agent: "fixer", ID: sent[1]}), "what is open is there")
			assert.Empty(t, source.git.Git(t, "for-each-ref", refs.Sent("fixer", sent[0])))
			_, _, err = fixer.tryClaim(t.Context(), p)
			assert.True(t, fault.Is(err, "replayed"), err)
			fixer.mustClaim(t, lifecycle.Place{Agent: "fixer", ID: sent[1]})
		})
	}
}

// Any clone with the longer lane can repair the hub, also one that sent nothing there, as the refusal tells its
// user to do.
func TestSyncByNameCatchesUp(t *testing.T) {
	v := newHubFixture(t, byPath())
	source, fixer := v.agent(t, "investigator"), v.agent(t, "fixer")
	p := v.offer(t, source, "fixer")
	offered := v.backup(t)
	h := fixer.mustClaim(t, p)
	v.restore(t, offered)
	err := fixer.home.Refresh(t.Context(), lifecycle.WholeHandoffs(p))
	require.True(t, fault.Is(err, "rollback"), err)
	assert.Contains(t, fault.As(err).Advice(), "githandoff sync origin")

	_, err = hubsync.New(fixer.Workspace, finish.New(fixer.Workspace)).Sync(t.Context(), []string{"origin"})
	require.NoError(t, err)
	assert.Equal(t, []string{"offered", "claimed"}, v.log(t, p.ID))
	_, _, err = fixer.Engine.Acknowledge(t.Context(), fixer.home, h, lifecycle.Outcome{})
	require.NoError(t, err, "the claim is a claim again")
	assert.Empty(t, v.inbox(t, p))
}

// A lane that the hub refuses does not prevent other lanes from being given back.
func TestRefusedLaneKeepsNoOtherBack(t *testing.T) {
	v := newHubFixture(t, byPath())
	source := v.agent(t, "investigator")
	empty := v.backup(t)
	ids := []handoff.ID{"ho_01kahcp3g000000000000000aa", "ho_01kahcp3g000000000000000zz"}
	for _, id := range ids {
		env := v.Envelope(t, "investigator", "fixer")
		env.ID = id
		p, err := source.Engine.Author.Prepare(t.Context(), source.home, env, "")
		require.NoError(t, err)
		_, err = source.Engine.Offer(t.Context(), source.home, p)
		require.NoError(t, err)
	}
	v.restore(t, empty)
	hook := "#!/bin/sh\nwhile read -r old new ref; do case $ref in */log/aa) echo \"githandoff: $ref: malformed: 2 steps\" >&2; exit 1 ;; esac; done\n"
	require.NoError(t, os.WriteFile(filepath.Join(v.Hub.Dir, "hooks", "pre-receive"), []byte(hook), 0o755))

	err := source.home.(*crossrepo.Hub).CatchUp(t.Context())
	assert.True(t, fault.Is(err, "malformed"), "%v", err)
	assert.Empty(t, v.log(t, ids[0]))
	assert.Equal(t, []string{"offered"}, v.log(t, ids[1]))

	// Nor does a copy that a stranger has merged.
	v.restore(t, empty)
	copied := source.home.Namespace().Lane(ids[0])
	merge := source.git.Git(t, "commit-tree", "-m", "merge", "-p", copied, "-p", source.home.Namespace().Lane(ids[1]), gittest.Objects().EmptyTree())
	source.git.Git(t, "update-ref", copied, merge)
	err = source.home.(*crossrepo.Hub).CatchUp(t.Context())
	assert.ErrorContains(t, err, "joins histories")
	assert.Empty(t, v.log(t, ids[0]))
	assert.Equal(t, []string{"offered"}, v.log(t, ids[1]))
}
