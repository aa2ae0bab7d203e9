package sign

import (
	"crypto"
	"strings"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func signers(t testing.TB) map[string]Signer {
	t.Helper()
	return map[string]Signer{
		"openpgp-ed25519": pgpKey(t, packet.Config{}),
		"openpgp-p256":    pgpKey(t, packet.Config{Algorithm: packet.PubKeyAlgoECDSA, Curve: packet.CurveNistP256}),
		"openpgp-rsa":     pgpKey(t, packet.Config{Algorithm: packet.PubKeyAlgoRSA, RSABits: 2048}),
		"openpgp-subkey":  pgpKey(t, packet.Config{}, withSigningSubkey(t)),
		"ssh-ed25519":     sshKey(t, "ed25519"),
		"ssh-ecdsa":       sshKey(t, "ecdsa"),
		"ssh-rsa":         sshKey(t, "rsa"),
	}
}

func withSigningSubkey(t testing.TB) func(*openpgp.Entity, *packet.Config) {
	return func(e *openpgp.Entity, c *packet.Config) { require.NoError(t, e.AddSigningSubkey(c)) }
}

func TestSignAndVerify(t *testing.T) {
	for name, s := range signers(t) {
		t.Run(name, func(t *testing.T) {
			trust := trustIn(t, entryOf(s))
			for _, message := range []string{"", "tree 1\n", strings.Repeat("\x00\xff\r\n", 5000)} {
				armored := mustSign(t, s, NamespaceGit, message)
				require.NoError(t, Verify(s.Public(), NamespaceGit, []byte(message), armored))

				key, err := trust.Verify(NamespaceGit, []byte(message), armored)
				require.NoError(t, err)
				assert.Equal(t, s.KID(), key.KID())
				require.NoError(t, key.ValidAt(born().Add(day)))

				refused(t, Verify(s.Public(), NamespaceGit, []byte(message+" "), armored), "signature_invalid")
			}
			assert.NoError(t, CheckKID(s.KID()))
		})
	}
}

// The key that made a signature can be read from it before any key is trusted.
func TestSignatureKID(t *testing.T) {
	for name, s := range signers(t) {
		t.Run(name, func(t *testing.T) {
			kid, err := signatureKID(mustSign(t, s, namespaceOBO, "x"))
			require.NoError(t, err)
			if name == "openpgp-subkey" {
				sub := s.Public().pgp.Subkeys[1]
				assert.Equal(t, openpgpKID(sub.PublicKey.Fingerprint), kid)
				return
			}
			assert.Equal(t, s.KID(), kid)
		})
	}
	_, err := signatureKID(nil)
	refused(t, err, "unsigned")
	_, err = signatureKID([]byte("hello\n"))
	refused(t, err, "signature_invalid")
}

func TestVerifyByAnotherKey(t *testing.T) {
	a, b, c := pgpKey(t, packet.Config{}), pgpKey(t, packet.Config{}), sshKey(t, "ed25519")
	armored := mustSign(t, a, NamespaceGit, "x")
	refused(t, Verify(b.Public(), NamespaceGit, []byte("x"), armored), "untrusted_key")
	refused(t, Verify(c.Public(), NamespaceGit, []byte("x"), armored), "untrusted_key")
	refused(t, Verify(a.Public(), NamespaceGit, []byte("x"), mustSign(t, c, NamespaceGit, "x")), "untrusted_key")
	refused(t, Verify(sshKey(t, "ed25519").Public(), NamespaceGit, []byte("x"), mustSign(t, c, NamespaceGit, "x")), "untrusted_key")
	refused(t, Verify(PublicKey{}, NamespaceGit, []byte("x"), armored), "untrusted_key")

	trust := trustIn(t, entryOf(b), entryOf(c))
	_, err := trust.Verify(NamespaceGit, []byte("x"), armored)
	refused(t, err, "untrusted_key")
	_, err = trust.Verify(NamespaceGit, []byte("x"), nil)
	refused(t, err, "unsigned")
	_, err = trustIn(t).Verify(NamespaceGit, []byte("x"), mustSign(t, c, NamespaceGit, "x"))
	refused(t, err, "untrusted_key")
}

func TestSSHNamespace(t *testing.T) {
	s := sshKey(t, "ed25519")
	armored := mustSign(t, s, namespaceOBO, "x")
	require.NoError(t, Verify(s.Public(), namespaceOBO, []byte("x"), armored))
	refused(t, Verify(s.Public(), NamespaceGit, []byte("x"), armored), "signature_invalid")
	refused(t, Verify(s.Public(), "", []byte("x"), armored), "signature_invalid")
}

// The hub's clock must not matter: this package does not read the current time.
func TestKeyValidityAtTheDateOfTheSignature(t *testing.T) {
	ten := pgpKey(t, packet.Config{KeyLifetimeSecs: uint32((10 * day).Seconds())})
	before := mustSign(t, ten, NamespaceGit, "x")
	trust := trustIn(t, entryOf(ten))
	key, err := trust.Verify(NamespaceGit, []byte("x"), before)
	require.NoError(t, err)
	require.NoError(t, key.ValidAt(born().Add(9*day)))
	refused(t, key.ValidAt(born().Add(10*day)), "key_expired")
	refused(t, key.ValidAt(born().Add(-day)), "not_yet_valid")

	ten.now = later(11 * day)
	_, err = ten.Sign(t.Context(), NamespaceGit, []byte("x"))
	refused(t, err, "key_expired")
	ten.now = later(-day)
	_, err = ten.Sign(t.Context(), NamespaceGit, []byte("x"))
	refused(t, err, "not_yet_valid")

	late := forge(t, ten, func(sig *packet.Signature) { sig.CreationTime = born().Add(11 * day) })
	refused(t, Verify(ten.Public(), NamespaceGit, []byte("x"), late), "key_expired")
	early := forge(t, ten, func(sig *packet.Signature) { sig.CreationTime = born().Add(-day) })
	refused(t, Verify(ten.Public(), NamespaceGit, []byte("x"), early), "not_yet_valid")
}

// A key expires with its self-signature.
func TestSelfSignatureEnds(t *testing.T) {
	ten := pgpKey(t, packet.Config{SigLifetimeSecs: uint32((10 * day).Seconds())})
	key, err := trustIn(t, entryOf(ten)).Verify(NamespaceGit, []byte("x"), mustSign(t, ten, NamespaceGit, "x"))
	require.NoError(t, err)
	require.NoError(t, key.ValidAt(born().Add(9*day)))
	refused(t, key.ValidAt(born().Add(10*day)), "key_expired")
}

func TestOwnRevocation(t *testing.T) {
	for _, c := range []struct {
		name   string
		reason packet.ReasonForRevocation
		before string // the reason with which an earlier signature is refused; "" if it counts
	}{
		{"compromised", packet.KeyCompromised, "key_revoked"},
		{"no reason", packet.NoReason, "key_revoked"},
		{"silent", packet.Unknown, "key_revoked"},
		{"superseded", packet.KeySuperseded, ""},
		{"laid aside", packet.KeyRetired, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			revoke := func(e *openpgp.Entity, _ *packet.Config) {
				config := &packet.Config{Time: later(5 * day)}
				require.NoError(t, e.RevokeKey(c.reason, "", config))
				if c.reason == packet.Unknown { // the revocation has no reason
					e.Revocations[0].RevocationReason = nil
					require.NoError(t, e.Revocations[0].RevokeKey(e.PrimaryKey, e.PrivateKey, config))
				}
			}
			s := pgpKey(t, packet.Config{}, revoke)
			early := forge(t, s, func(sig *packet.Signature) { sig.CreationTime = born().Add(day) })
			err := Verify(s.Public(), NamespaceGit, []byte("x"), early)
			if c.before == "" {
				assert.NoError(t, err)
			} else {
				refused(t, err, c.before)
			}
			late := forge(t, s, func(sig *packet.Signature) { sig.CreationTime = born().Add(5 * day) })
			refused(t, Verify(s.Public(), NamespaceGit, []byte("x"), late), "key_revoked")
			key, _ := trustIn(t, entryOf(s)).Lookup(s.KID())
			refused(t, key.ValidAt(born().Add(6*day)), "key_revoked")
		})
	}
}

