package sign

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"encoding/binary"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/eddsa"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/hiddeco/sshsig"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
)

// forge signs "x" with the primary key of s. edit changes the signature before that.
func forge(t testing.TB, s *pgpSigner, edit func(*packet.Signature)) []byte {
	t.Helper()
	return pgpSignatureArmor.encode(forgePacket(t, s, edit))
}

func forgePacket(t testing.TB, s *pgpSigner, edit func(*packet.Signature)) []byte {
	t.Helper()
	sig := &packet.Signature{
		Version: 4, SigType: packet.SigTypeBinary, PubKeyAlgo: s.entity.PrimaryKey.PubKeyAlgo,
		Hash: crypto.SHA512, CreationTime: born().Add(day), IssuerKeyId: &s.entity.PrimaryKey.KeyId,
	}
	edit(sig)
	h := sig.Hash.New()
	h.Write([]byte("x"))
	require.NoError(t, sig.Sign(h, s.entity.PrivateKey, unsalted()))
	var raw bytes.Buffer
	require.NoError(t, sig.Serialize(&raw))
	return raw.Bytes()
}

// unsalted returns a configuration for weak hashes, for which go-crypto defines no length of a salt.
func unsalted() *packet.Config {
	salt := false
	return &packet.Config{NonDeterministicSignaturesViaNotation: &salt}
}

// pgpKeyFrom returns the same key after edit.
func pgpKeyFrom(t testing.TB, s *pgpSigner, edit func(*openpgp.Entity)) *pgpSigner {
	t.Helper()
	var raw bytes.Buffer
	require.NoError(t, s.entity.SerializePrivateWithoutSigning(&raw, nil))
	entity, err := readEntity(raw.Bytes())
	require.NoError(t, err)
	edit(entity)
	return signerOf(t, entity)
}

// body removes the header of a packet that is shorter than 192 bytes.
func body(t testing.TB, raw []byte) []byte {
	t.Helper()
	require.Less(t, raw[1], byte(192))
	return raw[2:]
}

func packetOf(tag byte, body []byte) []byte {
	return append([]byte{0xc0 | tag, 0xff, byte(len(body) >> 24), byte(len(body) >> 16), byte(len(body) >> 8), byte(len(body))}, body...)
}

// unhashed adds an unhashed subpacket to a signature.
func unhashed(t testing.TB, raw []byte, kind byte, content []byte) []byte {
	t.Helper()
	b := bytes.Clone(body(t, raw))
	at := 6 + int(binary.BigEndian.Uint16(b[4:]))
	require.Zero(t, binary.BigEndian.Uint16(b[at:]), "an empty area")
	add := append([]byte{byte(len(content) + 1), kind}, content...)
	out := append(bytes.Clone(b[:at]), 0, byte(len(add)))
	out = append(append(out, add...), b[at+2:]...)
	return append([]byte{0xc2, byte(len(out))}, out...)
}

