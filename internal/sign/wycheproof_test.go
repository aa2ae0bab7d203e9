package sign

import (
	"bytes"
	"crypto/ed25519"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/hiddeco/sshsig"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
)

type wycheproof struct {
	NumberOfTests int
	TestGroups    []struct {
		PublicKey struct{ PK string }
		Tests     []struct {
			TcID                      int
			Comment, Msg, Sig, Result string
		}
	}
}

// Wycheproof's vectors sign any bytes, but SSHSIG and OpenPGP sign a digest that includes their own header, so
// no vector is a valid signature of either kind. The test puts the key and the signature of each vector into a
// packet of either kind and reads it with the strict parsers. It then checks the returned signature against the
// vector's message, with the calls that Verify makes for the digest. Over the digest itself each vector must be
// refused. OpenPGP writes two numbers without leading zeros, so it cannot represent a vector that is longer or
// shorter than a signature.
func TestWycheproofEd25519(t *testing.T) {
	b, err := os.ReadFile("testdata/wycheproof/ed25519_test.json")
	require.NoError(t, err)
	var vectors wycheproof
	require.NoError(t, json.Unmarshal(b, &vectors))
	seen := 0
	for _, g := range vectors.TestGroups {
		key := unhex(t, g.PublicKey.PK)
		for _, v := range g.Tests {
			seen++
			msg, sig, valid := unhex(t, v.Msg), unhex(t, v.Sig), v.Result == "valid"
			assert.Equal(t, valid, sshAccepts(t, key, msg, sig), "SSHSIG, vector %d: %s", v.TcID, v.Comment)
			if len(sig) == ed25519.SignatureSize {
				assert.Equal(t, valid, pgpAccepts(t, key, msg, sig), "OpenPGP, vector %d: %s", v.TcID, v.Comment)
			}
		}
	}
	assert.Equal(t, vectors.NumberOfTests, seen)
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	require.NoError(t, err)
	return b
}

func sshAccepts(t testing.TB, key, msg, sig []byte) bool {
	t.Helper()
	wire := ssh.Marshal(struct{ Type, Key string }{ssh.KeyAlgoED25519, string(key)})
	parsed, err := ssh.ParsePublicKey(wire)
	require.NoError(t, err)
	public, err := ParsePublic(ssh.MarshalAuthorizedKey(parsed))
	require.NoError(t, err)
	raw := (&sshsig.Signature{
		Version: 1, PublicKey: parsed, Namespace: NamespaceGit, HashAlgorithm: sshsig.HashSHA512,
		Signature: &ssh.Signature{Format: ssh.KeyAlgoED25519, Blob: sig},
	}).Marshal()
	refused(t, Verify(public, NamespaceGit, msg, sshSignatureArmor.encode(raw)), "signature_invalid")
	s, err := parseSSHSignature(raw)
	return err == nil && public.ssh.Verify(msg, s.Signature) == nil
}

func pgpAccepts(t testing.TB, key, msg, sig []byte) bool {
	t.Helper()
	public := pgpPublicPacket(t, key)
	hashed := slices.Concat(madeAt(day), append([]byte{22, 33, 4}, public.Fingerprint...))
	body := slices.Concat([]byte{4, 0, 22, 10, 0, byte(len(hashed))}, hashed, []byte{0, 0, 0, 0}, mpi(sig[:32]), mpi(sig[32:]))
	s, err := parsePGPSignature(append([]byte{0xc2, byte(len(body))}, body...))
	if err != nil {
		return false
	}
	digest := s.Hash.New()
	digest.Write(msg)
	assert.Error(t, public.VerifySignature(digest, s), "it is not over the digest")
	return public.VerifySignature(given(msg), s) == nil
}

// pgpPublicPacket returns the version 4 packet of an Ed25519 key in the old encoding.
func pgpPublicPacket(t testing.TB, key []byte) *packet.PublicKey {
	t.Helper()
	curve := []byte{9, 0x2b, 0x06, 0x01, 0x04, 0x01, 0xda, 0x47, 0x0f, 0x01}
	made := binary.BigEndian.AppendUint32([]byte{4}, uint32(born().Unix()))
	p, err := packet.Read(bytes.NewReader(packetOf(6, slices.Concat(made, []byte{22}, curve, mpi(append([]byte{0x40}, key...))))))
	require.NoError(t, err)
	return p.(*packet.PublicKey)
}

// given is a hash with a fixed sum, the digest over which an OpenPGP signature is made.
type given []byte

func (g given) Write(b []byte) (int, error) { return len(b), nil }
func (g given) Sum([]byte) []byte           { return g }
func (g given) Reset()                      {}
func (g given) Size() int                   { return len(g) }
func (g given) BlockSize() int              { return 1 }