// A signature by a subkey counts as the primary key's, as long as the subkey is valid.
func TestSubkeyEnds(t *testing.T) {
	s := pgpKey(t, packet.Config{}, withSigningSubkey(t))
	armored := mustSign(t, s, NamespaceGit, "x")

	revoked := pgpKeyFrom(t, s, func(e *openpgp.Entity) {
		require.NoError(t, e.RevokeSubkey(&e.Subkeys[1], packet.KeySuperseded, "", &packet.Config{Time: later(5 * day)}))
	})
	trust := trustIn(t, entryOf(revoked))
	key, err := trust.Verify(NamespaceGit, []byte("x"), armored)
	require.NoError(t, err)
	assert.Equal(t, s.KID(), key.KID())
	require.NoError(t, key.ValidAt(born().Add(2*day)))
	refused(t, key.ValidAt(born().Add(6*day)), "key_revoked")
	byName, _ := trust.Lookup(s.KID())
	require.NoError(t, byName.ValidAt(born().Add(6*day)), "the primary key goes on")

	without := pgpKeyFrom(t, s, func(e *openpgp.Entity) { e.Subkeys = e.Subkeys[:1] })
	_, err = trustIn(t, entryOf(without)).Verify(NamespaceGit, []byte("x"), armored)
	refused(t, err, "untrusted_key")
}

