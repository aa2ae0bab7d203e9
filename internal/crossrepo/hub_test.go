package crossrepo_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/app/emit"
	"githandoff/internal/app/finish"
	"githandoff/internal/app/hubsync"
	"githandoff/internal/fault"
	"githandoff/internal/gittest"
	"githandoff/internal/lifecycle"
	"githandoff/internal/outbox"
	"githandoff/internal/record"
	"githandoff/internal/refs"
)

// hook installs a hook at the hub, or removes it if the script is empty.
func (v *fixture) hook(t testing.TB, name, script string) {
	t.Helper()
	path := filepath.Join(v.Hub.Dir, "hooks", name)
	if script == "" {
		require.NoError(t, os.Remove(path))
		return
	}
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o755))
}

// loseAnswers makes the hub die after it has moved the refs of the next push and before it answers. armed
// reports whether that is still to come.
func (v *fixture) loseAnswers(t *testing.T) (armed func() bool) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "armed")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	v.hook(t, "reference-transaction", fmt.Sprintf(
		`test "$1" = committed && test -e '%[1]s' && rm '%[1]s' && kill -9 $PPID; exit 0`, path))
	return func() bool {
		_, err := os.Stat(path)
		return err == nil
	}
}

// After a lost answer the hub is read again. If it has the step, the step succeeded, and it is there once.
func TestHubLosesItsAnswer(t *testing.T) {
	overTransports(t, func(t *testing.T, v *fixture) {
		source, fixer := v.agent(t, "investigator"), v.agent(t, "fixer")
		p := v.prepare(t, source, "fixer")
		at := lifecycle.Place{Agent: "fixer", ID: p.Record.ID}
		require.NoError(t, source.Repo.Apply(t.Context(), refs.Transaction{
			Edits: []refs.Edit{{Ref: refs.Outbox("fixer", at.ID), New: p.Commit.OID}}, Objects: p.Objects,
		}))

		armed := v.loseAnswers(t)
		require.NoError(t, outbox.New(source.Workspace).Deliver(t.Context(), source.home, p))
		require.False(t, armed(), "the hub died")
		assert.Equal(t, p.Commit.OID, source.git.Git(t, "rev-parse", refs.Sent("fixer", at.ID)))
		assert.Empty(t, source.git.Git(t, "for-each-ref", refs.Root+"outbox/"))

		armed = v.loseAnswers(t)
		h := fixer.mustClaim(t, at)
		require.False(t, armed())
		armed = v.loseAnswers(t)
		_, repeated, err := fixer.Engine.Acknowledge(t.Context(), fixer.home, h, lifecycle.Outcome{})
		require.NoError(t, err)
		require.False(t, armed())
		assert.False(t, repeated)
		assert.Equal(t, []string{"offered", "claimed", "acknowledged"}, v.log(t, at.ID))
		assert.Empty(t, v.inbox(t, at))
		assert.NoFileExists(t, fixer.Engine.Recovery.Intents.Dir, "no step made an inbox ref")
	})
}

// A clone read the inbox, then an earlier push of its own reached the hub, then the clone read the lane. The
// handoff looks lost, but is not offered twice.
func TestOfferThatLandedBetweenTwoFetches(t *testing.T) {
	v := newHubFixture(t, byPath())
	source := v.agent(t, "investigator")
	v.agent(t, "fixer")
	p := v.prepare(t, source, "fixer")
	_, err := source.Engine.Offer(t.Context(), source.home, p)
	require.NoError(t, err)
	source.git.Git(t, "update-ref", "-d", source.home.Namespace().Inbox("fixer", p.Record.ID))

	_, err = source.Engine.Offer(t.Context(), source.home, p)
	require.NoError(t, err)
	assert.Equal(t, []string{"offered"}, v.log(t, p.Record.ID))
}

