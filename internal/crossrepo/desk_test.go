package crossrepo_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/app/emit"
	"githandoff/internal/app/finish"
	"githandoff/internal/app/hubsync"
	"githandoff/internal/app/take"
	"githandoff/internal/fault"
	"githandoff/internal/gittest"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/receipt"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/successor"
	"githandoff/internal/work"
)

func (v *fixture) emit(t *testing.T, s *agent, to string, edit ...func(*handoff.Envelope)) *emit.Result {
	t.Helper()
	env := v.Envelope(t, s.name, to)
	for _, f := range edit {
		f(env)
	}
	done, err := emit.New(s.Workspace).Emit(t.Context(), emit.Request{Envelope: env, Home: s.home})
	require.NoError(t, err)
	return done
}

// resume takes a handoff and reads it.
func (s *agent) resume(t *testing.T, arg string) *take.Result {
	t.Helper()
	g, err := take.New(s.Workspace).Resume(t.Context(), take.Request{Arg: arg, Next: true})
	require.NoError(t, err)
	require.NoError(t, g.Printed(t.Context(), s.Claims))
	return g
}

func (v *fixture) take(s *agent, g *take.Result, event record.Event, data string) (*receipt.Result, error) {
	return finish.New(s.Workspace).Take(context.Background(), g.Claim, work.Step{Event: event, Nonce: g.Claim.Nonce, Data: data, Reason: data, At: v.Now()})
}

// assertErased checks that a gc removes an object from a repository.
func assertErased(t *testing.T, repo *gittest.Repo, oid string) {
	t.Helper()
	repo.Git(t, "reflog", "expire", "--expire=now", "--all")
	repo.Git(t, "gc", "--quiet", "--prune=now")
	_, _, code := repo.TryGit("cat-file", "-e", oid)
	assert.NotZero(t, code, "%s is still in %s", oid, repo.Dir)
}

// A handoff goes from one repository to another and back. None of the three repositories keeps any of the
// payload, and each can tell how the handoff ended.
func TestFromRepositoryToRepository(t *testing.T) {
	v := newHubFixture(t, byPath())
	source, fixer := v.agent(t, "investigator"), v.agent(t, "fixer")
	code := source.git.Commit(t, "auth.go", "package auth\n", "code")
	sent := v.emit(t, source, "fixer", func(e *handoff.Envelope) { e.Source.Commit = code })
	assert.Equal(t, "offered", sent.State)
	assert.Equal(t, refs.Sent("fixer", sent.ID), sent.Ref)

	g := fixer.resume(t, "")
	assert.Equal(t, "Fix the login", g.Verified.Envelope().Goal)
	assert.Equal(t, sent.ID, g.Claim.ID)
	v.Pass(90 * time.Second)
	ended, err := v.take(fixer, g, record.Acknowledged, `{"pr":"#743"}`)
	require.NoError(t, err)
	assert.False(t, ended.Repeated)
	ended, err = v.take(fixer, g, record.Acknowledged, "")
	require.NoError(t, err)
	assert.True(t, ended.Repeated, "already acknowledged")

	did, err := hubsync.New(source.Workspace, finish.New(source.Workspace)).Sync(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, did, 1)
	assert.Equal(t, "acknowledged", did[0].What)
	assert.Equal(t, `{"pr":"#743"}`, did[0].Record.Data)
	did, err = hubsync.New(source.Workspace, finish.New(source.Workspace)).Sync(t.Context(), nil)
	require.NoError(t, err)
	assert.Empty(t, did, "once")

	note := source.git.Git(t, "notes", "--ref=handoffs", "show", code)
	assert.Contains(t, note, "offered "+string(sent.ID))
	assert.Contains(t, note, "acknowledged "+string(sent.ID))
	assert.Equal(t, []string{"offered", "claimed", "acknowledged"}, v.log(t, sent.ID))
	for _, s := range []*agent{source, fixer} {
		assert.Empty(t, s.git.Git(t, "for-each-ref", "--contains", sent.Commit))
		s.Repo.Close()
		assertErased(t, s.git, sent.Commit)
	}
	assertErased(t, v.Hub, sent.Commit)
}

