package sign

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/handoff"
)

const teamHome = "git+https://example.com/acme/client"

// teamPlace is a clone that has pinned a root key.
type teamPlace struct {
	root  *pgpSigner
	trust *Trust
	path  string
}

func newTeamPlace(t testing.TB, edit ...func(*TrustEntry)) *teamPlace {
	t.Helper()
	p := &teamPlace{root: pgpKey(t, packet.Config{}), path: filepath.Join(t.TempDir(), "githandoff", "trust.json")}
	var err error
	p.trust, err = LoadTrust(p.path, "")
	require.NoError(t, err)
	e := TrustEntry{KID: p.root.KID(), Key: p.root.public.text, Roles: []string{RoleRoot}, Principals: []string{"user:alice@example.com"}}
	for _, f := range edit {
		f(&e)
	}
	require.NoError(t, p.trust.Add(p.path, e))
	return p
}

// adopt signs a list and adopts it, as a clone does after it has fetched one.
func (p *teamPlace) adopt(t testing.TB, serial int64, at time.Time, keys ...TrustEntry) (bool, error) {
	t.Helper()
	raw, err := NewTeam(teamHome, serial-1, at, p.root.KID(), keys).Encode()
	require.NoError(t, err)
	sig := mustSign(t, p.root, NamespaceTrust, string(raw))
	team, err := p.trust.OpenTeam(raw, sig, born().Add(2*day))
	if err != nil {
		return false, err
	}
	return p.trust.Adopt(team)
}

func (p *teamPlace) entry(t testing.TB, kid KID) TrustEntry {
	t.Helper()
	again, err := LoadTrust(p.path, "")
	require.NoError(t, err)
	k, ok := again.Lookup(kid)
	require.True(t, ok)
	now, ok := p.trust.Lookup(kid)
	require.True(t, ok)
	require.Equal(t, k.Entry(), now.Entry(), "what is on disk and in memory")
	return k.Entry()
}

// A list that was adopted before is compared with its copy alone: a clone may follow the lists of many homes.
func TestAdoptedAgainReadsNoOtherList(t *testing.T) {
	p := newTeamPlace(t)
	worker := entryOf(sshKey(t, "ed25519"))
	_, err := p.adopt(t, 1, born().Add(day), worker)
	require.NoError(t, err)
	writeFile(t, filepath.Join(filepath.Dir(p.path), "team"), "0-0.json", []byte("damaged"))
	fresh, err := p.adopt(t, 1, born().Add(day), worker)
	require.NoError(t, err)
	assert.False(t, fresh)
	_, err = p.adopt(t, 2, born().Add(day), worker)
	refused(t, err, "malformed")
}

// The tips are recorded for all keys that ended with one change of the list.
func TestWitnessOfMany(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trust.json")
	trust := loaded(t, path, "")
	var kids []KID
	for range 3 {
		e := entryOf(sshKey(t, "ed25519"))
		e.Until = handoff.FormatTime(born().Add(day))
		require.NoError(t, trust.Add(path, e))
		kids = append(kids, e.KID)
	}
	assert.Empty(t, trust.Unwitnessed(born()))
	assert.ElementsMatch(t, kids, trust.Unwitnessed(born().Add(2*day)))
	seen := map[string]string{"local": strings.Repeat("0", 40)}
	require.NoError(t, trust.Witness(kids, seen))
	assert.Empty(t, trust.Unwitnessed(born().Add(2*day)))
	for _, e := range loaded(t, path, "").Entries() {
		assert.Equal(t, seen, e.Seen)
	}
}

// A published key that is the pinned copy says nothing new. One that its owner revoked is looked at in each sync.
func TestRepeats(t *testing.T) {
	s := pgpKey(t, packet.Config{})
	revoked := pgpKeyFrom(t, s, func(e *openpgp.Entity) {
		require.NoError(t, e.RevokeKey(packet.KeyCompromised, "", &packet.Config{Time: later(day)}))
	})
	key, _ := trustIn(t, entryOf(s)).Lookup(s.KID())
	assert.True(t, key.Repeats([]byte(s.Public().Text())))
	assert.False(t, key.Repeats([]byte(revoked.Public().Text())))
	assert.False(t, Key{}.Repeats([]byte(s.Public().Text())))
	key, _ = trustIn(t, entryOf(revoked)).Lookup(s.KID())
	assert.False(t, key.Repeats([]byte(revoked.Public().Text())))
}

