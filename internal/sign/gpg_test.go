package sign

import (
	"bytes"
	"crypto/rand"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	pgparmor "github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/gittest"
)

// gpgHome returns the environment of a user with an empty keyring.
func gpgHome(t *testing.T) []string {
	t.Helper()
	gittest.Need(t, "gpg", "gpgv")
	return gittest.Env(t)
}

func gpg(t *testing.T, env []string, stdin string, args ...string) string {
	t.Helper()
	return tool(t, env, []byte(stdin), "gpg", append([]string{"--batch", "--quiet", "--no-tty", "--pinentry-mode", "loopback", "--passphrase", ""}, args...)...)
}

func gpgOptions(env []string, key string) Options {
	return Options{Key: key, Runner: &gitexec.Runner{Env: gitexec.Environ(env)}, Keystore: Keystore{Dir: "/nonexistent"}}
}

func gpgSignerOf(t *testing.T, env []string, key string) Signer {
	t.Helper()
	s, err := OpenSigner(t.Context(), gpgOptions(env, key))
	require.NoError(t, err)
	return s
}

// gpg reads the keys that Generate makes, verifies their signatures, signs with them and encrypts to them.
func TestOurKeysInGPG(t *testing.T) {
	env := gpgHome(t)
	ks := Keystore{Dir: filepath.Join(t.TempDir(), "keys")}
	ours, err := ks.Generate("fixer", "fixer", nil, time.Now(), nil)
	require.NoError(t, err)
	dir := t.TempDir()
	message := writeFile(t, dir, "message", []byte("x"))
	sig := writeFile(t, dir, "message.sig", mustSign(t, ours, NamespaceGit, "x"))

	gpg(t, env, ours.Public().Text(), "--import")
	status := gpg(t, env, "", "--status-fd", "1", "--verify", sig, message)
	fingerprint := strings.ToUpper(strings.TrimPrefix(ours.KID(), openpgpPrefix))
	assert.Contains(t, status, "[GNUPG:] VALIDSIG "+fingerprint)

	sealed := gpg(t, env, "secret", "--trust-model", "always", "--armor", "--encrypt", "-r", fingerprint)
	block, err := pgparmor.Decode(strings.NewReader(sealed))
	require.NoError(t, err)
	details, err := openpgp.ReadMessage(block.Body, openpgp.EntityList{ours.(*pgpSigner).entity}, nil, nil)
	require.NoError(t, err)
	opened, err := io.ReadAll(details.UnverifiedBody)
	require.NoError(t, err)
	assert.Equal(t, "secret", string(opened))

	private, err := os.ReadFile(filepath.Join(ks.Dir, "fixer.asc"))
	require.NoError(t, err)
	gpg(t, env, string(private), "--import")
	theirs := gpgSignerOf(t, env, ours.KID())
	assert.Equal(t, ours.KID(), theirs.KID())
	require.NoError(t, Verify(ours.Public(), NamespaceGit, []byte("y"), mustSign(t, theirs, NamespaceGit, "y")))
}

func TestGPGSigns(t *testing.T) {
	env := gpgHome(t)
	// A user's settings must not change the form of a signature.
	writeFile(t, gittest.Getenv(env, "GNUPGHOME"), "gpg.conf", []byte(
		"textmode\ncomment hello\nemit-version\ndigest-algo SHA1\ndefault-sig-expire 1y\narmor\n"))
	for _, algorithm := range []string{"ed25519", "rsa3072", "nistp256"} {
		t.Run(algorithm, func(t *testing.T) {
			mail := algorithm + "@example.com"
			gpg(t, env, "", "--quick-gen-key", "Alice <"+mail+">", algorithm, "sign", "never")
			byMail := gpgSignerOf(t, env, mail)
			fingerprint := strings.TrimPrefix(byMail.KID(), openpgpPrefix)
			for _, name := range []string{
				fingerprint, strings.ToUpper(fingerprint), "0x" + fingerprint, fingerprint[24:],
				byMail.KID(), "Alice <" + mail + ">", fingerprint[:20] + " " + fingerprint[20:],
			} {
				assert.Equal(t, byMail.KID(), gpgSignerOf(t, env, name).KID(), name)
			}
			trust := trustIn(t, entryOf(byMail))
			for _, message := range []string{"", "line \r\nline", strings.Repeat("x", 100000)} {
				key, err := trust.Verify(NamespaceGit, []byte(message), mustSign(t, byMail, NamespaceGit, message))
				require.NoError(t, err)
				assert.NoError(t, key.ValidAt(time.Now()))
			}
		})
	}
}

// Whoever shows what a command waits for is told that gpg signs, and that it decrypts.
func TestSignerIsWaitedFor(t *testing.T) {
	env := gpgHome(t)
	gpg(t, env, "", "--quick-gen-key", "a@example.com", "default", "default", "never")
	opts := gpgOptions(env, "a@example.com")
	var told []string
	opts.Waiting = func(program string) func() {
		told = append(told, program)
		return func() { told = append(told, "done") }
	}
	s, err := OpenSigner(t.Context(), opts)
	require.NoError(t, err)
	mustSign(t, s, NamespaceGit, "x")
	assert.Equal(t, []string{"gpg", "done"}, told)
	raw, err := Seal([]byte("x"), []PublicKey{s.Public()}, time.Now(), rand.Reader)
	require.NoError(t, err)
	_, err = Unseal(t.Context(), s, raw, 1)
	require.NoError(t, err)
	assert.Equal(t, []string{"gpg", "done", "gpg", "done"}, told)
}