func TestPGPAttacks(t *testing.T) {
	s, other := pgpKey(t, packet.Config{}), pgpKey(t, packet.Config{})
	noSalt := func(sig *packet.Signature) {}
	raw := forgePacket(t, s, noSalt)
	good := string(pgpSignatureArmor.encode(raw))
	require.NoError(t, Verify(s.Public(), NamespaceGit, []byte("x"), []byte(good)), "what the attacks start from")
	plain := pgpSignatureArmor.encode
	lines := strings.SplitAfter(good, "\n")
	critical := func(sig *packet.Signature) {
		sig.Notations = []*packet.Notation{{Name: "a@example.com", Value: []byte("b"), IsCritical: true}}
	}
	lifetime := uint32(3600)

	for name, text := range map[string]string{
		"two packets":           string(plain(append(bytes.Clone(raw), forgePacket(t, other, noSalt)...))),
		"same packet twice":     string(plain(append(bytes.Clone(raw), raw...))),
		"other packet first":    string(plain(append(forgePacket(t, other, noSalt), raw...))),
		"marker packet first":   string(plain(append(packetOf(10, []byte("PGP")), raw...))),
		"trailing bytes":        string(plain(append(bytes.Clone(raw), 0))),
		"trailing bytes inside": string(plain(append([]byte{0xc2, raw[1] + 1}, append(bytes.Clone(raw[2:]), 0)...))),
		"long form of length":   string(plain(packetOf(2, body(t, raw)))),
		"truncated":             string(plain(raw[:len(raw)-1])),
		"empty":                 string(plain(nil)),
		"text mode":             string(forge(t, s, func(sig *packet.Signature) { sig.SigType = packet.SigTypeText })),
		"certification":         string(forge(t, s, func(sig *packet.Signature) { sig.SigType = packet.SigTypeGenericCert })),
		"SHA-1":                 string(forge(t, s, func(sig *packet.Signature) { sig.Hash = crypto.SHA1 })),
		"SHA-224":               string(forge(t, s, func(sig *packet.Signature) { sig.Hash = crypto.SHA224 })),
		"expires":               string(forge(t, s, func(sig *packet.Signature) { sig.SigLifetimeSecs = &lifetime })),
		"critical notation":     string(forge(t, s, critical)),
		"unhashed issuer":       string(plain(unhashed(t, raw, 33, append([]byte{4}, other.entity.PrimaryKey.Fingerprint...)))),
		"unhashed notation":     string(plain(unhashed(t, raw, 20, []byte("\x80\x00\x00\x00\x00\x01\x00\x01ab")))),
		"a false short id":      string(plain(unhashed(t, raw, 16, []byte("12345678")))),
		"a critical short id":   string(plain(unhashed(t, raw, 0x90, keyNumber(s)))),
		"two short ids":         string(plain(twice(t, unhashed(t, raw, 16, keyNumber(s))))),
		"a false count of bits": string(plain(miscounted(t, raw))),
		"hash tag":              string(plain(flip(raw, len(raw)-69))),
		"signature bit":         string(plain(flip(raw, len(raw)-1))),
		"no time":               string(plain(handmade(t, s, issuerOf(s)))),
		"two times":             string(plain(handmade(t, s, issuerOf(s), madeAt(day), madeAt(2*day)))),
		"no issuer":             string(plain(handmade(t, s, madeAt(day)))),
		"two issuers":           string(plain(handmade(t, s, madeAt(day), issuerOf(other), issuerOf(s)))),
		"S plus group order":    string(plain(addOrderPGP(t, raw))),
		"two blocks":            good + good,
		"text before":           "hello\n" + good,
		"text after":            good + "hello\n",
		"empty line after":      good + "\n",
		"no final line feed":    strings.TrimSuffix(good, "\n"),
		"carriage returns":      strings.ReplaceAll(good, "\n", "\r\n"),
		"header":                lines[0] + "Comment: hi\n" + strings.Join(lines[1:], ""),
		"no checksum":           strings.Join(append(append([]string{}, lines[:len(lines)-3]...), lines[len(lines)-2:]...), ""),
		"wrong checksum":        strings.Join(lines[:len(lines)-3], "") + "=AAAA\n" + strings.Join(lines[len(lines)-2:], ""),
		"longer lines":          lines[0] + lines[1] + strings.TrimSuffix(lines[2], "\n") + strings.Join(lines[3:], ""),
		"space in a line":       lines[0] + lines[1] + " " + strings.Join(lines[2:], ""),
		"too large":             good + strings.Repeat("\n", maxSignature),
		"another armor":         strings.ReplaceAll(good, "PGP SIGNATURE", "PGP MESSAGE"),
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, Verify(s.Public(), NamespaceGit, []byte("x"), []byte(text)), "signature_invalid")
			_, err := trustIn(t, entryOf(s), entryOf(other)).Verify(NamespaceGit, []byte("x"), []byte(text))
			refused(t, err, "signature_invalid")
		})
	}
}