// A recipient that fails the handoff returns it with the reason, the checkpoint, and a lineage that still names
// what was erased.
func TestFailureComesBack(t *testing.T) {
	v := newHubFixture(t, byPath())
	source, fixer := v.agent(t, "investigator"), v.agent(t, "fixer")
	sent := v.emit(t, source, "fixer", func(e *handoff.Envelope) {
		e.Rollback = &handoff.Rollback{OnFailure: "investigator", Checkpoint: "before-the-merge"}
		e.Data = map[string]string{"branch": "fix/lin-423"}
	})
	g := fixer.resume(t, "")
	const why = "the tests do not build"
	ended, err := finish.New(fixer.Workspace).Take(t.Context(), g.Claim, work.Step{
		Event: record.Failed, Nonce: g.Claim.Nonce, Data: `{"error":"` + why + `"}`, Reason: why, At: v.Now(),
	})
	require.NoError(t, err)
	require.NotEmpty(t, ended.Next)
	claim := v.claimOf(t, fixer, sent.ID)
	same, err := successor.New(fixer.Workspace).ID(sent.ID, claim)
	require.NoError(t, err)
	assert.Equal(t, same, ended.Next, "the same child, however often it is tried")
	assert.NotEqual(t, handoff.DeriveID(claim.At, string(sent.ID), claim.Nonce), ended.Next, "nobody else can tell it")

	_, err = hubsync.New(source.Workspace, finish.New(source.Workspace)).Sync(t.Context(), nil)
	require.NoError(t, err)
	back := source.resume(t, "").Verified.Envelope()
	assert.Equal(t, ended.Next, back.ID)
	assert.Equal(t, sent.ID, back.Parent)
	assert.Equal(t, "LIN-423", back.Task)
	assert.Equal(t, why, back.Summary)
	assert.Equal(t, "before-the-merge", back.Rollback.Checkpoint)
	assert.Equal(t, []handoff.Ancestor{{
		ID: sent.ID, Agent: "investigator", Task: "LIN-423", Summary: "Nil session in auth.go", Data: map[string]string{"branch": "fix/lin-423"},
	}}, back.Lineage)
}

// claimOf returns the entry that claimed a handoff.
func (v *fixture) claimOf(t *testing.T, s *agent, id handoff.ID) *record.Record {
	t.Helper()
	for _, e := range s.look(t, lifecycle.Place{Agent: "fixer", ID: id}).Entries {
		if e.Record().Event == record.Claimed {
			return e.Record()
		}
	}
	t.Fatalf("%s was never claimed", id)
	return nil
}

// While the hub is down steps are kept. They are taken when it is back.
func TestStepsAreKept(t *testing.T) {
	for _, event := range []record.Event{record.Acknowledged, record.Failed, record.Progressed, record.Released} {
		t.Run(string(event), func(t *testing.T) {
			t.Parallel()
			v := newHubFixture(t, byPath())
			source, fixer := v.agent(t, "investigator"), v.agent(t, "fixer")
			sent := v.emit(t, source, "fixer")
			g := fixer.resume(t, "")
			require.NoError(t, os.Rename(v.Hub.Dir, v.Hub.Dir+".away"))
			_, err := v.take(fixer, g, event, "")
			assert.Equal(t, fault.Unavailable, fault.CodeOf(err), err)
			assert.ErrorContains(t, err, "the step is kept")
			_, err = hubsync.New(fixer.Workspace, finish.New(fixer.Workspace)).Sync(t.Context(), nil)
			assert.Equal(t, fault.Unavailable, fault.CodeOf(err), "not yet: %v", err)

			require.NoError(t, os.Rename(v.Hub.Dir+".away", v.Hub.Dir))
			did, err := hubsync.New(fixer.Workspace, finish.New(fixer.Workspace)).Sync(t.Context(), nil)
			require.NoError(t, err)
			require.Len(t, did, 1)
			assert.Equal(t, string(event), did[0].What)
			assert.Equal(t, []string{"offered", "claimed", string(event)}, v.log(t, sent.ID))
			did, err = hubsync.New(fixer.Workspace, finish.New(fixer.Workspace)).Sync(t.Context(), nil)
			require.NoError(t, err)
			assert.Empty(t, did)
		})
	}
}