// A hub that cannot take a step is told apart from one that refuses it. The step is kept.
func TestHubRefuses(t *testing.T) {
	for _, tc := range []struct {
		name, reason string
		make         func(*testing.T, *fixture)
		mend         func(*testing.T, *fixture)
	}{
		{
			"atomic pushes", "no_atomic_push",
			func(t *testing.T, v *fixture) { v.Hub.Git(t, "config", "receive.advertiseAtomic", "false") },
			func(t *testing.T, v *fixture) { v.Hub.Git(t, "config", "--unset", "receive.advertiseAtomic") },
		},
		{
			"by its pre-receive hook", "hub_refused",
			func(t *testing.T, v *fixture) { v.hook(t, "pre-receive", "echo no custom refs >&2; exit 1") },
			func(t *testing.T, v *fixture) { v.hook(t, "pre-receive", "") },
		},
		{
			"one ref by its update hook", "hub_refused",
			func(t *testing.T, v *fixture) { v.hook(t, "update", `case "$1" in *log*) exit 1;; esac`) },
			func(t *testing.T, v *fixture) { v.hook(t, "update", "") },
		},
		{
			"hidden refs", "hub_refused",
			func(t *testing.T, v *fixture) { v.Hub.Git(t, "config", "receive.hideRefs", "refs/handoffs") },
			func(t *testing.T, v *fixture) { v.Hub.Git(t, "config", "--unset", "receive.hideRefs") },
		},
		{
			"to be there", "remote_unavailable",
			func(t *testing.T, v *fixture) { require.NoError(t, os.Rename(v.Hub.Dir, v.Hub.Dir+".away")) },
			func(t *testing.T, v *fixture) { require.NoError(t, os.Rename(v.Hub.Dir+".away", v.Hub.Dir)) },
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			v := newHubFixture(t, byPath())
			source := v.agent(t, "investigator")
			tc.make(t, v)
			done, err := emit.New(source.Workspace).Emit(t.Context(), emit.Request{Envelope: v.Envelope(t, "investigator", "fixer"), Home: source.home})
			require.Error(t, err)
			f := fault.As(err)
			require.NotNil(t, f, err)
			assert.Equal(t, fault.Reason(tc.reason), f.Reason, err)
			assert.Equal(t, fault.Unavailable, f.Code)
			assert.Contains(t, f.Message, "waits in the outbox")
			assert.NotEmpty(t, f.Advice())
			require.NotNil(t, done, "its id is known all the same")
			assert.Equal(t, "queued", done.State)
			assert.Equal(t, done.Commit, source.git.Git(t, "rev-parse", refs.Outbox("fixer", done.ID)))

			_, err = hubsync.New(source.Workspace, finish.New(source.Workspace)).Sync(t.Context(), nil)
			assert.True(t, fault.Is(err, fault.Reason(tc.reason)), "not mended yet: %v", err)
			tc.mend(t, v)
			at := lifecycle.Place{Agent: "fixer", ID: done.ID}
			assert.Empty(t, v.inbox(t, at), "nothing was left at the hub")
			did, err := hubsync.New(source.Workspace, finish.New(source.Workspace)).Sync(t.Context(), nil)
			require.NoError(t, err)
			require.Len(t, did, 1)
			require.NotNil(t, did[0].Record)
			assert.Equal(t, record.Offered, did[0].Record.Event)
			did[0].Record = nil
			assert.Equal(t, []hubsync.Done{{What: "delivered", ID: done.ID, Alias: "origin"}}, did)
			assert.Equal(t, done.Commit, v.inbox(t, at))
			assert.Equal(t, []string{"offered"}, v.log(t, done.ID))
		})
	}
}

// The output of a hook at the hub is printed with its control characters escaped.
func TestHubRefusalIsEscaped(t *testing.T) {
	v := newHubFixture(t, byPath())
	source := v.agent(t, "investigator")
	v.hook(t, "pre-receive", `printf 'ask \033[31mthe admin\007\n' >&2; exit 1`)
	_, err := emit.New(source.Workspace).Emit(t.Context(), emit.Request{Envelope: v.Envelope(t, "investigator", "fixer"), Home: source.home})
	assert.True(t, fault.Is(err, "hub_refused"), err)
	assert.ErrorContains(t, err, "the admin")
	assert.NotContains(t, err.Error(), "\x1b")
	assert.NotContains(t, err.Error(), "\a")
}

func TestHubReadOnly(t *testing.T) {
	v := newHubFixture(t, byPath())
	v.URL = gittest.HTTP(t, v.Dir, gittest.HTTPOptions{ReadOnly: true}) + "/hub.git"
	source := v.agent(t, "investigator")
	_, err := emit.New(source.Workspace).Emit(t.Context(), emit.Request{Envelope: v.Envelope(t, "investigator", "fixer"), Home: source.home})
	assert.True(t, fault.Is(err, "hub_refused"), err)
	assert.Equal(t, fault.Unavailable, fault.CodeOf(err))
	assert.Empty(t, v.Hub.Git(t, "for-each-ref", "refs/handoffs"))
}

// Two agents of one clone fetch and push at once. The copies never move back.
func TestHubCopiesOnlyGrow(t *testing.T) {
	v := newHubFixture(t, byPath())
	source, fixer := v.agent(t, "investigator"), v.agent(t, "fixer")
	p := v.offer(t, source, "fixer")
	before := fixer.look(t, p)
	h := fixer.mustClaim(t, p)
	_, _, err := fixer.Engine.Acknowledge(t.Context(), fixer.home, h, lifecycle.Outcome{})
	require.NoError(t, err)
	lane := fixer.home.Namespace().Lane(p.ID)
	err = fixer.home.Apply(t.Context(), refs.Transaction{Edits: []refs.Edit{{Ref: lane, Old: before.LaneTip, New: before.LaneTip}}})
	require.ErrorAs(t, err, new(*refs.StaleError), "a tip that was left behind")
	assert.Equal(t, fixer.git.Git(t, "rev-parse", lane), v.Hub.Git(t, "rev-parse", refs.LocalNamespace.Lane(p.ID)))
}