// handmade signs "x" with any hashed subpackets.
func handmade(t testing.TB, s *pgpSigner, subpackets ...[]byte) []byte {
	t.Helper()
	hashed := slices.Concat(subpackets...)
	head := append([]byte{4, 0, 22, 10, 0, byte(len(hashed))}, hashed...)
	trailer := slices.Concat(head, []byte{4, 0xff, 0, 0, 0, byte(len(head))})
	digest := digestOf(crypto.SHA512, []byte("x"), trailer)
	r, sPart, err := eddsa.Sign(s.entity.PrivateKey.PrivateKey.(*eddsa.PrivateKey), digest)
	require.NoError(t, err)
	out := slices.Concat(head, []byte{0, 0}, digest[:2], mpi(r), mpi(sPart))
	return append([]byte{0xc2, byte(len(out))}, out...)
}

func mpi(b []byte) []byte {
	v := new(big.Int).SetBytes(b)
	return append([]byte{byte(v.BitLen() >> 8), byte(v.BitLen())}, v.Bytes()...)
}

func madeAt(d time.Duration) []byte {
	return binary.BigEndian.AppendUint32([]byte{5, 2}, uint32(born().Add(d).Unix()))
}

func issuerOf(s *pgpSigner) []byte {
	return append([]byte{22, 33, 4}, s.entity.PrimaryKey.Fingerprint...)
}

func TestHandmadeSignature(t *testing.T) {
	s := pgpKey(t, packet.Config{})
	armored := pgpSignatureArmor.encode(handmade(t, s, issuerOf(s), madeAt(day)))
	assert.NoError(t, Verify(s.Public(), NamespaceGit, []byte("x"), armored), "what some attacks start from")
}

func flip(raw []byte, i int) []byte {
	b := bytes.Clone(raw)
	b[i] ^= 1
	return b
}

// addOrder adds the order of the group to the second half of an Ed25519 signature: the value is the same, but
// the encoding differs (RFC 8032, section 5.1.7).
func addOrder(s []byte) []byte {
	order, _ := new(big.Int).SetString("7237005577332262213973186563042994240857116359379907606001950938285454250989", 10)
	b := bytes.Clone(s)
	slices.Reverse(b)
	b = new(big.Int).Add(new(big.Int).SetBytes(b), order).FillBytes(make([]byte, 32))
	slices.Reverse(b)
	return b
}

// addOrderPGP applies addOrder to the last integer of a signature packet.
func addOrderPGP(t testing.TB, raw []byte) []byte {
	t.Helper()
	b := body(t, raw)
	at := 6 + int(binary.BigEndian.Uint16(b[4:]))        // hashed subpackets
	at += 2 + int(binary.BigEndian.Uint16(b[at:])) + 2   // unhashed subpackets, hash tag
	at += 2 + (int(binary.BigEndian.Uint16(b[at:]))+7)/8 // R
	s := make([]byte, 32)
	copy(s[32-len(b[at+2:]):], b[at+2:])
	out := append(bytes.Clone(b[:at]), mpi(addOrder(s))...)
	return append([]byte{0xc2, byte(len(out))}, out...)
}

func keyNumber(s *pgpSigner) []byte {
	return binary.BigEndian.AppendUint64(nil, s.entity.PrimaryKey.KeyId)
}

// miscounted changes the bit count of the last integer of a signature, but not its number of bytes.
func miscounted(t testing.TB, raw []byte) []byte {
	t.Helper()
	b := bytes.Clone(body(t, raw))
	at := 6 + int(binary.BigEndian.Uint16(b[4:]))
	at += 2 + int(binary.BigEndian.Uint16(b[at:])) + 2
	at += 2 + (int(binary.BigEndian.Uint16(b[at:]))+7)/8
	n := int(binary.BigEndian.Uint16(b[at:]))
	if full := (n + 7) / 8 * 8; n == full {
		n = full - 1
	} else {
		n = full
	}
	binary.BigEndian.PutUint16(b[at:], uint16(n))
	return append([]byte{0xc2, byte(len(b))}, b...)
}

