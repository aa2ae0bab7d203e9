package sign

import (
	"bytes"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The encoder writes the same bytes that the decoder accepts.
func FuzzArmor(f *testing.F) {
	for _, a := range []armor{pgpSignatureArmor, sshSignatureArmor} {
		for _, size := range []int{0, 1, 47, 48, 49, 105, 500} {
			f.Add(a.encode(bytes.Repeat([]byte{0xa5}, size)))
		}
	}
	f.Add([]byte("-----BEGIN PGP SIGNATURE-----\n\n=twTO\n-----END PGP SIGNATURE-----\n"))
	f.Add([]byte("-----BEGIN PGP SIGNATURE-----\nComment: x\n\nAAAA\n-----END PGP SIGNATURE-----\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, a := range []armor{pgpSignatureArmor, sshSignatureArmor} {
			if raw, err := a.decode(text); err == nil {
				assert.Equal(t, text, a.encode(raw))
			}
			raw, err := a.decode(a.encode(text))
			require.NoError(t, err)
			assert.True(t, bytes.Equal(text, raw))
		}
	})
}

// Every accepted signature has the form that the package promises, and no input makes the parser panic.
func FuzzPGPSignature(f *testing.F) {
	s := pgpKey(f, packet.Config{})
	raw := forgePacket(f, s, func(*packet.Signature) {})
	f.Add(raw)
	f.Add(packetOf(2, body(f, raw)))
	f.Add(append(bytes.Clone(raw), raw...))
	f.Add([]byte{0x88, 4, 4, 0, 22, 10})
	f.Add([]byte{0x89, 0, 10, 4, 0, 1, 8, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, raw []byte) {
		sig, err := parsePGPSignature(raw)
		if err != nil {
			return
		}
		assert.True(t, isSHA2(sig.Hash))
		assert.Equal(t, packet.SigTypeBinary, sig.SigType)
		assert.NoError(t, CheckKID(signature{pgp: sig}.issuer()))
		kid, err := signatureKID(pgpSignatureArmor.encode(raw))
		require.NoError(t, err)
		assert.Equal(t, signature{pgp: sig}.issuer(), kid)
	})
}

func FuzzSSHSignature(f *testing.F) {
	s := sshKey(f, "ed25519")
	for _, namespace := range []string{NamespaceGit, namespaceOBO} {
		raw, err := sshSignatureArmor.decode(mustSign(f, s, namespace, "x"))
		require.NoError(f, err)
		f.Add(raw)
		f.Add(append(raw, 0))
	}
	f.Add([]byte("SSHSIG\x00\x00\x00\x01"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		sig, err := parseSSHSignature(raw)
		if err != nil {
			return
		}
		assert.True(t, bytes.Equal(raw, sig.Marshal()))
		assert.NoError(t, CheckKID(signature{ssh: sig}.issuer()))
	})
}

func FuzzParsePublic(f *testing.F) {
	for _, s := range signers(f) {
		f.Add([]byte(s.Public().Text()))
	}
	f.Add([]byte("ssh-ed25519 AAAA"))
	f.Add([]byte("-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n-----END PGP PUBLIC KEY BLOCK-----\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		public, err := ParsePublic(text)
		if err != nil {
			return
		}
		require.NoError(t, CheckKID(public.KID()))
		again, err := ParsePublic([]byte(public.Text()))
		require.NoError(t, err)
		assert.Equal(t, public.KID(), again.KID())
		assert.Equal(t, public.Text(), again.Text())
		_ = public.UserID()
		_ = public.CanSeal(born())
	})
}

func FuzzParseEntries(f *testing.F) {
	e := entryOf(sshKey(f, "ed25519"))
	e.MaxScope, e.Until, e.Comment = []string{"repo.*"}, "2027-01-01T00:00:00Z", "x"
	for _, entries := range [][]TrustEntry{nil, {e}, {entryOf(pgpKey(f, packet.Config{})), e}} {
		b, err := EncodeEntries(entries)
		require.NoError(f, err)
		f.Add(b)
	}
	f.Add([]byte(`{"schema":"githandoff-trust/1","keys":null}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		entries, err := parseEntries(text)
		if err != nil {
			return
		}
		first, err := EncodeEntries(entries)
		require.NoError(t, err)
		again, err := parseEntries(first)
		require.NoError(t, err)
		second, err := EncodeEntries(again)
		require.NoError(t, err)
		assert.Equal(t, string(first), string(second))
		trust, err := newTrust(entries...)
		require.NoError(t, err)
		for _, e := range trust.Entries() {
			key, ok := trust.Lookup(e.KID)
			require.True(t, ok)
			_ = key.MayAct(RoleSender, "fixer", born())
		}
	})
}