// A kept step depends on its claim: if the claim is lost, the step is dropped and reported.
func TestKeptStepIsDroppedWithItsClaim(t *testing.T) {
	v := newHubFixture(t, byPath())
	source, fixer, peer := v.agent(t, "investigator"), v.agent(t, "fixer"), v.agent(t, "fixer")
	sent := v.emit(t, source, "fixer")
	g := fixer.resume(t, "")
	require.NoError(t, os.Rename(v.Hub.Dir, v.Hub.Dir+".away"))
	_, err := v.take(fixer, g, record.Acknowledged, "")
	require.Equal(t, fault.Unavailable, fault.CodeOf(err), err)
	v.Pass(lifecycle.DefaultLease + time.Second)
	require.NoError(t, os.Rename(v.Hub.Dir+".away", v.Hub.Dir))
	peer.resume(t, string(sent.ID))

	_, err = hubsync.New(fixer.Workspace, finish.New(fixer.Workspace)).Sync(t.Context(), nil)
	assert.True(t, fault.Is(err, "not_holder"), err)
	assert.Equal(t, fault.Conflict, fault.CodeOf(err))
	did, err := hubsync.New(fixer.Workspace, finish.New(fixer.Workspace)).Sync(t.Context(), nil)
	require.NoError(t, err, "reported once")
	assert.Empty(t, did)
	assert.Equal(t, []string{"offered", "claimed", "claimed"}, v.log(t, sent.ID))
}

// A kept step belongs to the claim under which it was kept, and not to a later claim of the same worktree.
func TestKeptStepIsForItsClaim(t *testing.T) {
	v := newHubFixture(t, byPath())
	source, fixer, peer := v.agent(t, "investigator"), v.agent(t, "fixer"), v.agent(t, "fixer")
	sent := v.emit(t, source, "fixer")
	g := fixer.resume(t, "")
	require.NoError(t, os.Rename(v.Hub.Dir, v.Hub.Dir+".away"))
	_, err := v.take(fixer, g, record.Acknowledged, "")
	require.Equal(t, fault.Unavailable, fault.CodeOf(err), err)
	v.Pass(lifecycle.DefaultLease + time.Second)
	require.NoError(t, os.Rename(v.Hub.Dir+".away", v.Hub.Dir))
	_, err = v.take(peer, peer.resume(t, string(sent.ID)), record.Released, "")
	require.NoError(t, err)
	fixer.resume(t, string(sent.ID))

	_, err = hubsync.New(fixer.Workspace, finish.New(fixer.Workspace)).Sync(t.Context(), nil)
	assert.True(t, fault.Is(err, "not_holder"), err)
	assert.Equal(t, []string{"offered", "claimed", "claimed", "released", "claimed"}, v.log(t, sent.ID))
}

// The outbox of a copied clone still has handoffs that the original delivered and that have ended since.
func TestStaleOutbox(t *testing.T) {
	v := newHubFixture(t, byPath())
	source, fixer := v.agent(t, "investigator"), v.agent(t, "fixer")
	env := v.Envelope(t, "investigator", "fixer")
	queued, err := emit.New(source.Workspace).Emit(t.Context(), emit.Request{Envelope: env, Home: source.home, Queue: true})
	require.NoError(t, err)
	assert.Empty(t, v.Hub.Git(t, "for-each-ref", "refs/handoffs"), "only queued")
	dir := filepath.Join(t.TempDir(), "copy")
	require.NoError(t, exec.Command("cp", "-a", source.git.Dir, dir).Run())
	stale := v.open(t, "investigator", source.Engine.Author.Signer, &gittest.Repo{Dir: dir, Env: v.Env})

	_, err = hubsync.New(source.Workspace, finish.New(source.Workspace)).Sync(t.Context(), nil)
	require.NoError(t, err)
	_, err = v.take(fixer, fixer.resume(t, ""), record.Acknowledged, "")
	require.NoError(t, err)
	before := v.Hub.Git(t, "for-each-ref")

	_, err = hubsync.New(stale.Workspace, finish.New(stale.Workspace)).Sync(t.Context(), nil)
	require.NoError(t, err)
	assert.Equal(t, before, v.Hub.Git(t, "for-each-ref"), "nothing is open again")
	assert.Empty(t, stale.git.Git(t, "for-each-ref", refs.Root+"outbox/", refs.Root+"sent/"), "and it knows by now")
	_, err = take.New(fixer.Workspace).Resume(t.Context(), take.Request{})
	assert.True(t, fault.Is(err, "nothing_pending"), err)
	_, err = take.New(fixer.Workspace).Resume(t.Context(), take.Request{Arg: string(queued.ID)})
	assert.Error(t, err)
}