// twice repeats the only unhashed subpacket.
func twice(t testing.TB, raw []byte) []byte {
	t.Helper()
	b := bytes.Clone(body(t, raw))
	at := 6 + int(binary.BigEndian.Uint16(b[4:]))
	n := int(binary.BigEndian.Uint16(b[at:]))
	one := b[at+2 : at+2+n]
	out := append(bytes.Clone(b[:at]), 0, byte(2*n))
	out = append(append(append(out, one...), one...), b[at+2+n:]...)
	return append([]byte{0xc2, byte(len(out))}, out...)
}

// gpg puts the issuer's short id into an unhashed subpacket.
func TestUnhashedShortID(t *testing.T) {
	s := pgpKey(t, packet.Config{})
	raw := forgePacket(t, s, func(sig *packet.Signature) { sig.IssuerKeyId = nil })
	id := binary.BigEndian.AppendUint64(nil, s.entity.PrimaryKey.KeyId)
	armored := pgpSignatureArmor.encode(unhashed(t, raw, 16, id))
	assert.NoError(t, Verify(s.Public(), NamespaceGit, []byte("x"), armored))
}

// sshBlob is the blob of PROTOCOL.sshsig. A test can set each of its fields.
type sshBlob struct {
	Magic     [6]byte
	Version   uint32
	PublicKey string
	Namespace string
	Reserved  string
	Hash      string
	Signature string
}

func TestSSHAttacks(t *testing.T) {
	s, other := sshKey(t, "ed25519"), sshKey(t, "ed25519")
	weak, err := rsa.GenerateKey(rand.Reader, 1024)
	require.NoError(t, err)
	weakSigner, err := ssh.NewSignerFromKey(weak)
	require.NoError(t, err)
	cert := certificate(t, s, other)

	// blob signs "x" correctly for the given key, algorithm and fields.
	blob := func(key ssh.Signer, algorithm string, edit func(*sshBlob)) []byte {
		b := sshBlob{Magic: [6]byte([]byte("SSHSIG")), Version: 1, Namespace: NamespaceGit, Hash: "sha512"}
		b.PublicKey = string(key.PublicKey().Marshal())
		edit(&b)
		signed := append([]byte("SSHSIG"), ssh.Marshal(struct{ Namespace, Reserved, Hash, Digest string }{
			b.Namespace, b.Reserved, b.Hash, string(digestOf(crypto.SHA512, []byte("x"), nil)),
		})...)
		sig, err := key.(ssh.AlgorithmSigner).SignWithAlgorithm(rand.Reader, signed, algorithm)
		require.NoError(t, err)
		if b.Signature == "" {
			b.Signature = string(ssh.Marshal(sig))
		} else {
			b.Signature = string(ssh.Marshal(sig)) + b.Signature
		}
		return ssh.Marshal(b)
	}
	same := func(*sshBlob) {}
	wrap := sshSignatureArmor.encode
	raw := blob(s.key, ssh.KeyAlgoED25519, same)
	good := string(wrap(raw))
	require.NoError(t, Verify(s.Public(), NamespaceGit, []byte("x"), []byte(good)), "what the attacks start from")
	rsaSigner := sshKey(t, "rsa").key

	for name, text := range map[string]string{
		"trailing bytes":       string(wrap(append(bytes.Clone(raw), 0))),
		"truncated":            string(wrap(raw[:len(raw)-1])),
		"magic":                string(wrap(flip(raw, 0))),
		"signature bit":        string(wrap(flip(raw, len(raw)-1))),
		"version 2":            string(wrap(blob(s.key, ssh.KeyAlgoED25519, func(b *sshBlob) { b.Version = 2 }))),
		"reserved field":       string(wrap(blob(s.key, ssh.KeyAlgoED25519, func(b *sshBlob) { b.Reserved = "r" }))),
		"reserved, not signed": string(wrap(reserved(t, raw))),
		"another namespace":    string(wrap(blob(s.key, ssh.KeyAlgoED25519, func(b *sshBlob) { b.Namespace = "file" }))),
		"prefix of namespace":  string(wrap(blob(s.key, ssh.KeyAlgoED25519, func(b *sshBlob) { b.Namespace = "gi" }))),
		"SHA-1":                string(wrap(blob(s.key, ssh.KeyAlgoED25519, func(b *sshBlob) { b.Hash = "sha1" }))),
		"bytes in signature":   string(wrap(blob(s.key, ssh.KeyAlgoED25519, func(b *sshBlob) { b.Signature = "more" }))),
		"RSA with SHA-1":       string(wrap(blob(rsaSigner, ssh.KeyAlgoRSA, same))),
		"RSA of 1024 bits":     string(wrap(blob(weakSigner, ssh.KeyAlgoRSASHA512, same))),
		"certificate":          string(wrap(blob(s.key, ssh.KeyAlgoED25519, func(b *sshBlob) { b.PublicKey = string(cert.Marshal()) }))),
		"S plus group order":   string(wrap(append(bytes.Clone(raw[:len(raw)-32]), addOrder(raw[len(raw)-32:])...))),
		"two blocks":           good + good,
		"text before":          "hello\n" + good,
		"text after":           good + "hello\n",
		"lines of 64":          string(sshsig.Armor(mustParse(t, raw))),
		"PEM header":           strings.Replace(good, "-----\n", "-----\nComment: hi\n\n", 1),
		"no final line feed":   strings.TrimSuffix(good, "\n"),
		"PGP and SSH in a row": good + string(forge(t, pgpKey(t, packet.Config{}), func(*packet.Signature) {})),
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, Verify(s.Public(), NamespaceGit, []byte("x"), []byte(text)), "signature_invalid")
		})
	}

	t.Run("too large", func(t *testing.T) {
		long := strings.Repeat("n", maxSignature)
		refused(t, Verify(s.Public(), long, []byte("x"), mustSign(t, s, long, "x")), "signature_invalid")
	})
	t.Run("public key swapped", func(t *testing.T) {
		swapped := wrap(blob(other.key, ssh.KeyAlgoED25519, func(b *sshBlob) { b.PublicKey = string(s.key.PublicKey().Marshal()) }))
		refused(t, Verify(s.Public(), NamespaceGit, []byte("x"), swapped), "signature_invalid")
	})
}

