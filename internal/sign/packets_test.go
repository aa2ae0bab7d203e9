package sign

import (
	"bytes"
	"crypto"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
)

// copies returns three copies of a key: as it was published first, revoked, and with another user id.
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

// A copy includes another one if it has all statements of the other. Two copies merge into one that
// includes both.
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

// Signatures of strangers on a key may be dropped, and no stranger can prevent that.
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

// A stranger adds packets to a copy that look like the owner's: a user id, an attribute, a packet
// of an unknown kind, a signature that only claims to be the owner's. None of them has to be kept,
// however many there are.
func TestPacketsOfStrangersMayGo(t *testing.T) {
	first, revoked, _ := copies(t)
	old := func(tag byte, body []byte) []byte {
		return append([]byte{0xc0 | tag, 255, 0, 0, byte(len(body) >> 8), byte(len(body))}, body...)
	}
	var claimed bytes.Buffer // a direct-key signature by another key, which names the first key in an unhashed subpacket
	stranger := pgpKey(t, packet.Config{}).entity
	direct := &packet.Signature{
		Version: 4, SigType: packet.SigTypeDirectSignature, PubKeyAlgo: stranger.PrimaryKey.PubKeyAlgo,
		Hash: crypto.SHA256, CreationTime: born(), IssuerKeyId: &first.pgp.PrimaryKey.KeyId,
	}
	require.NoError(t, direct.SignDirectKeyBinding(first.pgp.PrimaryKey, stranger.PrivateKey, nil))
	require.NoError(t, direct.Serialize(&claimed))
	head := first.parts()[0].head

	for name, add := range map[string][]byte{
		"user id":   old(userIDTag, bytes.Repeat([]byte("x"), 40_000)),
		"attribute": old(17, bytes.Repeat([]byte("\x01"), 40_000)),
		"unknown":   old(60, bytes.Repeat([]byte("x"), 40_000)),
		"claimed":   bytes.Repeat(claimed.Bytes(), 40_000/claimed.Len()),
	} {
		t.Run(name, func(t *testing.T) {
			places := [][]byte{slices.Concat(head, add, first.raw[len(head):])}
			if name != "claimed" { // after a subkey there may only be its own signatures
				places = append(places, slices.Concat(first.raw, add))
			}
			flooded := make([]PublicKey, len(places))
			for i, raw := range places {
				var err error
				flooded[i], err = ParsePublic(pgpPublicArmor.encode(raw))
				require.NoError(t, err)
				assert.True(t, revoked.Holds(flooded[i]))
				assert.True(t, first.Holds(flooded[i]))
				for _, pair := range [][2]PublicKey{{flooded[i], revoked}, {revoked, flooded[i]}, {flooded[i], flooded[0]}} {
					both, err := pair[0].With(pair[1])
					require.NoError(t, err)
					assert.True(t, both.Holds(pair[0]))
					assert.True(t, both.Holds(pair[1]))
				}
			}
		})
	}
}

// A packet of indefinite length is refused, for the comparison of copies would stop there.
func TestPacketsStateTheirLengths(t *testing.T) {
	first, _, _ := copies(t)
	pieces := append([]byte{0xc0 | 60, 0xe0 | 9}, append(bytes.Repeat([]byte("x"), 512), 1, 'x')...)
	_, err := ParsePublic(pgpPublicArmor.encode(slices.Concat(first.raw, pieces)))
	refused(t, err, "malformed")
}

// The thief of a key can sign any number of statements before its owner revokes it. The revocation
// does not have to fit beside them.
func TestRevocationNeedsNoRoom(t *testing.T) {
	key := pgpKey(t, packet.Config{})
	config := &packet.Config{Time: later(time.Hour)}
	public := func() (PublicKey, error) {
		var raw bytes.Buffer
		require.NoError(t, key.entity.Serialize(&raw))
		return ParsePublic(pgpPublicArmor.encode(raw.Bytes()))
	}
	var full PublicKey
	err := error(fault.New(fault.Invalid, fault.TooLarge, "not tried"))
	for size := 48 << 10; fault.Is(err, fault.TooLarge); size -= 50 {
		name := strings.Repeat("x", size)
		require.NoError(t, key.entity.AddUserId(name, "", "", config))
		full, err = public()
		delete(key.entity.Identities, name)
	}
	require.NoError(t, err)
	require.NoError(t, key.entity.RevokeKey(packet.KeyCompromised, "", config))
	revoked, err := public()
	require.NoError(t, err)
	for _, pair := range [][2]PublicKey{{full, revoked}, {revoked, full}} {
		both, err := pair[0].With(pair[1])
		require.NoError(t, err)
		refused(t, both.Revoked(born().Add(day)), "key_revoked")
	}
}

// Once a clone has learnt of a revocation, the key takes no more steps, even if the clone gets an
// older copy afterwards.
func TestLearnedRevocationStays(t *testing.T) {
	first, revoked, _ := copies(t)
	p := newTeamPlace(t)
	e := TrustEntry{KID: first.KID(), Key: first.Text(), Agents: []string{"carol"}, Roles: []string{RoleSender}}
	require.NoError(t, p.trust.Add(p.path, e))
	for _, next := range []PublicKey{first, revoked, first, revoked} {
		require.NoError(t, p.trust.Learn(next, born().Add(day)))
	}
	k, _ := p.trust.Lookup(first.KID())
	refused(t, k.Revoked(born().Add(day)), "key_revoked")
	refused(t, k.MayAct(RoleSender, "carol", born().Add(day)), "key_revoked")
	again, err := LoadTrust(p.path, "")
	require.NoError(t, err)
	k, _ = again.Lookup(first.KID())
	refused(t, k.MayAct(RoleSender, "carol", born().Add(day)), "key_revoked")
	assert.Equal(t, []string{"carol"}, k.Entry().Agents)

	assert.Equal(t, []KID{first.KID()}, again.Unwitnessed(born().Add(day)), "the log seen by then is to be noted")

	// If only a list names a key, this clone records the revocation.
	other, gone, fuller := copies(t)
	_, err = p.adopt(t, 1, born().Add(day), TrustEntry{KID: other.KID(), Key: other.Text(), Agents: []string{"dan"}, Roles: []string{RoleSender}})
	require.NoError(t, err)
	require.NoError(t, p.trust.Learn(fuller, born().Add(2*day)))
	k, _ = p.trust.Lookup(other.KID())
	require.NoError(t, k.MayAct(RoleSender, "dan", born().Add(2*day)), "a copy with another name retires nobody")
	require.NoError(t, p.trust.Learn(gone, born().Add(2*day)))
	k, _ = p.trust.Lookup(other.KID())
	refused(t, k.MayAct(RoleSender, "dan", born().Add(2*day)), "key_revoked")
	assert.Equal(t, 1, strings.Count(k.Entry().Key, "BEGIN"))
}

// If a key is pinned again from an older copy, it keeps all statements of its owner: a revocation
// in the newer copy stays.
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