// Three workers take handoffs from one inbox without ids. Each gets one of the three.
func TestWorkersShareAnInbox(t *testing.T) {
	v := newHubFixture(t, byPath())
	source := v.agent(t, "investigator")
	workers := []*agent{v.agent(t, "fixer"), v.agent(t, "fixer"), v.agent(t, "fixer")}
	for range workers {
		v.emit(t, source, "fixer")
	}
	got := make([]handoff.ID, len(workers))
	var wg sync.WaitGroup
	for i, w := range workers {
		wg.Go(func() {
			if g, err := take.New(w.Workspace).Resume(t.Context(), take.Request{}); assert.NoError(t, err) {
				got[i] = g.Claim.ID
				assert.NoError(t, g.Printed(t.Context(), w.Claims))
			}
		})
	}
	wg.Wait()
	assert.Len(t, map[handoff.ID]bool{got[0]: true, got[1]: true, got[2]: true}, 3)
	_, err := take.New(workers[0].Workspace).Resume(t.Context(), take.Request{Next: true})
	assert.True(t, fault.Is(err, "nothing_pending"), err)
	assert.Equal(t, fault.NotFound, fault.CodeOf(err))
}

// A claim whose content was not printed is shown first, and shown again.
func TestUnprintedClaim(t *testing.T) {
	for _, at := range []*fixture{newLocalFixture(t), newHubFixture(t, byPath())} {
		source, fixer := at.agent(t, "investigator"), at.agent(t, "fixer")
		at.emit(t, source, "fixer")
		at.emit(t, source, "fixer")
		g, err := take.New(fixer.Workspace).Resume(t.Context(), take.Request{})
		require.NoError(t, err)
		g.Abandon() // as if killed before it was printed
		again := fixer.resume(t, "")
		assert.Equal(t, g.Claim.ID, again.Claim.ID)
		assert.Equal(t, g.Claim.Nonce, again.Claim.Nonce, "the same claim")
		assert.NotEqual(t, g.Claim.ID, fixer.resume(t, "").Claim.ID, "then the next one")
	}
}

// A resume was killed, and its push stopped between the two refs, so the lane does not have the claim. The same
// agent takes the handoff, and the log has one claim.
func TestUnprintedClaimThatIsHalfThere(t *testing.T) {
	v := newHubFixture(t, byPath())
	source, fixer := v.agent(t, "investigator"), v.agent(t, "fixer")
	sent := v.emit(t, source, "fixer")
	g, err := take.New(fixer.Workspace).Resume(t.Context(), take.Request{})
	require.NoError(t, err)
	g.Abandon()
	lane, copied := refs.LocalNamespace.Lane(sent.ID), fixer.home.Namespace().Lane(sent.ID)
	there := v.Hub.Git(t, "rev-parse", lane)
	v.Hub.Git(t, "update-ref", lane, there+"^")
	fixer.git.Git(t, "update-ref", copied, there+"^")

	again := fixer.resume(t, "")
	assert.NotEqual(t, g.Claim.Nonce, again.Claim.Nonce)
	assert.True(t, again.Claim.Mine(g.Claim.Nonce), "had it come after all, it would be this one's")
	assert.Equal(t, []string{"offered", "claimed"}, v.log(t, sent.ID))
}
