package sign

import (
	"bytes"
	"encoding/base64"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
)

// authors returns an OpenPGP and an SSH signer, and the claimed signers that contain both keys.
func authors(t testing.TB) (pgp, ssh Signer, a *ClaimedSigners) {
	t.Helper()
	ks := newKeystore(t)
	pgp, ssh = generated(t, ks, "fixer"), sshKey(t, "ed25519")
	return pgp, ssh, trustIn(t, entryOf(pgp), entryOf(ssh)).ClaimedSigners(func(Key) bool { return true })
}

func TestAuthorsOf(t *testing.T) {
	pgp, ssh, a := authors(t)
	none := trustIn(t, entryOf(pgp), entryOf(ssh)).ClaimedSigners(func(Key) bool { return false })
	for _, s := range []Signer{pgp, ssh} {
		armored, err := s.Sign(t.Context(), NamespaceGit, []byte("message"))
		require.NoError(t, err)
		for _, text := range []string{string(armored), string(armored) + "more\n", "more\n" + string(armored)} {
			kid, err := a.Of([]byte(text))
			require.NoError(t, err, text)
			assert.Equal(t, s.KID(), kid, text)
			kid, err = none.Of([]byte(text))
			require.NoError(t, err)
			assert.Empty(t, kid, "nobody is looked for")
		}
		for name, text := range map[string]string{
			"two blocks": string(armored) + string(armored),
			"no end":     string(armored[:len(armored)/2]),
			"no base64":  strings.Replace(string(armored), "\n", "\n!!\n", 2),
		} {
			_, err = a.Of([]byte(text))
			refused(t, err, "signature_invalid")
			assert.Error(t, err, name)
		}
	}
	for _, text := range []string{"", "x", "-----BEGIN SIGNED MESSAGE-----\nMIIB\n-----END SIGNED MESSAGE-----\n"} {
		kid, err := a.Of([]byte(text))
		assert.NoError(t, err, text)
		assert.Empty(t, kid, text)
	}
}

// An SSH certificate has another type name than its key, and signs with the same key.
func TestAuthorsOfCertificate(t *testing.T) {
	gittest.Need(t, "ssh-keygen")
	_, s, a := authors(t)
	dir := t.TempDir()
	run := func(args ...string) {
		out, err := exec.Command("ssh-keygen", append([]string{"-q"}, args...)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	key, ca, message := filepath.Join(dir, "key"), filepath.Join(dir, "ca"), filepath.Join(dir, "message")
	run("-t", "ed25519", "-N", "", "-f", key)
	run("-t", "ed25519", "-N", "", "-f", ca)
	run("-s", ca, "-I", "x", "-n", "x", key+".pub")
	require.NoError(t, os.WriteFile(message, []byte("message"), 0o600))
	run("-Y", "sign", "-n", "git", "-f", key+"-cert.pub", message)
	text, err := os.ReadFile(key + ".pub")
	require.NoError(t, err)
	public, err := ParsePublic(text)
	require.NoError(t, err)
	armored, err := os.ReadFile(message + ".sig")
	require.NoError(t, err)
	kid, err := a.Of(armored)
	require.NoError(t, err)
	assert.Empty(t, kid, "%s signed nothing", s.KID())
	kid, err = trustIn(t, TrustEntry{KID: public.KID(), Key: public.Text()}).ClaimedSigners(func(Key) bool { return true }).Of(armored)
	require.NoError(t, err)
	assert.Equal(t, public.KID(), kid)
}

// Only signature packets are accepted, however their length is encoded.
func TestAuthorsPackets(t *testing.T) {
	_, _, a := authors(t)
	body := bytes.Repeat([]byte("x"), 300)
	for _, tt := range []struct {
		name string
		raw  []byte
		ok   bool
	}{
		{"old, one byte", append([]byte{0x88, 4}, body[:4]...), true},
		{"old, two bytes", append([]byte{0x89, 1, 44}, body...), true},
		{"old, four bytes", append([]byte{0x8a, 0, 0, 1, 44}, body...), true},
		{"old, to the end", append([]byte{0x8b}, body...), false},
		{"new, one byte", append([]byte{0xc2, 4}, body[:4]...), true},
		{"new, two bytes", append([]byte{0xc2, 192, 108}, body...), true},
		{"new, four bytes", append([]byte{0xc2, 255, 0, 0, 1, 44}, body...), true},
		{"new, in parts", append([]byte{0xc2, 224, 'x', 0}, body...), false},
		{"two signatures", []byte{0xc2, 1, 'x', 0x88, 1, 'x'}, true},
		{"a compressed packet", []byte{0xc8, 1, 'x'}, false},
		{"one behind a signature", []byte{0xc2, 1, 'x', 0xa0, 1, 'x'}, false},
		{"cut off", []byte{0xc2, 9, 'x'}, false},
		{"a header alone", []byte{0xc2}, false},
		{"half a length", []byte{0x89, 1}, false},
		{"no packet", []byte{'x', 1, 'x'}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			kid, err := a.Of(pgpSignatureArmor.encode(tt.raw))
			assert.Empty(t, kid)
			if tt.ok {
				assert.NoError(t, err)
			} else {
				refused(t, err, "signature_invalid")
			}
		})
	}
}

// The loose parser finds each author that the strict parser finds. It fails on other input only with a refusal.
func FuzzAuthors(f *testing.F) {
	pgp, ssh, a := authors(f)
	for _, s := range []Signer{pgp, ssh} {
		armored, err := s.Sign(f.Context(), NamespaceGit, []byte("message"))
		require.NoError(f, err)
		f.Add(armored)
		f.Add(append([]byte("x\n"), armored...))
	}
	f.Add(pgpSignatureArmor.encode([]byte{0xc2, 255, 0xff, 0xff, 0xff, 0xff, 'x'}))
	f.Add([]byte("-----BEGIN PGP MESSAGE-----\nComment: x\n\n" + base64.StdEncoding.EncodeToString([]byte{0xc8, 1, 1}) + "\n-----END PGP MESSAGE-----\n"))
	f.Fuzz(func(t *testing.T, armored []byte) {
		kid, err := a.Of(armored)
		if err != nil {
			refused(t, err, "signature_invalid")
		}
		if named, strict := signatureKID(armored); strict == nil && (named == pgp.KID() || named == ssh.KID()) {
			require.NoError(t, err)
			assert.NotEmpty(t, kid)
		}
	})
}