// reserved fills a field that githandoff's signatures leave empty.
func reserved(t testing.TB, raw []byte) []byte {
	t.Helper()
	var b sshBlob
	require.NoError(t, ssh.Unmarshal(raw, &b))
	b.Reserved = "r"
	return ssh.Marshal(b)
}

// The signature of a security key counts only if the key was touched.
func TestSecurityKey(t *testing.T) {
	token := newToken(t)
	pinned, err := newSSHPublic(token.public)
	require.NoError(t, err)
	signed := append([]byte("SSHSIG"), ssh.Marshal(struct{ Namespace, Reserved, Hash, Digest string }{
		NamespaceGit, "", "sha512", string(digestOf(crypto.SHA512, []byte("x"), nil)),
	})...)
	for flags, reason := range map[byte]string{1: "", 5: "", 0: "signature_invalid", 4: "signature_invalid"} {
		token.flags = flags
		signature, err := token.Sign(token.public, signed)
		require.NoError(t, err)
		sig := &sshsig.Signature{
			Version: 1, PublicKey: token.public, Namespace: NamespaceGit, HashAlgorithm: sshsig.HashSHA512, Signature: signature,
		}
		err = Verify(pinned, NamespaceGit, []byte("x"), sshSignatureArmor.encode(sig.Marshal()))
		if reason == "" {
			assert.NoError(t, err, "flags %d", flags)
		} else {
			refused(t, err, reason)
		}
	}
}

func mustParse(t testing.TB, raw []byte) *sshsig.Signature {
	t.Helper()
	sig, err := sshsig.ParseSignature(raw)
	require.NoError(t, err)
	return sig
}

func certificate(t testing.TB, s, authority *sshSigner) *ssh.Certificate {
	t.Helper()
	cert := &ssh.Certificate{Key: s.key.PublicKey(), CertType: ssh.UserCert, ValidPrincipals: []string{"fixer"}, ValidBefore: ssh.CertTimeInfinity}
	require.NoError(t, cert.SignCert(rand.Reader, authority.key))
	return cert
}
