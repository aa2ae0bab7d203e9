package sign

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"githandoff/internal/fault"
)

// born returns the time at which the keys of these tests were made. It is in the past for any gpg that reads
// them.
func born() time.Time { return time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC) }

func later(d time.Duration) func() time.Time { return func() time.Time { return born().Add(d) } }

const day = 24 * time.Hour

// pgpKey makes an OpenPGP key in memory. The functions edit it before it is serialized.
func pgpKey(t testing.TB, config packet.Config, edit ...func(*openpgp.Entity, *packet.Config)) *pgpSigner {
	t.Helper()
	if config.Algorithm == 0 {
		config.Algorithm = packet.PubKeyAlgoEdDSA
	}
	if config.Time == nil {
		config.Time = born
	}
	entity, err := openpgp.NewEntity("agent", "", "agent@example.com", &config)
	require.NoError(t, err)
	for _, f := range edit {
		f(entity, &config)
	}
	return signerOf(t, entity)
}

func signerOf(t testing.TB, entity *openpgp.Entity) *pgpSigner {
	t.Helper()
	var raw bytes.Buffer
	require.NoError(t, entity.SerializePrivateWithoutSigning(&raw, nil))
	s, err := newPGPSigner(pgpPrivateArmor.encode(raw.Bytes()), later(day))
	require.NoError(t, err)
	return s
}

func sshKey(t testing.TB, kind string) *sshSigner {
	t.Helper()
	var key any
	var err error
	switch kind {
	case "ed25519":
		_, key, err = ed25519.GenerateKey(rand.Reader)
	case "ecdsa":
		key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case "rsa":
		key, err = rsa.GenerateKey(rand.Reader, 2048)
	}
	require.NoError(t, err)
	signer, err := ssh.NewSignerFromKey(key.(crypto.Signer))
	require.NoError(t, err)
	s, err := newSSHSigner(signer)
	require.NoError(t, err)
	return s.(*sshSigner)
}

func mustSign(t testing.TB, s Signer, namespace, message string) []byte {
	t.Helper()
	armored, err := s.Sign(context.Background(), namespace, []byte(message))
	require.NoError(t, err)
	return armored
}

// entryOf returns an entry that pins a key for agent "fixer" as sender and recipient.
func entryOf(s Signer) TrustEntry {
	return TrustEntry{KID: s.KID(), Key: s.Public().Text(), Agents: []string{"fixer"}, Roles: []string{RoleSender, RoleRecipient}}
}

func trustIn(t testing.TB, entries ...TrustEntry) *Trust {
	t.Helper()
	trust, err := newTrust(entries...)
	require.NoError(t, err)
	return trust
}

// refused asserts that err is a refusal for a reason.
func refused(t testing.TB, err error, reason string) {
	t.Helper()
	if assert.Error(t, err) {
		f := fault.As(err)
		require.NotNil(t, f, "not a refusal: %v", err)
		assert.Equal(t, fault.Reason(reason), f.Reason, "%v", err)
		assert.NotContains(t, err.Error(), "\n")
	}
}

// tool runs a program in env and returns its output; it must succeed.
func tool(t testing.TB, env []string, stdin []byte, name string, args ...string) string {
	t.Helper()
	out, err := tryTool(env, stdin, name, args...)
	require.NoError(t, err, "%s %s\n%s", name, strings.Join(args, " "), out)
	return out
}

func tryTool(env []string, stdin []byte, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Env, cmd.Stdin = env, bytes.NewReader(stdin)
	var out, diag bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &diag
	err := cmd.Run()
	if err != nil {
		return out.String() + diag.String(), err
	}
	return out.String(), nil
}

func writeFile(t testing.TB, dir, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(path, content, 0o600))
	return path
}

func contextFor(t testing.TB, d time.Duration) (context.Context, context.CancelFunc) {
	t.Helper()
	return context.WithTimeout(t.Context(), d)
}

func ed25519Key(t testing.TB) ed25519.PrivateKey {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	return key
}

func privateText(t testing.TB, s *pgpSigner) string {
	t.Helper()
	var raw bytes.Buffer
	require.NoError(t, s.entity.SerializePrivateWithoutSigning(&raw, nil))
	return string(pgpPrivateArmor.encode(raw.Bytes()))
}

// signatureKID returns the key that a signature names as its maker. For OpenPGP that may be a subkey.
func signatureKID(armored []byte) (KID, error) {
	s, err := parseSignature(armored)
	if err != nil {
		return "", err
	}
	return s.issuer(), nil
}

// digestOf hashes a message the way an OpenPGP signature over it is computed.
func digestOf(h crypto.Hash, message, suffix []byte) []byte {
	w := h.New()
	w.Write(message)
	w.Write(suffix)
	return w.Sum(nil)
}

// newTrust makes a Trust of entries without a file.
func newTrust(entries ...TrustEntry) (*Trust, error) {
	b, err := EncodeEntries(entries)
	if err != nil {
		return nil, err
	}
	t := &Trust{}
	if t.repo, err = parseEntries(b); err != nil {
		return nil, err
	}
	t.merge()
	return t, nil
}
