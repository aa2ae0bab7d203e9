package sign

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

const sealLimit = 4096

// Only the recipients can open a sealed text, and the sealed bytes do not contain the text.
func TestSealProperty(t *testing.T) {
	var keys []*pgpSigner
	for range 4 {
		keys = append(keys, pgpKey(t, packet.Config{}))
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOfN(rapid.Byte(), 0, sealLimit).Draw(t, "text")
		n := rapid.IntRange(1, len(keys)-1).Draw(t, "recipients")
		var to []PublicKey
		for _, k := range keys[:n] {
			to = append(to, k.public)
		}
		raw, err := Seal(text, to, born().Add(day), rand.Reader)
		require.NoError(t, err)
		require.NoError(t, CheckSealed(raw))
		require.LessOrEqual(t, len(raw), len(text)+SealOverhead)
		require.True(t, len(text) < 16 || !bytes.Contains(raw, text))
		for i, k := range keys {
			got, err := Unseal(t.Context(), k, raw, sealLimit)
			if i >= n {
				require.ErrorIs(t, err, ErrSealed)
				continue
			}
			require.NoError(t, err)
			require.Equal(t, text, append([]byte{}, got...))
		}
	})
}

func TestCanSeal(t *testing.T) {
	day0 := born()
	with := func(config packet.Config, edit ...func(*openpgp.Entity, *packet.Config)) PublicKey {
		return pgpKey(t, config, edit...).public
	}
	expired := func(e *openpgp.Entity, c *packet.Config) {
		e.Subkeys[0].Sig.KeyLifetimeSecs = new(uint32)
		*e.Subkeys[0].Sig.KeyLifetimeSecs = 60
		require.NoError(t, e.Subkeys[0].Sig.SignKey(e.Subkeys[0].PublicKey, e.PrivateKey, c))
	}
	for name, tc := range map[string]struct {
		key  PublicKey
		want bool
	}{
		"made by init":        {with(packet.Config{}), true},
		"RSA":                 {with(packet.Config{Algorithm: packet.PubKeyAlgoRSA, RSABits: 2048}), true},
		"NIST":                {with(packet.Config{Algorithm: packet.PubKeyAlgoECDSA, Curve: packet.CurveNistP256}), true},
		"no subkey":           {with(packet.Config{}, func(e *openpgp.Entity, _ *packet.Config) { e.Subkeys = nil }), false},
		"subkey that expired": {with(packet.Config{}, expired), false},
		"key that expired":    {with(packet.Config{KeyLifetimeSecs: 60}), false},
		"not made yet":        {with(packet.Config{Time: later(2 * day)}), false},
		"SSH":                 {sshKey(t, "ed25519").public, false},
		"none":                {PublicKey{}, false},
	} {
		assert.Equal(t, tc.want, tc.key.CanSeal(day0.Add(day)), name)
	}
	_, err := Seal([]byte("x"), []PublicKey{sshKey(t, "ed25519").public}, day0, rand.Reader)
	refused(t, err, "untrusted_key")
	_, err = Seal([]byte("x"), nil, day0, rand.Reader)
	refused(t, err, "usage")
}

func TestUnsealNeedsTheKey(t *testing.T) {
	s := pgpKey(t, packet.Config{})
	raw := sealFor(t, s, "text")
	for name, other := range map[string]Signer{"OpenPGP": pgpKey(t, packet.Config{}), "SSH": sshKey(t, "ed25519")} {
		_, err := Unseal(t.Context(), other, raw, sealLimit)
		refused(t, err, "audience_mismatch")
		assert.ErrorIs(t, err, ErrSealed, name)
	}
}

func sealFor(t testing.TB, s *pgpSigner, text string) []byte {
	t.Helper()
	raw, err := Seal([]byte(text), []PublicKey{s.public}, born().Add(day), rand.Reader)
	require.NoError(t, err)
	return raw
}

// encrypted returns a sealed text with any packets inside, after optional other packets.
func encrypted(t testing.TB, s *pgpSigner, before, inside []byte) []byte {
	t.Helper()
	session := make([]byte, 32)
	_, err := rand.Read(session)
	require.NoError(t, err)
	var out bytes.Buffer
	config := &packet.Config{}
	require.NoError(t, packet.SerializeEncryptedKey(&out, s.entity.Subkeys[0].PublicKey, packet.CipherAES256, session, config))
	out.Write(before)
	w, err := packet.SerializeSymmetricallyEncrypted(&out, packet.CipherAES256, false, packet.CipherSuite{}, session, config)
	require.NoError(t, err)
	_, err = w.Write(inside)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return out.Bytes()
}

type keepOpen struct{ io.Writer }

func (keepOpen) Close() error { return nil }