func TestTeamAdopted(t *testing.T) {
	p := newTeamPlace(t)
	worker := sshKey(t, "ed25519")
	fresh, err := p.adopt(t, 1, born().Add(day), entryOf(worker))
	require.NoError(t, err)
	assert.True(t, fresh)
	fresh, err = p.adopt(t, 1, born().Add(day), entryOf(worker))
	require.NoError(t, err)
	assert.False(t, fresh)
	assert.Equal(t, []string{"fixer"}, p.entry(t, worker.KID()).Agents)
	k, _ := p.trust.Lookup(worker.KID())
	assert.Equal(t, teamHome, k.List())
	assert.NoError(t, k.MayAct(RoleRecipient, "fixer", born().Add(day)))
	assert.Len(t, p.trust.Pinned(), 1)
	info, err := os.Stat(teamPath(p.trust.teamDir(), teamHome, p.root.KID()))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

// A list grants no right that its signer was not pinned for, and no right at all to a key that is pinned here.
func TestTeamNeverWidens(t *testing.T) {
	limited := func(e *TrustEntry) {
		e.MaxScope, e.Until = []string{"repo.*"}, "2026-06-01T00:00:00Z"
	}
	p := newTeamPlace(t, limited)
	other, own := pgpKey(t, packet.Config{}), pgpKey(t, packet.Config{})
	require.NoError(t, p.trust.Add(p.path, TrustEntry{
		KID: own.KID(), Key: own.public.text, Agents: []string{"tester"}, Roles: []string{RoleSender}, MaxScope: []string{"repo.read"},
	}))
	wide := func(s Signer) TrustEntry {
		return TrustEntry{
			KID: s.KID(), Key: s.Public().Text(), Agents: []string{"fixer"}, Roles: []string{RoleRoot, RoleRecipient},
			Principals: []string{"user:alice@example.com", "user:bob@example.com"}, Until: "2027-01-01T00:00:00Z",
		}
	}
	_, err := p.adopt(t, 1, born().Add(day), wide(other), wide(own))
	require.NoError(t, err)

	got := p.entry(t, other.KID())
	assert.Equal(t, []string{"user:alice@example.com"}, got.Principals)
	assert.Equal(t, "2026-06-01T00:00:00Z", got.Until)
	k, _ := p.trust.Lookup(other.KID())
	assert.Equal(t, [][]string{{"repo.*"}}, k.Limits())

	got = p.entry(t, own.KID())
	assert.Equal(t, []string{"tester"}, got.Agents)
	assert.Equal(t, []string{RoleSender}, got.Roles)
	assert.Empty(t, got.Principals)
	k, _ = p.trust.Lookup(own.KID())
	assert.Equal(t, [][]string{{"repo.read"}}, k.Limits())
	assert.Empty(t, k.List())

	// A key that is a root only by a list cannot sign a list.
	raw, err := NewTeam(teamHome, 1, born().Add(day), other.KID(), nil).Encode()
	require.NoError(t, err)
	_, err = p.trust.OpenTeam(raw, mustSign(t, other, NamespaceTrust, string(raw)), born().Add(2*day))
	refused(t, err, "untrusted_root")
}

func TestTeamRetires(t *testing.T) {
	p := newTeamPlace(t)
	a, b, own := sshKey(t, "ed25519"), sshKey(t, "ed25519"), sshKey(t, "ed25519")
	require.NoError(t, p.trust.Add(p.path, entryOf(own)))
	_, err := p.adopt(t, 1, born().Add(day), entryOf(a), entryOf(b), entryOf(own))
	require.NoError(t, err)
	gone := entryOf(own)
	gone.Retired = "2026-01-02T00:00:00Z"
	_, err = p.adopt(t, 2, born().Add(day), entryOf(b), gone)
	require.NoError(t, err)
	assert.Equal(t, "2026-01-02T12:00:00Z", p.entry(t, a.KID()).Retired, "left out: at the time of the list that does")
	assert.Empty(t, p.entry(t, b.KID()).Retired)
	assert.Equal(t, "2026-01-02T00:00:00Z", p.entry(t, own.KID()).Retired, "who is pinned here loses time, too")

	// The retired key does not come back, neither by a later list nor by hand.
	_, err = p.adopt(t, 3, born().Add(day), entryOf(a), entryOf(b))
	require.NoError(t, err)
	assert.Equal(t, "2026-01-02T12:00:00Z", p.entry(t, a.KID()).Retired)
	refused(t, p.trust.Add(p.path, entryOf(a)), "key_revoked")

	// A list ends when its signer is retired, and its entry for a key ends when that key is retired here.
	require.NoError(t, p.trust.Retire("", b.KID(), born().Add(time.Hour), nil))
	assert.Equal(t, "2026-01-01T13:00:00Z", p.entry(t, b.KID()).Retired)
	require.NoError(t, p.trust.Retire("", p.root.KID(), born().Add(time.Minute), nil))
	assert.Equal(t, "2026-01-01T12:01:00Z", p.entry(t, a.KID()).Retired)
}

// A list counts as long as its signer is pinned as a root. After that it neither adds nor retires a key.
func TestTeamOfAFormerRoot(t *testing.T) {
	for name, roles := range map[string][]string{"removed": nil, "a sender": {RoleSender}} {
		p := newTeamPlace(t)
		a, own := sshKey(t, "ed25519"), sshKey(t, "ed25519")
		gone := entryOf(own)
		gone.Retired = "2026-01-02T00:00:00Z"
		_, err := p.adopt(t, 1, born().Add(day), entryOf(a), gone)
		require.NoError(t, err)
		refused(t, p.trust.Add(p.path, entryOf(own)), "key_revoked")

		var left []TrustEntry
		if roles != nil {
			left = []TrustEntry{{KID: p.root.KID(), Key: p.root.public.text, Agents: []string{"alice"}, Roles: roles}}
		}
		b, err := EncodeEntries(left)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(p.path, b, 0o600))
		now, err := LoadTrust(p.path, "")
		require.NoError(t, err)
		require.True(t, now.HasTeams(), "it is still there")
		_, ok := now.Lookup(a.KID())
		assert.False(t, ok, name)
		require.NoError(t, now.Add(p.path, entryOf(own)), name)
		k, _ := now.Lookup(own.KID())
		assert.NoError(t, k.MayAct(RoleSender, "fixer", born().Add(3*day)), name)
		refused(t, now.Witness([]KID{a.KID()}, nil), "no_key")
	}
}

