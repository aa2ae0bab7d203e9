package sign

import (
	"slices"
	"strings"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// roots pins two roots: a full one, and one for bob that is limited to the documentation.
func roots(t *testing.T) (p *teamPlace, bob *pgpSigner) {
	t.Helper()
	p, bob = newTeamPlace(t), pgpKey(t, packet.Config{})
	require.NoError(t, p.trust.Add(p.path, TrustEntry{
		KID: bob.KID(), Key: bob.public.text, Roles: []string{RoleRoot},
		Principals: []string{"user:bob@example.com"}, MaxScope: []string{"repo.write:docs/*"},
	}))
	return p, bob
}

func (p *teamPlace) adoptBy(t *testing.T, s Signer, serial int64, keys ...TrustEntry) {
	t.Helper()
	raw, err := NewTeam(teamHome, serial-1, born().Add(day), s.KID(), keys).Encode()
	require.NoError(t, err)
	team, err := p.trust.OpenTeam(raw, mustSign(t, s, NamespaceTrust, string(raw)), born().Add(2*day))
	require.NoError(t, err)
	_, err = p.trust.Adopt(team)
	require.NoError(t, err)
}

func rootEntry(s Signer, principals ...string) TrustEntry {
	return TrustEntry{KID: s.KID(), Key: s.Public().Text(), Roles: []string{RoleRoot}, Principals: principals}
}

// All entries of a limited root stay within its pinned limits, even if it lists itself, and even after another
// root's list.
func TestTeamOfALimitedRoot(t *testing.T) {
	p, bob := roots(t)
	eve, worker := pgpKey(t, packet.Config{}), sshKey(t, "ed25519")
	lists := []func(){
		func() {
			p.adoptBy(t, bob, 1, rootEntry(eve, "user:alice@example.com", "user:bob@example.com"),
				rootEntry(bob, "user:alice@example.com"), entryOf(worker))
		},
		func() { p.adoptBy(t, p.root, 2, entryOf(worker)) },
	}
	for range 2 {
		for _, adopt := range lists {
			adopt()
		}
		lists[0], lists[1] = lists[1], func() {}
		got, _ := p.trust.Lookup(eve.KID())
		assert.Equal(t, []string{"user:bob@example.com"}, got.Entry().Principals)
		assert.Equal(t, [][]string{{"repo.write:docs/*"}}, got.Limits())
		got, _ = p.trust.Lookup(bob.KID())
		assert.Equal(t, []string{"user:bob@example.com"}, got.Entry().Principals)
		got, _ = p.trust.Lookup(worker.KID())
		assert.Empty(t, got.Limits(), "the full root vouches for it as well")
	}
	// The entries of the limited root end when it is retired.
	require.NoError(t, p.trust.Retire("", bob.KID(), born().Add(day), nil))
	got, _ := p.trust.Lookup(eve.KID())
	assert.NotEmpty(t, got.Entry().Retired)
	got, _ = p.trust.Lookup(worker.KID())
	assert.Empty(t, got.Entry().Retired)
}

// A list retires a root only if that root has fewer rights than the signer. A limited root retires only keys
// within its limits.
func TestTeamRetiresWithinItsSigner(t *testing.T) {
	p, bob := roots(t)
	agent, docs, peer, worker := sshKey(t, "ed25519"), sshKey(t, "ed25519"), pgpKey(t, packet.Config{}), sshKey(t, "ed25519")
	limited := entryOf(docs)
	limited.MaxScope = []string{"repo.write:docs/a/*"}
	full := p.entry(t, p.root.KID())
	for _, e := range []TrustEntry{entryOf(agent), limited, rootEntry(peer, full.Principals...)} {
		require.NoError(t, p.trust.Add(p.path, e))
	}
	gone := func(e TrustEntry) TrustEntry {
		e.Retired, e.Until = "2026-01-02T00:00:00Z", "2026-01-02T00:00:00Z"
		return e
	}
	retired := func(s Signer) bool { return p.entry(t, s.KID()).Retired != "" }
	p.adoptBy(t, p.root, 1, entryOf(worker))
	p.adoptBy(t, bob, 2, gone(rootEntry(p.root)), gone(entryOf(agent)), gone(limited), gone(rootEntry(peer)), gone(rootEntry(bob)), gone(entryOf(worker)))
	assert.False(t, retired(p.root), "a fuller root")
	assert.False(t, retired(peer), "a fuller root")
	assert.False(t, retired(bob), "itself")
	assert.False(t, retired(agent), "nothing limits it")
	assert.False(t, retired(worker), "by the list of a fuller root")
	assert.True(t, retired(docs), "within its limits")
	assert.Empty(t, p.entry(t, p.root.KID()).Until)

	p.adoptBy(t, p.root, 3, gone(rootEntry(peer)), gone(rootEntry(bob)), gone(entryOf(agent)))
	assert.False(t, retired(peer), "as full as itself")
	assert.False(t, retired(bob), "it speaks for others than that root")
	assert.True(t, retired(agent))
}

// A list without the right to do so retired a key. The key can still be pinned like any other.
func TestAddAfterAWrongfulRetirement(t *testing.T) {
	p, bob := roots(t)
	agent, docs := sshKey(t, "ed25519"), sshKey(t, "ed25519")
	gone, inside := entryOf(agent), entryOf(docs)
	inside.MaxScope = []string{"repo.write:docs/a"}
	gone.Retired, inside.Retired = "2026-01-02T00:00:00Z", "2026-01-02T00:00:00Z"
	p.adoptBy(t, bob, 1, gone, inside)
	require.NoError(t, p.trust.Add(p.path, entryOf(agent)))
	assert.Empty(t, p.entry(t, agent.KID()).Retired)
	inside.Retired = ""
	refused(t, p.trust.Add(p.path, inside), "key_revoked")
}

// The entries that a root recorded as seen when it retired a key also count for the entry of another root.
func TestTeamRetiresWithWhatWasSeen(t *testing.T) {
	p, _ := roots(t)
	worker, peer := sshKey(t, "ed25519"), pgpKey(t, packet.Config{})
	require.NoError(t, p.trust.Add(p.path, rootEntry(peer, "user:peer@example.com")))
	gone := entryOf(worker)
	gone.Retired, gone.Seen = "2026-01-02T00:00:00Z", map[string]string{"local": strings.Repeat("a", 40)}
	gone.Agents = nil // gives the entry of the other root more rights
	p.adoptBy(t, peer, 1, entryOf(worker))
	p.adoptBy(t, p.root, 2, gone)
	k, _ := p.trust.Lookup(worker.KID())
	assert.Equal(t, []string{"fixer"}, k.Entry().Agents)
	assert.NotEmpty(t, k.Entry().Retired)
	assert.Equal(t, []string{strings.Repeat("a", 40)}, k.Seen())
}

// A key that two roots list stays when one of the roots is retired, whichever entry grants more.
func TestTeamKeyOutlivesARoot(t *testing.T) {
	p, bob := newTeamPlace(t), pgpKey(t, packet.Config{})
	e := rootEntry(bob, "user:bob@example.com")
	require.NoError(t, p.trust.Add(p.path, e))
	same, wider, alone := sshKey(t, "ed25519"), sshKey(t, "ed25519"), sshKey(t, "ed25519")
	more := entryOf(wider)
	more.Roles = []string{RoleSender, RoleRecipient}
	less := more
	less.Roles = []string{RoleSender}
	p.adoptBy(t, bob, 1, entryOf(same), more, entryOf(alone))
	p.adoptBy(t, p.root, 2, entryOf(same), less)
	require.NoError(t, p.trust.Retire("", bob.KID(), born().Add(day), nil))
	assert.Empty(t, p.entry(t, same.KID()).Retired)
	assert.Empty(t, p.entry(t, wider.KID()).Retired)
	assert.Equal(t, less.Roles, p.entry(t, wider.KID()).Roles)
	assert.NotEmpty(t, p.entry(t, alone.KID()).Retired)

	p.adoptBy(t, p.root, 3)
	assert.NotEmpty(t, p.entry(t, same.KID()).Retired, "its root left it out")
}

// A retirement by one root counts beside any number of other lists, in any order. Roots with equal rights are
// ordered by their keys.
func TestTeamRetiresAmongMany(t *testing.T) {
	for first := range 3 {
		p := newTeamPlace(t)
		peers := []Signer{pgpKey(t, packet.Config{}), pgpKey(t, packet.Config{}), pgpKey(t, packet.Config{})}
		slices.SortFunc(peers, func(a, b Signer) int { return strings.Compare(string(a.KID()), string(b.KID())) })
		worker := sshKey(t, "ed25519")
		narrow, gone, wide := entryOf(worker), entryOf(worker), entryOf(worker)
		narrow.Roles, gone.Roles, wide.Roles = []string{RoleSender}, []string{RoleSender}, []string{RoleSender, RoleRecipient}
		gone.Retired = "2026-01-02T00:00:00Z"
		for i, e := range []TrustEntry{narrow, gone, wide} {
			peer := peers[(first+i)%len(peers)]
			require.NoError(t, p.trust.Add(p.path, rootEntry(peer, "user:peer@example.com")))
			p.adoptBy(t, peer, 1, e)
		}
		assert.Equal(t, gone.Retired, p.entry(t, worker.KID()).Retired)
		assert.Equal(t, wide.Roles, p.entry(t, worker.KID()).Roles)
	}
}

// Each root continues its own list. A list does not replace that of another root.
func TestTeamsOfTwoRoots(t *testing.T) {
	p, bob := roots(t)
	one, two := sshKey(t, "ed25519"), sshKey(t, "ed25519")
	p.adoptBy(t, p.root, 5, entryOf(one))
	p.adoptBy(t, bob, 2, entryOf(two))
	p.adoptBy(t, bob, 3, entryOf(one))
	assert.Empty(t, p.entry(t, one.KID()).Retired)
	assert.NotEmpty(t, p.entry(t, two.KID()).Retired, "its root left it out")
	raw, err := NewTeam(teamHome, 1, born(), bob.KID(), nil).Encode()
	require.NoError(t, err)
	team, err := ParseTeam(raw)
	require.NoError(t, err)
	_, err = p.trust.Adopt(team)
	refused(t, err, "rollback")
}
