package sign

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// copies returns a key as it was published first, revoked, and with another user id.
func copies(t testing.TB) (first, revoked, renamed PublicKey) {
	t.Helper()
	key := pgpKey(t, packet.Config{})
	public := func() PublicKey {
		var raw bytes.Buffer
		require.NoError(t, key.entity.Serialize(&raw))
		p, err := ParsePublic(pgpPublicArmor.encode(raw.Bytes()))
		require.NoError(t, err)
		return p
	}
	config := &packet.Config{Time: later(time.Hour)}
	first = public()
	require.NoError(t, key.entity.AddUserId("other", "", "other@example.com", config))
	renamed = public()
	delete(key.entity.Identities, "other <other@example.com>")
	require.NoError(t, key.entity.RevokeKey(packet.KeyCompromised, "", config))
	return first, public(), renamed
}

// A copy holds another one if it says all that the other says, and two together
// make one that holds both.
func TestCopiesOfAKeyMerge(t *testing.T) {
	first, revoked, renamed := copies(t)
	assert.True(t, first.Holds(first))
	assert.True(t, revoked.Holds(first))
	assert.True(t, renamed.Holds(first))
	assert.False(t, first.Holds(revoked), "the revocation is gone")
	assert.False(t, first.Holds(renamed))
	assert.False(t, renamed.Holds(revoked))
	for _, pair := range [][2]PublicKey{{revoked, renamed}, {renamed, revoked}, {first, revoked}, {revoked, first}} {
		both, err := pair[0].With(pair[1])
		require.NoError(t, err)
		assert.True(t, both.Holds(pair[0]))
		assert.True(t, both.Holds(pair[1]))
		refused(t, both.Revoked(born().Add(day)), "key_revoked")
	}
	require.NoError(t, first.Revoked(born().Add(day)))

	other, _, _ := copies(t)
	assert.False(t, first.Holds(other))
	_, err := first.With(other)
	refused(t, err, "malformed")
	one, two := sshKey(t, "ed25519").Public(), sshKey(t, "ed25519").Public()
	assert.True(t, one.Holds(one))
	assert.False(t, one.Holds(two))
	assert.NoError(t, one.Revoked(born()))
}

// The signatures of strangers on a key may go; nobody can make them stay.
func TestSignaturesOfStrangersMayGo(t *testing.T) {
	key, stranger := pgpKey(t, packet.Config{}), pgpKey(t, packet.Config{})
	text := func(e *openpgp.Entity) PublicKey {
		var raw bytes.Buffer
		require.NoError(t, e.Serialize(&raw))
		p, err := ParsePublic(pgpPublicArmor.encode(raw.Bytes()))
		require.NoError(t, err)
		return p
	}
	plain := text(key.entity)
	for name := range key.entity.Identities {
		require.NoError(t, key.entity.SignIdentity(name, stranger.entity, &packet.Config{Time: later(time.Hour)}))
	}
	flooded := text(key.entity)
	assert.NotEqual(t, plain.Text(), flooded.Text())
	assert.True(t, plain.Holds(flooded))
	assert.True(t, flooded.Holds(plain))
}

// A clone that learns of a revocation lets the key act no more, whatever older
// copy it is given afterwards.
func TestLearnedRevocationStays(t *testing.T) {
	first, revoked, _ := copies(t)
	p := newTeamPlace(t)
	e := TrustEntry{KID: first.KID(), Key: first.Text(), Agents: []string{"carol"}, Roles: []string{RoleSender}}
	require.NoError(t, p.trust.Add(p.path, e))
	for _, step := range []struct {
		copy  PublicKey
		fresh bool
	}{{first, false}, {revoked, true}, {first, false}, {revoked, false}} {
		fresh, err := p.trust.Learn(step.copy, born().Add(day))
		require.NoError(t, err)
		assert.Equal(t, step.fresh, fresh)
	}
	k, _ := p.trust.Lookup(first.KID())
	refused(t, k.Revoked(born().Add(day)), "key_revoked")
	refused(t, k.MayAct(RoleSender, "carol", born().Add(day)), "key_revoked")
	again, err := LoadTrust(p.path, "")
	require.NoError(t, err)
	k, _ = again.Lookup(first.KID())
	refused(t, k.MayAct(RoleSender, "carol", born().Add(day)), "key_revoked")
	assert.Equal(t, []string{"carol"}, k.Entry().Agents)

	// Of a key that only a list names, the revocation is written down here.
	other, gone, _ := copies(t)
	_, err = p.adopt(t, 1, born().Add(day), TrustEntry{KID: other.KID(), Key: other.Text(), Agents: []string{"dan"}, Roles: []string{RoleSender}})
	require.NoError(t, err)
	fresh, err := p.trust.Learn(gone, born().Add(2*day))
	require.NoError(t, err)
	assert.True(t, fresh)
	k, _ = p.trust.Lookup(other.KID())
	refused(t, k.MayAct(RoleSender, "dan", born().Add(2*day)), "key_revoked")
	assert.Equal(t, 1, strings.Count(k.Entry().Key, "BEGIN"))
}

// A key that is pinned again by an older copy of it keeps all that its owner said: what the newer
// copy revoked stays revoked.
func TestAddForgetsNoStatement(t *testing.T) {
	key := pgpKey(t, packet.Config{})
	public := func() PublicKey {
		var raw bytes.Buffer
		require.NoError(t, key.entity.Serialize(&raw))
		p, err := ParsePublic(pgpPublicArmor.encode(raw.Bytes()))
		require.NoError(t, err)
		return p
	}
	config := &packet.Config{Time: later(time.Hour)}
	require.NoError(t, key.entity.AddSigningSubkey(config))
	older := public()
	sub := &key.entity.Subkeys[len(key.entity.Subkeys)-1]
	require.NoError(t, key.entity.RevokeSubkey(sub, packet.KeyCompromised, "", config))
	newer := public()
	require.False(t, older.Holds(newer))

	path := filepath.Join(t.TempDir(), "trust.json")
	trust := loaded(t, path, "")
	entry := TrustEntry{KID: older.KID(), Key: newer.Text(), Agents: []string{"carol"}, Roles: []string{RoleSender}}
	require.NoError(t, trust.Add(path, entry))
	entry.Key = older.Text()
	require.NoError(t, trust.Add(path, entry))
	k, _ := trust.Lookup(older.KID())
	pinned, err := k.Public()
	require.NoError(t, err)
	assert.True(t, pinned.Holds(newer))
}