// gpg can make signatures in looser forms. They are refused.
func TestLooseGPGSignatures(t *testing.T) {
	env := gpgHome(t)
	gpg(t, env, "", "--quick-gen-key", "a@example.com", "rsa2048", "sign", "never")
	trust := trustIn(t, entryOf(gpgSignerOf(t, env, "a@example.com")))
	good := gpg(t, env, "x", "-bsa")
	_, err := trust.Verify(NamespaceGit, []byte("x"), []byte(good))
	require.NoError(t, err, "as git commit -S calls it")
	for name, args := range map[string][]string{
		"text mode":  {"--textmode", "-bsa"},
		"SHA-1":      {"--digest-algo", "SHA1", "-bsa"},
		"expires":    {"--default-sig-expire", "1y", "-bsa"},
		"comment":    {"--comment", "hi", "-bsa"},
		"not armor":  {"-bs"},
		"inline":     {"-sa"},
		"clear text": {"--clearsign"},
	} {
		_, err := trust.Verify(NamespaceGit, []byte("x"), []byte(gpg(t, env, "x", args...)))
		assert.True(t, fault.Is(err, "signature_invalid"), "%s: %v", name, err)
	}
}

func TestGPGSubkey(t *testing.T) {
	env := gpgHome(t)
	gpg(t, env, "", "--quick-gen-key", "a@example.com", "ed25519", "cert", "never")
	primary := strings.TrimPrefix(gpgSignerOf(t, env, "a@example.com").KID(), openpgpPrefix)
	gpg(t, env, "", "--quick-add-key", primary, "ed25519", "sign", "never")
	s := gpgSignerOf(t, env, "a@example.com")
	armored := mustSign(t, s, NamespaceGit, "x")
	kid, err := signatureKID(armored)
	require.NoError(t, err)
	assert.NotEqual(t, s.KID(), kid)
	key, err := trustIn(t, entryOf(s)).Verify(NamespaceGit, []byte("x"), armored)
	require.NoError(t, err)
	assert.Equal(t, openpgpPrefix+primary, key.KID())
	assert.False(t, key.Primary(), "a subkey made it")
}

// Keys that gpg made in the past have since expired or been revoked.
func TestEndedGPGKeys(t *testing.T) {
	env := gpgHome(t)
	past := []string{"--faked-system-time", "20260101T000000!"}
	gpg(t, env, "", append(past, "--quick-gen-key", "old@example.com", "ed25519", "sign", "10d")...)
	armored := gpg(t, env, "x", append(past, "-u", "old@example.com", "-bsa")...)
	public, err := ParsePublic([]byte(gpg(t, env, "", "--armor", "--export", "old@example.com")))
	require.NoError(t, err)
	trust := trustIn(t, TrustEntry{KID: public.KID(), Key: public.Text(), Agents: []string{"a"}, Roles: []string{RoleSender}})
	key, err := trust.Verify(NamespaceGit, []byte("x"), []byte(armored))
	require.NoError(t, err)
	require.NoError(t, key.MayAct(RoleSender, "a", born()))
	refused(t, key.MayAct(RoleSender, "a", born().Add(20*day)), "key_expired")

	home := gittest.Getenv(env, "GNUPGHOME")
	certificate, err := os.ReadFile(filepath.Join(home, "openpgp-revocs.d", strings.ToUpper(strings.TrimPrefix(public.KID(), openpgpPrefix))+".rev"))
	require.NoError(t, err)
	gpg(t, env, strings.Replace(string(certificate), ":-----", "-----", 1), "--import")
	revoked, err := ParsePublic([]byte(gpg(t, env, "", "--armor", "--export", "old@example.com")))
	require.NoError(t, err)
	refused(t, Verify(revoked, NamespaceGit, []byte("x"), []byte(armored)), "key_revoked")
}

// If there is no way to ask for a passphrase, the signer returns an error and does not wait.
func TestLockedGPGKey(t *testing.T) {
	env := gpgHome(t)
	tool(t, env, nil, "gpg", "--batch", "--quiet", "--no-tty", "--pinentry-mode", "loopback", "--passphrase", "secret",
		"--quick-gen-key", "locked@example.com", "ed25519", "sign", "never")
	tool(t, env, nil, "gpgconf", "--kill", "gpg-agent")
	s := gpgSignerOf(t, env, "locked@example.com")
	start := time.Now()
	_, err := s.Sign(t.Context(), NamespaceGit, []byte("x"))
	refused(t, err, "key_locked")
	assert.Less(t, time.Since(start), 10*time.Second)
}