func literal(t testing.TB, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := packet.SerializeLiteral(keepOpen{&b}, true, "", 0)
	require.NoError(t, err)
	_, err = io.WriteString(w, text)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

func compressed(t testing.TB, inside []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := packet.SerializeCompressed(keepOpen{&b}, packet.CompressionZLIB, nil)
	require.NoError(t, err)
	_, err = w.Write(inside)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

func TestUnsealAcceptsOneCompression(t *testing.T) {
	s := pgpKey(t, packet.Config{})
	got, err := Unseal(t.Context(), s, encrypted(t, s, nil, compressed(t, literal(t, "text"))), sealLimit)
	require.NoError(t, err)
	assert.Equal(t, "text", string(got))
}

// A message in any other form is refused, if possible before it is decrypted, and never yields a
// part of the text.
func TestUnsealRefuses(t *testing.T) {
	s := pgpKey(t, packet.Config{})
	good := sealFor(t, s, "text")
	marker := packetOf(10, []byte("PGP"))
	keys := int(good[1]) + 2 // length of the session key's packet, which is shorter than 192 bytes
	data := good[keys:]
	for name, tc := range map[string]struct {
		raw    []byte
		reason string
	}{
		"empty":                      {nil, "malformed"},
		"plain":                      {literal(t, "text"), "malformed"},
		"armored":                    {[]byte("-----BEGIN PGP MESSAGE-----\n\n=twTO\n-----END PGP MESSAGE-----\n"), "malformed"},
		"nobody's":                   {data, "malformed"},
		"no data":                    {good[:keys], "malformed"},
		"truncated":                  {good[:len(good)-1], "malformed"},
		"a byte more":                {append(bytes.Clone(good), 0), "malformed"},
		"a second text":              {append(bytes.Clone(good), good...), "malformed"},
		"a marker before":            {append(bytes.Clone(marker), good...), "malformed"},
		"a marker between":           {encrypted(t, s, marker, literal(t, "text")), "malformed"},
		"a passphrase":               {append(packetOf(3, []byte{4, 9, 0, 8}), good...), "malformed"},
		"no integrity protection":    {append(append(bytes.Clone(good[:keys]), 0xc0|9), data[1:]...), "malformed"},
		"changed":                    {flip(good, len(good)-30), "malformed"},
		"changed at the end":         {flip(good, len(good)-1), "malformed"},
		"other session key":          {flip(good, keys-1), "audience_mismatch"},
		"17 recipients":              {append(bytes.Repeat(good[:keys], 17), data...), "malformed"},
		"too long":                   {encrypted(t, s, nil, literal(t, strings.Repeat("x", sealLimit+1))), "too_large"},
		"grows":                      {encrypted(t, s, nil, compressed(t, literal(t, strings.Repeat("x", 4<<20)))), "too_large"},
		"compressed twice":           {encrypted(t, s, nil, compressed(t, compressed(t, literal(t, "text")))), "malformed"},
		"two texts":                  {encrypted(t, s, nil, append(literal(t, "a"), literal(t, "b")...)), "malformed"},
		"two texts, compressed":      {encrypted(t, s, nil, compressed(t, append(literal(t, "a"), literal(t, "b")...))), "malformed"},
		"a text after a compression": {encrypted(t, s, nil, append(compressed(t, literal(t, "a")), literal(t, "b")...)), "malformed"},
		"a marker inside":            {encrypted(t, s, nil, append(bytes.Clone(marker), literal(t, "a")...)), "malformed"},
		"nothing inside":             {encrypted(t, s, nil, nil), "malformed"},
		"noise inside":               {encrypted(t, s, nil, []byte("text")), "malformed"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Unseal(t.Context(), s, tc.raw, sealLimit)
			refused(t, err, tc.reason)
			assert.Empty(t, got)
		})
	}
}

func FuzzUnseal(f *testing.F) {
	s := pgpKey(f, packet.Config{})
	good := sealFor(f, s, "text")
	f.Add(good)
	f.Add(good[:len(good)-1])
	f.Add(encrypted(f, s, nil, compressed(f, literal(f, "text"))))
	f.Add(encrypted(f, s, nil, nil))
	f.Add(literal(f, "text"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, raw []byte) {
		text, err := Unseal(t.Context(), s, raw, sealLimit)
		if err == nil {
			assert.NoError(t, CheckSealed(raw))
			assert.LessOrEqual(t, len(text), sealLimit)
			return
		}
		assert.True(t, errors.Is(err, ErrSealed) || strings.Contains(err.Error(), "sealed"), "%v", err)
	})
}

// The plaintext of a sealed message is parsed by strict rules, whatever program made it.
func FuzzReadSealed(f *testing.F) {
	f.Add(literal(f, "text"))
	f.Add(compressed(f, literal(f, "text")))
	f.Add(compressed(f, compressed(f, literal(f, "text"))))
	f.Add(append(literal(f, "a"), literal(f, "b")...))
	f.Fuzz(func(t *testing.T, plain []byte) {
		if text, err := readSealed(plain, sealLimit); err == nil {
			assert.LessOrEqual(t, len(text), sealLimit)
		}
	})
}