// To find the key of a signature, the pinned keys that did not make it are not parsed: a team has hundreds.
func TestIssuerIsFoundUnparsed(t *testing.T) {
	with, other, stranger := pgpKey(t, packet.Config{}, withSigningSubkey(t)), pgpKey(t, packet.Config{}, withSigningSubkey(t)), pgpKey(t, packet.Config{})
	trust := trustIn(t, entryOf(with), entryOf(other), entryOf(sshKey(t, "ed25519")))
	_, err := trust.Verify(NamespaceGit, []byte("x"), mustSign(t, stranger, NamespaceGit, "x"))
	refused(t, err, "untrusted_key")
	key, err := trust.Verify(NamespaceGit, []byte("x"), mustSign(t, with, NamespaceGit, "x"))
	require.NoError(t, err)
	assert.Equal(t, with.KID(), key.KID())
	for kid, p := range trust.pins {
		assert.Equal(t, kid == with.KID(), p.copies != nil, kid)
	}
}

// The binding of a subkey with SHA-1 may be forged, so it does not count.
func TestSubkeyBoundWithSHA1(t *testing.T) {
	s := pgpKey(t, packet.Config{}, withSigningSubkey(t))
	armored := mustSign(t, s, NamespaceGit, "x")
	weak := pgpKeyFrom(t, s, func(e *openpgp.Entity) {
		sub := e.Subkeys[1]
		sub.Sig.Hash = crypto.SHA1
		require.NoError(t, sub.Sig.SignKey(sub.PublicKey, e.PrivateKey, unsalted()))
	})
	refused(t, Verify(weak.Public(), NamespaceGit, []byte("x"), armored), "untrusted_key")
}

// An encryption subkey cannot sign, and neither can a primary key that may only certify.
func TestKeysThatMayNotSign(t *testing.T) {
	certify := pgpKey(t, packet.Config{}, withSigningSubkey(t), func(e *openpgp.Entity, c *packet.Config) {
		for _, identity := range e.Identities {
			identity.SelfSignature.FlagSign = false
			require.NoError(t, identity.SelfSignature.SignUserId(identity.UserId.Id, e.PrimaryKey, e.PrivateKey, c))
		}
	})
	require.NoError(t, Verify(certify.Public(), NamespaceGit, []byte("x"), mustSign(t, certify, NamespaceGit, "x")))
	byPrimary := forge(t, certify, func(*packet.Signature) {})
	refused(t, Verify(certify.Public(), NamespaceGit, []byte("x"), byPrimary), "untrusted_key")
}

func BenchmarkSignVerify(b *testing.B) {
	for name, s := range map[string]Signer{"openpgp": pgpKey(b, packet.Config{}), "ssh": sshKey(b, "ed25519")} {
		message := []byte(strings.Repeat("Handoff-Id: ho_01\n", 50))
		trust := trustIn(b, entryOf(s))
		armored := mustSign(b, s, NamespaceGit, string(message))
		b.Run(name+"/sign", func(b *testing.B) {
			for b.Loop() {
				_, err := s.Sign(b.Context(), NamespaceGit, message)
				require.NoError(b, err)
			}
		})
		b.Run(name+"/verify", func(b *testing.B) {
			for b.Loop() {
				_, err := trust.Verify(NamespaceGit, message, armored)
				require.NoError(b, err)
			}
		})
	}
}