func TestGPGKeysThatAreNotThere(t *testing.T) {
	env := gpgHome(t)
	for range 2 {
		gpg(t, env, "", "--quick-gen-key", "--yes", "twice@example.com", "ed25519", "sign", "never")
	}
	gpg(t, env, "", "--quick-gen-key", "Bug fixer <fixer@example.com>", "ed25519", "sign", "never")
	only := sshKey(t, "ed25519")
	for name, reason := range map[string]string{
		"nobody@example.com": "no_key",
		"twice@example.com":  "ambiguous",
		"fixer":              "no_key", // a part of another user id
		"example.com":        "no_key",
		"fixer@example.co":   "no_key",
		"--version":          "no_key",
		"openpgp:0123456789012345678901234567890123456789": "no_key",
		only.KID(): "key_locked",
	} {
		_, err := OpenSigner(t.Context(), gpgOptions(env, name))
		assert.True(t, fault.Is(err, fault.Reason(reason)), "%s: %v", name, err)
	}
	without := gpgOptions(env, "fixer@example.com")
	without.GPGProgram = "/nonexistent/gpg"
	_, err := OpenSigner(t.Context(), without)
	refused(t, err, "signer_unavailable")

	// A sandbox may allow no connection to gpg-agent, and no start of one.
	tool(t, env, nil, "gpgconf", "--kill", "gpg-agent")
	writeFile(t, gittest.Getenv(env, "GNUPGHOME"), "gpg.conf", []byte("no-autostart\n"))
	_, err = OpenSigner(t.Context(), gpgOptions(env, "fixer@example.com"))
	refused(t, err, "signer_unavailable")
	assert.ErrorContains(t, err, "without its agent")

	// A public key without its secret key cannot sign.
	other := gpgHome(t)
	gpg(t, other, gpg(t, env, "", "--armor", "--export", "fixer@example.com"), "--import")
	_, err = OpenSigner(t.Context(), gpgOptions(other, "fixer@example.com"))
	refused(t, err, "no_key")
}

func TestPlainSignatureDropsArmorHeaders(t *testing.T) {
	good := []byte(gpgText(t))
	plain, err := plainSignature(bytes.Replace(good, []byte("\n\n"), []byte("\nVersion: GnuPG v2\n\n"), 1))
	require.NoError(t, err)
	assert.Equal(t, string(good), string(plain))
	_, err = plainSignature([]byte("hello"))
	refused(t, err, "signature_invalid")
}

func gpgText(t *testing.T) string {
	t.Helper()
	return string(pgpSignatureArmor.encode([]byte(strings.Repeat("signature ", 12))))
}

// gpg decrypts texts that githandoff sealed, and githandoff opens texts that gpg encrypted. If only gpg has the
// key, githandoff opens them through gpg.
func TestGPGUnseals(t *testing.T) {
	env := gpgHome(t)
	gpg(t, env, "", "--quick-gen-key", "a@example.com", "ed25519", "sign", "never")
	theirs := gpgSignerOf(t, env, "a@example.com")
	fingerprint := strings.TrimPrefix(theirs.KID(), openpgpPrefix)
	_, err := Seal([]byte("x"), []PublicKey{theirs.Public()}, time.Now(), rand.Reader)
	refused(t, err, "untrusted_key")

	gpg(t, env, "", "--quick-add-key", fingerprint, "cv25519", "encr", "never")
	theirs = gpgSignerOf(t, env, "a@example.com")
	long := strings.Repeat("secret ", 10000)
	raw, err := Seal([]byte(long), []PublicKey{theirs.Public(), pgpKey(t, packet.Config{}).public}, time.Now(), rand.Reader)
	require.NoError(t, err)
	assert.Equal(t, long, gpg(t, env, string(raw), "--decrypt"))
	got, err := Unseal(t.Context(), theirs, raw, len(long))
	require.NoError(t, err)
	assert.Equal(t, long, string(got))
	_, err = Unseal(t.Context(), theirs, raw, len(long)-1)
	refused(t, err, "too_large")
	_, err = Unseal(t.Context(), theirs, flip(raw, len(raw)-40), len(long))
	refused(t, err, "malformed")
	_, err = Unseal(t.Context(), pgpKey(t, packet.Config{}), raw, len(long))
	refused(t, err, "audience_mismatch")

	ours := pgpKey(t, packet.Config{})
	gpg(t, env, ours.public.Text(), "--import")
	for _, args := range [][]string{{}, {"--compress-algo", "none"}, {"--compress-algo", "bzip2"}} {
		to := strings.TrimPrefix(ours.KID(), openpgpPrefix)
		raw := gpg(t, env, long, append(args, "--trust-model", "always", "--encrypt", "-r", to, "-r", fingerprint)...)
		got, err := Unseal(t.Context(), ours, []byte(raw), len(long))
		require.NoError(t, err, args)
		assert.Equal(t, long, string(got))
	}

	gpg(t, env, "", "--yes", "--delete-secret-keys", fingerprint)
	_, err = Unseal(t.Context(), theirs, raw, len(long))
	refused(t, err, "audience_mismatch")
}