func TestTeamRollback(t *testing.T) {
	p := newTeamPlace(t)
	a, b := entryOf(sshKey(t, "ed25519")), entryOf(sshKey(t, "ed25519"))
	_, err := p.adopt(t, 2, born().Add(day), a)
	require.NoError(t, err)
	_, err = p.adopt(t, 1, born().Add(day), a, b)
	refused(t, err, "rollback")
	_, err = p.adopt(t, 2, born().Add(day), a, b)
	refused(t, err, "rollback")
	_, ok := p.trust.Lookup(b.KID)
	assert.False(t, ok)
	_, err = p.adopt(t, 7, born().Add(day), a, b)
	require.NoError(t, err)
	team, err := p.trust.Team(teamHome, p.root.KID())
	require.NoError(t, err)
	assert.Equal(t, int64(7), team.Serial)
	none, err := p.trust.Team("git+https://example.com/other", p.root.KID())
	require.NoError(t, err)
	assert.Nil(t, none)
}

// If the lists of two hubs name the same key, the key has only the rights that both lists grant.
func TestTeamsOfTwoHubs(t *testing.T) {
	p := newTeamPlace(t)
	key := sshKey(t, "ed25519")
	one, two := entryOf(key), entryOf(key)
	two.Agents = []string{"fixer", "qa"}
	two.Roles = []string{RoleSender}
	for home, e := range map[string]TrustEntry{teamHome: one, "git+https://example.com/other": two} {
		_, err := p.trust.Adopt(NewTeam(home, 0, born(), p.root.KID(), []TrustEntry{e}))
		require.NoError(t, err)
	}
	got := p.entry(t, key.KID())
	assert.Equal(t, []string{"fixer"}, got.Agents)
	assert.Equal(t, []string{RoleSender}, got.Roles)
}

