package refs

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
	"githandoff/internal/handoff"
)

func TestNames(t *testing.T) {
	for want, got := range map[string]string{
		"refs/handoffs/inbox/fixer/" + someID:  LocalNamespace.Inbox("fixer", someID),
		"refs/handoffs/inbox/fixer/":           LocalNamespace.Inbox("fixer", ""),
		"refs/handoffs/inbox/_/" + someID:      LocalNamespace.Inbox(handoff.Nobody, someID),
		"refs/handoffs/log/0r":                 LocalNamespace.Lane(someID),
		"refs/handoffs/log/":                   LocalNamespace.Lanes(),
		"refs/handoffs/outbox/fixer/" + someID: Outbox("fixer", someID),
		"refs/handoffs/sent/fixer/" + someID:   Sent("fixer", someID),
		"refs/handoffs/archive/" + someID:      Archive(someID),
		"refs/handoffs/checkpoints/" + someID:  Checkpoint(someID),
	} {
		assert.Equal(t, want, got)
	}
	// printf %s git+https://example.com/acme/client | sha256sum
	hub := TrackingNamespace("git+https://example.com/acme/client")
	assert.Equal(t, "refs/handoffs/remotes/14848217cc90/inbox/fixer/"+someID, hub.Inbox("fixer", someID))
	assert.Equal(t, "refs/handoffs/remotes/14848217cc90/log/0r", hub.Lane(someID))
}

func TestParsePlace(t *testing.T) {
	hub := TrackingNamespace("git+https://example.com/acme/client")
	for _, tc := range []struct {
		namespace Namespace
		name      string
		want      HandoffRef
	}{
		{LocalNamespace, LocalNamespace.Inbox("fixer", someID), HandoffRef{"inbox", "fixer", someID}},
		{LocalNamespace, LocalNamespace.Inbox(handoff.Nobody, someID), HandoffRef{"inbox", handoff.Nobody, someID}},
		{LocalNamespace, Outbox("fixer", someID), HandoffRef{"outbox", "fixer", someID}},
		{LocalNamespace, Sent(handoff.Nobody, someID), HandoffRef{"sent", handoff.Nobody, someID}},
		{hub, hub.Inbox("ci-bot.2", someID), HandoffRef{"inbox", "ci-bot.2", someID}},
	} {
		got, ok := tc.namespace.ParseHandoffRef(tc.name)
		assert.True(t, ok, tc.name)
		assert.Equal(t, tc.want, got)
	}
	for _, name := range []string{
		"", "refs/handoffs/", "refs/handoffs/inbox/fixer/", "refs/handoffs/inbox/fixer/" + someID + "/x",
		"refs/handoffs/inbox/" + someID, "refs/handoffs/log/0r", "refs/handoffs/archive/" + someID,
		"refs/handoffs/other/fixer/" + someID, "refs/handoffs/inbox/Fixer/" + someID, "refs/handoffs/inbox/../" + someID,
		"refs/handoffs/inbox/fixer/" + strings.ToUpper(someID), "refs/handoffs/inbox/fixer/" + someID + ".lock",
		"refs/heads/inbox/fixer/" + someID, hub.Inbox("fixer", someID),
	} {
		_, ok := LocalNamespace.ParseHandoffRef(name)
		assert.False(t, ok, name)
	}
}

func FuzzParsePlace(f *testing.F) {
	f.Add("refs/handoffs/inbox/fixer/" + someID)
	f.Add("refs/handoffs/outbox/_/" + someID)
	f.Add("refs/handoffs/inbox/a..b/" + someID)
	f.Add("refs/handoffs/inbox//")
	f.Fuzz(func(t *testing.T, name string) {
		p, ok := LocalNamespace.ParseHandoffRef(name)
		if !ok {
			return
		}
		assert.Equal(t, name, Root+p.Kind+"/"+p.Agent+"/"+string(p.ID))
		for _, bad := range []string{"..", "//", "@{", " ", "~", "^", ":", "?", "*", "[", "\\", ".lock/", "/."} {
			require.NotContains(t, name, bad, "git check-ref-format refuses it")
		}
	})
}

// git accepts the names that githandoff accepts.
func TestCheckRefFormatAgrees(t *testing.T) {
	repo := &gittest.Repo{Dir: t.TempDir(), Env: gittest.Env(t)}
	for _, agent := range []string{"fixer", "a", "ci-bot.2", "a_b-c.d", strings.Repeat("x", 63), handoff.Nobody} {
		name := LocalNamespace.Inbox(agent, someID)
		p, ok := LocalNamespace.ParseHandoffRef(name)
		require.True(t, ok)
		require.Equal(t, agent, p.Agent)
		repo.Git(t, "check-ref-format", name)
	}
}
