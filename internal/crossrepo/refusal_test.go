package crossrepo_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/app/emit"
	"githandoff/internal/app/finish"
	"githandoff/internal/app/hubsync"
	"githandoff/internal/app/take"
	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
)

// A hub accepts deliveries and hides the handoffs from all who fetch. Nobody can take them, and the sender gets
// a message.
func TestHubHidesWhatItTook(t *testing.T) {
	v := newHubFixture(t, byPath())
	source, fixer := v.agent(t, "investigator"), v.agent(t, "fixer")
	v.Hub.Git(t, "config", "uploadpack.hideRefs", "refs/handoffs")
	_, err := emit.New(source.Workspace).Emit(t.Context(), emit.Request{Envelope: v.Envelope(t, "investigator", "fixer"), Home: source.home})
	require.Error(t, err)
	assert.Contains(t, err.Error(), "uploadpack.hideRefs")
	_, err = hubsync.New(source.Workspace, finish.New(source.Workspace)).Sync(t.Context(), nil)
	require.Error(t, err)
	assert.Equal(t, fault.Unavailable, fault.CodeOf(err))
	assert.Contains(t, err.Error(), "hides it from fetches")
	_, err = take.New(fixer.Workspace).Resume(t.Context(), take.Request{})
	assert.Equal(t, fault.NotFound, fault.CodeOf(err))
}

// A push that a rule of the hub refuses is not retried: the hub applied no part of it, so there is nothing to
// read.
func TestRefusedForGood(t *testing.T) {
	v := newHubFixture(t, byPath())
	source, fixer := v.agent(t, "investigator"), v.agent(t, "fixer")
	hook := filepath.Join(v.Hub.Dir, "hooks", "pre-receive")
	require.NoError(t, os.WriteFile(hook, []byte("#!/bin/sh\necho branches only\nexit 1\n"), 0o755))
	before := source.Repo.Runner.Started()
	p := v.prepare(t, source, "fixer")
	_, err := source.Engine.Offer(t.Context(), source.home, p)
	require.ErrorIs(t, err, refs.ErrRefused)
	assert.True(t, fault.Is(err, fault.HubRefused), "%v", err)
	assert.Contains(t, err.Error(), "branches only")
	assert.LessOrEqual(t, source.Repo.Runner.Started()-before, int64(2), "the push, and who reads objects for it")
	left, rerr := os.ReadDir(source.Engine.Recovery.Intents.Dir)
	require.NoError(t, rerr)
	assert.Empty(t, left, "it is not looked for later")

	// The step can be taken once the hub accepts it.
	require.NoError(t, os.Remove(hook))
	_, err = source.Engine.Offer(t.Context(), source.home, p)
	require.NoError(t, err)
	held := fixer.mustClaim(t, lifecycle.Place{Agent: "fixer", ID: p.Envelope.ID})

	// A hub that refuses all deletions is recognized, and the message says that no handoff can end there.
	update := filepath.Join(v.Hub.Dir, "hooks", "update")
	require.NoError(t, os.WriteFile(update, []byte("#!/bin/sh\ncase $3 in 000*) echo no deletions; exit 1;; esac\n"), 0o755))
	_, _, err = fixer.Engine.Acknowledge(t.Context(), fixer.home, held, lifecycle.Outcome{})
	require.ErrorIs(t, err, refs.ErrRefused)
	assert.Contains(t, fault.As(err).Advice(), "be deleted: no handoff can end there")
}

// The message quotes the reason in the output of a failed git: no warnings before it, and nothing after the line
// that states it.
func TestGitSaid(t *testing.T) {
	for stderr, want := range map[string]string{
		"warning: ignoring --negotiation-tip=x because it does not match any refs\nfatal: 'hub' does not appear to be a git repository\nmore": `"'hub' does not appear to be a git repository"`,
		"remote: no entry\nfatal: unable to access:\nrefused":                                      `"remote: no entry; unable to access:; refused"`,
		"remote: \nremote: error:\nremote: error: no entry\nremote: error:\nerror: failed to push": `"remote: error: no entry; error: failed to push"`,
		"warning: only this": `"warning: only this"`,
		strings.Repeat("a banner\n", 100) + "Permission denied\nfatal: Could not read": `"…; ` + strings.Repeat("a banner; ", 36) + `Permission denied; Could not read"`,
	} {
		assert.Equal(t, want, crossrepo.GitSaid(&gitexec.Error{Program: "git fetch", Code: 128, Stderr: stderr}), stderr)
	}
}