func TestOpenTeamRefuses(t *testing.T) {
	p := newTeamPlace(t)
	team := NewTeam(teamHome, 0, born().Add(day), p.root.KID(), nil)
	raw, err := team.Encode()
	require.NoError(t, err)
	other := *team
	other.Signer = sshKey(t, "ed25519").KID()
	renamed, err := other.Encode()
	require.NoError(t, err)
	stranger := sshKey(t, "ed25519")
	ssh := sshKey(t, "ed25519")
	require.NoError(t, p.trust.Add(p.path, TrustEntry{KID: ssh.KID(), Key: ssh.public.text, Roles: []string{RoleRoot}}))
	sshTeam, err := NewTeam(teamHome, 0, born().Add(day), ssh.KID(), nil).Encode()
	require.NoError(t, err)
	_, err = p.trust.OpenTeam(sshTeam, mustSign(t, ssh, NamespaceTrust, string(sshTeam)), born().Add(2*day))
	require.NoError(t, err)

	for name, tc := range map[string]struct {
		raw    []byte
		sig    []byte
		reason string
	}{
		"no signature":        {raw, nil, "unsigned"},
		"of something else":   {raw, mustSign(t, p.root, NamespaceTrust, "x"), "signature_invalid"},
		"by a stranger":       {raw, mustSign(t, stranger, NamespaceTrust, string(raw)), "untrusted_key"},
		"for a commit":        {sshTeam, mustSign(t, ssh, NamespaceGit, string(sshTeam)), "signature_invalid"},
		"another signer":      {renamed, mustSign(t, p.root, NamespaceTrust, string(renamed)), "signature_invalid"},
		"too long":            {bytes.Repeat([]byte(" "), MaxTeam+1), nil, "too_large"},
		"signed and no list":  {[]byte("{}"), mustSign(t, p.root, NamespaceTrust, "{}"), "malformed"},
		"signed, other words": {append(raw, '\n'), mustSign(t, p.root, NamespaceTrust, string(raw)+"\n"), "non_canonical"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := p.trust.OpenTeam(tc.raw, tc.sig, born().Add(2*day))
			refused(t, err, tc.reason)
		})
	}
	require.NoError(t, p.trust.Retire("", p.root.KID(), born().Add(day+time.Hour), nil))
	_, err = p.trust.OpenTeam(raw, mustSign(t, p.root, NamespaceTrust, string(raw)), born().Add(2*day))
	refused(t, err, "key_revoked")
}

func TestTeamFileIsOwned(t *testing.T) {
	p := newTeamPlace(t)
	_, err := p.adopt(t, 1, born().Add(day), entryOf(sshKey(t, "ed25519")))
	require.NoError(t, err)
	require.NoError(t, os.Chmod(teamPath(p.trust.teamDir(), teamHome, p.root.KID()), 0o666))
	_, err = LoadTrust(p.path, "")
	refused(t, err, "unsafe_file")
}

func TestHexOfAKeyID(t *testing.T) {
	for _, s := range []Signer{pgpKey(t, packet.Config{}), sshKey(t, "ed25519")} {
		kid, ok := FromHex(Hex(s.KID()))
		assert.True(t, ok)
		assert.Equal(t, s.KID(), kid)
		assert.NotContains(t, Hex(s.KID()), "/")
	}
	for _, bad := range []string{"", "00", strings.Repeat("G", 40), strings.Repeat("A", 40), strings.Repeat("0", 63), strings.Repeat("0", 66)} {
		_, ok := FromHex(bad)
		assert.False(t, ok, bad)
	}
}

// Every list that the parser accepts is encoded to the same bytes.
func FuzzParseTeam(f *testing.F) {
	root, worker := pgpKey(f, packet.Config{}), sshKey(f, "ed25519")
	for _, keys := range [][]TrustEntry{nil, {entryOf(worker)}, {entryOf(worker), entryOf(root)}} {
		raw, err := NewTeam(teamHome, 6, born(), root.KID(), keys).Encode()
		require.NoError(f, err)
		f.Add(raw)
	}
	f.Add([]byte(`{"schema":"githandoff-team/1"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		team, err := ParseTeam(raw)
		if err != nil {
			return
		}
		again, err := team.Encode()
		require.NoError(t, err)
		assert.Equal(t, raw, again)
		assert.Positive(t, team.Serial)
		for _, e := range team.Keys {
			assert.NoError(t, CheckKID(e.KID))
		}
	})
}
