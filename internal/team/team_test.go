package team

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"githandoff/internal/enginetest"
	"githandoff/internal/fault"
	"githandoff/internal/obo"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
)

// A right in the result is allowed by each list, and a right that all lists allow is in the result.
func TestWithinAll(t *testing.T) {
	scope := rapid.SampledFrom([]string{
		"repo.*", "repo.write", "repo.write:src/*", "repo.write:src/auth/*", "repo.write:src/auth/a.go", "repo.push:refs/heads/*", "handoff.*",
	})
	rapid.Check(t, func(t *rapid.T) {
		limits := rapid.SliceOfN(rapid.SliceOfN(scope, 1, 3), 1, 3).Draw(t, "limits")
		all := withinAll(limits)
		for _, list := range limits {
			require.True(t, obo.CoversAll(list, all), "%v gives %v", limits, all)
		}
		one := scope.Draw(t, "scope")
		each := true
		for _, list := range limits {
			each = each && obo.CoversAll(list, []string{one})
		}
		require.Equal(t, each, obo.CoversAll(all, []string{one}), "%v of %v in %v", one, limits, all)
	})
	assert.Nil(t, withinAll(nil))
}

// sign.Covers, which does not know the type of scopes, gives the same answer as obo.CoversAll.
func TestCoversAsScopesDo(t *testing.T) {
	scope := rapid.SampledFrom([]string{
		"repo.*", "repo.write", "repo.write.all", "repo.write.*", "repo.write:*", "repo.write:src", "repo.write:src/*", "repo.write:src/auth/*", "repo.write:srcx",
		"repo.write:src/auth/a.go", "repo.push:refs/heads/*", "repo.push:refs/heads", "repo.writes", "handoff.*", "handoff.take",
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := scope.Draw(t, "limit"), scope.Draw(t, "scope")
		require.Equal(t, obo.CoversAll([]string{a}, []string{b}), sign.Covers(a, b), "%s in %s", b, a)
	})
}

func TestMergeTeam(t *testing.T) {
	key := func(agents ...string) sign.TrustEntry {
		k := enginetest.NewKey(t)
		return sign.TrustEntry{KID: k.KID(), Key: k.Public().Text(), Agents: agents, Roles: []string{sign.RoleSender}}
	}
	pinned := func(entries ...sign.TrustEntry) []sign.Key {
		trust, err := enginetest.NewTrust(entries...)
		require.NoError(t, err)
		return trust.Pinned()
	}
	listed, mine, gone := key("fixer"), key("tester"), key("qa")
	theirs := gone
	theirs.Retired = "2026-02-01T00:00:00Z"
	gone.Retired, gone.Comment = "2026-03-01T00:00:00Z", "private"
	merged, err := mergeTeam([]sign.TrustEntry{listed, theirs}, pinned(mine, gone))
	require.NoError(t, err)
	byAgent := map[string]sign.TrustEntry{}
	for _, e := range merged {
		byAgent[e.Agents[0]] = e
	}
	assert.Equal(t, map[string]sign.TrustEntry{"fixer": listed, "tester": mine, "qa": theirs}, byAgent)

	gone.Retired = ""
	merged, err = mergeTeam([]sign.TrustEntry{theirs}, pinned(gone))
	require.NoError(t, err)
	assert.Equal(t, []sign.TrustEntry{theirs}, merged, "who was retired stays so")
}

func FuzzPublishedKey(f *testing.F) {
	key := enginetest.NewKey(f)
	f.Add([]byte(key.Public().Text()))
	f.Add([]byte(enginetest.NewKey(f).Public().Text()))
	f.Add([]byte("ssh-ed25519 AAAA"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, body []byte) {
		public, err := parsePublished(&refs.Object{Type: "blob", Body: body}, "refs/handoffs/keys/x", key.KID())
		if err == nil {
			assert.Equal(t, key.KID(), public.KID())
			return
		}
		assert.True(t, public.IsZero())
		assert.Equal(t, fault.Denied, fault.CodeOf(err))
	})
}
