package crossrepo_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/lifecycle"
	"githandoff/internal/sign"
	"githandoff/internal/team"
)

// pinRoots gives an agent a trust list in a file, as a clone has it, with its own key and those of others as
// roots.
func pinRoots(t *testing.T, s *agent, others ...*agent) *crossrepo.Hub {
	t.Helper()
	path := filepath.Join(t.TempDir(), "trust.json")
	trust, err := sign.LoadTrust(path, "")
	require.NoError(t, err)
	for _, o := range append(others, s) {
		k := o.Engine.Author.Signer
		require.NoError(t, trust.Add(path, sign.TrustEntry{KID: k.KID(), Key: k.Public().Text(), Roles: []string{sign.RoleRoot}}))
	}
	s.Engine.Keys.Trust = trust
	return s.home.(*crossrepo.Hub)
}

func TestPublishTeamByTwo(t *testing.T) {
	v := newHubFixture(t, byPath())
	alice, bob, carol := v.agent(t, "alice@example.com"), v.agent(t, "bob@example.com"), v.agent(t, "carol@example.com")
	aliceHub, bobHub, carolHub := pinRoots(t, alice), pinRoots(t, bob, alice), pinRoots(t, carol)

	first, err := team.New(alice.Workspace).Publish(t.Context(), aliceHub)
	require.NoError(t, err)
	assert.Equal(t, int64(1), first.Serial)
	second, err := team.New(bob.Workspace).Publish(t.Context(), bobHub)
	require.NoError(t, err)
	assert.Equal(t, int64(2), second.Serial)
	assert.Len(t, second.Keys, 2, "Alice's keys stay in it")

	_, err = team.New(carol.Workspace).Publish(t.Context(), carolHub)
	assert.True(t, fault.Is(err, "untrusted_root"), "she does not know whose list she would replace: %v", err)

	// Alice does not trust Bob's key, so his list changes nothing for her.
	published := lifecycle.FetchSpec{Published: team.Published(aliceHub)}
	_, err = team.New(alice.Workspace).Sync(t.Context(), aliceHub, func() error { return aliceHub.Fetch(t.Context(), published) })
	require.NoError(t, err)
	_, known := alice.Engine.Keys.Trust.Lookup(bob.Engine.Author.Signer.KID())
	assert.False(t, known)
}
