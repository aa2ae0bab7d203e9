package sign

import (
	"bytes"
	"crypto"
	"crypto/dsa"
	"crypto/rand"
	"encoding/base64"
	"math/big"
	"strings"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
)

func TestParsePublic(t *testing.T) {
	for name, s := range signers(t) {
		t.Run(name, func(t *testing.T) {
			text := s.Public().Text()
			public, err := ParsePublic([]byte("\n" + text + "\n\n"))
			require.NoError(t, err)
			assert.Equal(t, s.KID(), public.KID())
			assert.Equal(t, text, public.Text())
			assert.Equal(t, strings.HasPrefix(name, "ssh"), public.IsSSH())
			assert.False(t, public.IsZero())
		})
	}
	t.Run("headers and comments go", func(t *testing.T) {
		s := pgpKey(t, packet.Config{})
		text := strings.Replace(s.Public().Text(), "\n\n", "\nComment: hi\nVersion: 1\n\n", 1)
		public, err := ParsePublic([]byte(text))
		require.NoError(t, err)
		assert.Equal(t, s.Public().Text(), public.Text())

		public, err = ParsePublic([]byte(strings.TrimSpace(sshKey(t, "ed25519").Public().Text()) + " alice@example.com"))
		require.NoError(t, err)
		assert.NotContains(t, public.Text(), "alice")
	})
}

func TestParsePublicRefuses(t *testing.T) {
	pgp, sshed := pgpKey(t, packet.Config{}), sshKey(t, "ed25519")
	text, line := pgp.Public().Text(), strings.TrimSpace(sshed.Public().Text())
	var secret bytes.Buffer
	require.NoError(t, pgp.entity.SerializePrivateWithoutSigning(&secret, nil))
	two := append(bytes.Clone(pgp.Public().raw), pgpKey(t, packet.Config{}).Public().raw...)

	for name, key := range map[string]string{
		"nothing":                   " \n",
		"prose":                     "hello",
		"private key":               string(pgpPrivateArmor.encode(secret.Bytes())),
		"private, said public":      string(pgpPublicArmor.encode(secret.Bytes())),
		"OpenSSH private key":       "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n",
		"two armored keys":          text + text,
		"two keys in one armor":     string(pgpPublicArmor.encode(two)),
		"text after the key":        text + "hello",
		"text before the key":       "hello\n" + text,
		"signature":                 string(mustSign(t, pgp, NamespaceGit, "x")),
		"key and signature":         string(pgpPublicArmor.encode(append(bytes.Clone(pgp.Public().raw), forgePacket(t, pgp, func(*packet.Signature) {})...))) + "x",
		"truncated":                 string(pgpPublicArmor.encode(pgp.Public().raw[:60])),
		"two lines":                 line + "\n" + line,
		"options":                   `from="10.0.0.1" ` + line,
		"certificate":               string(ssh.MarshalAuthorizedKey(certificate(t, sshed, sshKey(t, "ed25519")))),
		"DSA":                       dsaKey(t),
		"RSA of 1024 bits":          string(shortRSA(t)),
		"version 6":                 string(pgpPublicArmor.encode(v6Key(t))),
		"algorithm 27 in version 4": string(pgpPublicArmor.encode(rawKey(t, packet.Config{Algorithm: packet.PubKeyAlgoEd25519, Time: born}))),
		"secp256k1":                 string(pgpPublicArmor.encode(rawKey(t, packet.Config{Algorithm: packet.PubKeyAlgoECDSA, Curve: packet.CurveSecP256k1, Time: born}))),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParsePublic([]byte(key))
			refused(t, err, "malformed")
		})
	}
	t.Run("signs itself with SHA-1", func(t *testing.T) {
		entity, err := readEntity(pgp.Public().raw)
		require.NoError(t, err)
		for _, identity := range entity.Identities {
			identity.SelfSignature.Hash = crypto.SHA1
			require.NoError(t, identity.SelfSignature.SignUserId(identity.UserId.Id, entity.PrimaryKey, pgp.entity.PrivateKey, unsalted()))
		}
		var raw bytes.Buffer
		require.NoError(t, entity.Serialize(&raw))
		_, err = ParsePublic(pgpPublicArmor.encode(raw.Bytes()))
		refused(t, err, "malformed")
	})
	_, err := ParsePublic(pgpPrivateArmor.encode(secret.Bytes()))
	assert.ErrorContains(t, err, "private key")
	_, err = ParsePublic([]byte(line + strings.Repeat(" x", MaxKey)))
	refused(t, err, "too_large")
}

func rawKey(t testing.TB, config packet.Config) []byte {
	t.Helper()
	entity, err := openpgp.NewEntity("agent", "", "", &config)
	require.NoError(t, err)
	var raw bytes.Buffer
	require.NoError(t, entity.Serialize(&raw))
	return raw.Bytes()
}

func v6Key(t testing.TB) []byte {
	return rawKey(t, packet.Config{Algorithm: packet.PubKeyAlgoECDSA, Curve: packet.CurveNistP256, V6Keys: true, Time: born})
}

func shortRSA(t testing.TB) []byte {
	return pgpPublicArmor.encode(rawKey(t, packet.Config{Algorithm: packet.PubKeyAlgoRSA, RSABits: 1024, Time: born}))
}

// dsaKey returns a DSA key as OpenSSH writes it. golang.org/x/crypto/ssh no longer supports such
// keys.
func dsaKey(t testing.TB) string {
	t.Helper()
	var key dsa.PrivateKey
	require.NoError(t, dsa.GenerateParameters(&key.Parameters, rand.Reader, dsa.L1024N160))
	require.NoError(t, dsa.GenerateKey(&key, rand.Reader))
	blob := ssh.Marshal(struct {
		Format     string
		P, Q, G, Y *big.Int
	}{"ssh-dss", key.P, key.Q, key.G, key.Y})
	return "ssh-dss " + base64.StdEncoding.EncodeToString(blob) + "\n"
}

func TestCheckKID(t *testing.T) {
	digits := strings.Repeat("0123456789", 4)
	for _, good := range []string{"openpgp:" + digits, "ssh:SHA256:" + strings.Repeat("A", 43)} {
		assert.NoError(t, CheckKID(good), good)
	}
	for _, bad := range []string{
		"", digits, "openpgp:" + digits[1:], "openpgp:" + digits + "0", "openpgp:" + strings.Replace(digits, "0", "A", 1),
		"openpgp:" + strings.Replace(digits, "0", "g", 1), "ssh:MD5:" + strings.Repeat("A", 43),
		"ssh:SHA256:" + strings.Repeat("A", 42) + "=", "ssh:SHA256:" + strings.Repeat("A", 42) + "B", // spare bits set
		"ssh:SHA256:" + strings.Repeat("A", 42) + "\n",
	} {
		refused(t, CheckKID(bad), "malformed")
	}
}
