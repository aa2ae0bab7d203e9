package sign

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"githandoff/internal/gittest"
	"githandoff/internal/handoff"
)

// keygen makes a key pair with ssh-keygen and returns the private file's path.
func keygen(t *testing.T, kind, passphrase string, args ...string) string {
	t.Helper()
	gittest.Need(t, "ssh-keygen")
	path := filepath.Join(t.TempDir(), "id")
	tool(t, gittest.Env(t), nil, "ssh-keygen", append([]string{"-q", "-t", kind, "-N", passphrase, "-C", "a@example.com", "-f", path}, args...)...)
	return path
}

func opened(t *testing.T, opts Options) Signer {
	t.Helper()
	s, err := OpenSigner(t.Context(), opts)
	require.NoError(t, err)
	return s
}

// sshAgent starts an agent and returns its socket.
func sshAgent(t *testing.T, files ...string) string {
	t.Helper()
	gittest.Need(t, "ssh-agent", "ssh-add")
	env := gittest.Env(t)
	socket := filepath.Join(gittest.Getenv(env, "XDG_RUNTIME_DIR"), "agent")
	cmd := exec.Command("ssh-agent", "-D", "-a", socket)
	cmd.Env = env
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	require.Eventually(t, func() bool { // the socket exists before the agent listens on it
		c, err := net.Dial("unix", socket)
		if err != nil {
			return false
		}
		return c.Close() == nil
	}, 10*time.Second, 10*time.Millisecond)
	for _, file := range files {
		tool(t, append(env, "SSH_AUTH_SOCK="+socket), nil, "ssh-add", "-q", file)
	}
	return socket
}

// ssh-keygen and this package accept each other's signatures.
func TestSSHKeygenAgrees(t *testing.T) {
	for kind, args := range map[string][]string{
		"ed25519": nil, "ecdsa": {"-b", "521"}, "rsa": {"-b", "3072"},
	} {
		t.Run(kind, func(t *testing.T) {
			path := keygen(t, kind, "", args...)
			env := gittest.Env(t)
			s := opened(t, Options{Key: path})
			trust := trustIn(t, entryOf(s))
			dir := t.TempDir()
			require.NoError(t, trust.Export(dir))
			signers := filepath.Join(dir, "allowed_signers")

			for _, namespace := range []string{NamespaceGit, namespaceOBO} {
				theirs := tool(t, env, []byte("x"), "ssh-keygen", "-Y", "sign", "-n", namespace, "-f", path)
				_, err := trust.Verify(namespace, []byte("x"), []byte(theirs))
				require.NoError(t, err)

				sig := writeFile(t, dir, "sig", mustSign(t, s, namespace, "x"))
				tool(t, env, []byte("x"), "ssh-keygen", "-Y", "verify", "-n", namespace, "-f", signers, "-I", "fixer", "-s", sig)
				_, err = tryTool(env, []byte("x"), "ssh-keygen", "-Y", "verify", "-n", "file", "-f", signers, "-I", "fixer", "-s", sig)
				assert.Error(t, err)
			}
			sha256 := tool(t, env, []byte("x"), "ssh-keygen", "-Y", "sign", "-O", "hashalg=sha256", "-n", "git", "-f", path)
			_, err := trust.Verify(NamespaceGit, []byte("x"), []byte(sha256))
			assert.NoError(t, err)
			listing := tool(t, env, nil, "ssh-keygen", "-l", "-f", path)
			assert.Contains(t, listing, strings.TrimPrefix(s.KID(), "ssh:"))
		})
	}
}

func TestExportedValidity(t *testing.T) {
	gittest.Need(t, "ssh-keygen")
	env := gittest.Env(t)
	s := sshKey(t, "ed25519")
	e := entryOf(s)
	e.From, e.Until, e.Retired = handoff.FormatTime(born()), handoff.FormatTime(born().Add(9*day)), handoff.FormatTime(born().Add(5*day))
	dir := t.TempDir()
	require.NoError(t, trustIn(t, e).Export(dir))
	signers := filepath.Join(dir, "allowed_signers")
	sig := writeFile(t, dir, "sig", mustSign(t, s, NamespaceGit, "x"))
	for at, valid := range map[time.Duration]bool{-time.Hour: false, time.Hour: true, 5*day - time.Hour: true, 5*day + time.Hour: false} {
		when := "-Overify-time=" + born().Add(at).Format("20060102150405Z")
		_, err := tryTool(env, []byte("x"), "ssh-keygen", "-Y", "verify", when, "-n", "git", "-f", signers, "-I", "fixer", "-s", sig)
		assert.Equal(t, valid, err == nil, "%s", at)
	}
}

func TestSSHAgent(t *testing.T) {
	plain, locked := keygen(t, "ed25519", ""), keygen(t, "rsa", "secret")
	socket := sshAgent(t, plain)
	public, err := os.ReadFile(plain + ".pub")
	require.NoError(t, err)
	kid := opened(t, Options{Key: plain}).KID()

	for _, key := range []string{kid, strings.TrimPrefix(kid, "ssh:"), plain + ".pub", string(public), "key::" + string(public)} {
		s := opened(t, Options{Key: key, SSHAuthSock: socket})
		assert.Equal(t, kid, s.KID(), key)
		assert.IsType(t, &agentSigner{}, s)
		require.NoError(t, Verify(s.Public(), namespaceOBO, []byte("x"), mustSign(t, s, namespaceOBO, "x")))
	}

	for _, key := range []string{locked, locked + ".pub"} {
		_, err := OpenSigner(t.Context(), Options{Key: key, SSHAuthSock: socket})
		refused(t, err, "key_locked")
		_, err = OpenSigner(t.Context(), Options{Key: key})
		refused(t, err, "key_locked")
	}
	assert.IsType(t, &sshSigner{}, opened(t, Options{Key: plain + ".pub"}), "the file beside it, without an agent")

	s := opened(t, Options{Key: kid, SSHAuthSock: socket})
	tool(t, append(gittest.Env(t), "SSH_AUTH_SOCK="+socket), nil, "ssh-add", "-q", "-D")
	_, err = s.Sign(t.Context(), NamespaceGit, []byte("x"))
	refused(t, err, "key_locked")
	_, err = OpenSigner(t.Context(), Options{Key: kid, SSHAuthSock: socket + ".gone"})
	refused(t, err, "signer_unavailable")
}

// RSA keys in an agent sign with SHA-2.
func TestRSAInAgent(t *testing.T) {
	path := keygen(t, "rsa", "", "-b", "2048")
	s := opened(t, Options{Key: path + ".pub", SSHAuthSock: sshAgent(t, path)})
	assert.IsType(t, &agentSigner{}, s)
	assert.NoError(t, Verify(s.Public(), NamespaceGit, []byte("x"), mustSign(t, s, NamespaceGit, "x")))
}

// If the agent does not answer, signing ends with the context.
func TestSilentAgent(t *testing.T) {
	dir, err := os.MkdirTemp("/tmp", "gh-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	listener, err := net.Listen("unix", socket)
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })

	ctx, cancel := contextFor(t, 200*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err = OpenSigner(ctx, Options{Key: sshKey(t, "ed25519").KID(), SSHAuthSock: socket})
	refused(t, err, "signer_unavailable")
	assert.Less(t, time.Since(start), 5*time.Second)
}

// softToken is a FIDO token in software, and the ssh-agent that talks to it. Its signatures are made by
// hand, in the format of OpenSSH's PROTOCOL.u2f.
type softToken struct {
	agent.Agent
	private ed25519.PrivateKey
	public  ssh.PublicKey
	flags   byte // bit 0: somebody touched the token
}

func newToken(t *testing.T) *softToken {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	key, err := ssh.ParsePublicKey(ssh.Marshal(struct{ Type, Key, Application string }{ssh.KeyAlgoSKED25519, string(public), "ssh:"}))
	require.NoError(t, err)
	return &softToken{agent.NewKeyring(), private, key, 1}
}

func (s *softToken) List() ([]*agent.Key, error) {
	return []*agent.Key{{Format: s.public.Type(), Blob: s.public.Marshal()}}, nil
}

func (s *softToken) Sign(_ ssh.PublicKey, data []byte) (*ssh.Signature, error) {
	rest := []byte{s.flags, 0, 0, 0, 7} // 7 is the token's counter
	over := slices.Concat(digestOf(crypto.SHA256, []byte("ssh:"), nil), rest, digestOf(crypto.SHA256, data, nil))
	return &ssh.Signature{Format: ssh.KeyAlgoSKED25519, Blob: ed25519.Sign(s.private, over), Rest: rest}, nil
}

// file is what ssh-keygen -t ed25519-sk writes: the name of a key in the token, in place of a private key.
func (s *softToken) file() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "OPENSSH PRIVATE KEY", Bytes: append([]byte("openssh-key-v1\x00"), ssh.Marshal(struct {
		Cipher, KDF, KDFOptions string
		Keys                    uint32
		Public, Private         string
	}{"none", "none", "", 1, string(s.public.Marshal()), "the handle"})...)})
}

// The file of a security key stands for the key: ssh-agent signs.
func TestSecurityKeyFile(t *testing.T) {
	token := newToken(t)
	file := writeFile(t, t.TempDir(), "id_ed25519_sk", token.file())

	_, err := OpenSigner(t.Context(), Options{Key: file})
	refused(t, err, "key_locked")
	assert.ErrorContains(t, err, "id_ed25519_sk is that of a security key, and ssh-agent does not hold key ssh:SHA256:")

	socket := gittest.ServeAgent(t, token)
	s := opened(t, Options{Key: file, SSHAuthSock: socket})
	require.NoError(t, Verify(s.Public(), NamespaceGit, []byte("x"), mustSign(t, s, NamespaceGit, "x")))

	require.NoError(t, os.Chmod(file, 0o644))
	_, err = OpenSigner(t.Context(), Options{Key: file, SSHAuthSock: socket})
	refused(t, err, "unsafe_file")
}

func TestSSHFiles(t *testing.T) {
	path := keygen(t, "ed25519", "")
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(path, link))
	assert.Equal(t, opened(t, Options{Key: path}).KID(), opened(t, Options{Key: link}).KID())

	require.NoError(t, os.Chmod(path, 0o644))
	_, err := OpenSigner(t.Context(), Options{Key: path})
	refused(t, err, "unsafe_file")
	_, err = OpenSigner(t.Context(), Options{Key: path + ".none"})
	refused(t, err, "no_key")
	other := writeFile(t, t.TempDir(), "x", []byte("hello"))
	for _, mode := range []os.FileMode{0o600, 0o644} { // no hint may change the mode of a file that is no key
		require.NoError(t, os.Chmod(other, mode))
		_, err = OpenSigner(t.Context(), Options{Key: other})
		refused(t, err, "malformed")
	}
	_, err = OpenSigner(t.Context(), Options{Key: keygen(t, "rsa", "", "-b", "1024")})
	refused(t, err, "malformed")
}

func TestKeyInEnvironment(t *testing.T) {
	ks := newKeystore(t)
	agent, inStore := pgpKey(t, packet.Config{}), generated(t, ks, "fixer")
	stored, err := os.ReadFile(filepath.Join(ks.Dir, "fixer.asc"))
	require.NoError(t, err)
	block, err := ssh.MarshalPrivateKey(ed25519Key(t), "")
	require.NoError(t, err)
	openssh := string(pem.EncodeToMemory(block))

	s := opened(t, Options{Env: string(stored), Keystore: ks, Agent: "nobody"})
	assert.Equal(t, inStore.KID(), s.KID())
	require.NoError(t, Verify(s.Public(), NamespaceGit, []byte("x"), mustSign(t, s, NamespaceGit, "x")))
	s = opened(t, Options{Env: openssh})
	require.NoError(t, Verify(s.Public(), NamespaceGit, []byte("x"), mustSign(t, s, NamespaceGit, "x")))
	assert.Equal(t, s.KID(), opened(t, Options{Env: openssh, Key: s.KID()}).KID())
	assert.Equal(t, inStore.KID(), opened(t, Options{Env: openssh, Key: "fixer", Keystore: ks}).KID(), "--key comes first")
	assert.Equal(t, inStore.KID(), opened(t, Options{Agent: "fixer", Keystore: ks}).KID())

	_, err = OpenSigner(t.Context(), Options{Keystore: ks, Agent: "tester"})
	refused(t, err, "no_key")
	for _, text := range []string{"hello", agent.Public().Text(), openssh[:len(openssh)/2]} {
		_, err := OpenSigner(t.Context(), Options{Env: text})
		refused(t, err, "malformed")
		assert.NotContains(t, err.Error(), "AAAA")
	}
	encrypted, err := ssh.MarshalPrivateKeyWithPassphrase(ed25519Key(t), "", []byte("secret"))
	require.NoError(t, err)
	_, err = OpenSigner(t.Context(), Options{Env: string(pem.EncodeToMemory(encrypted))})
	refused(t, err, "key_locked")

	require.NoError(t, agent.entity.EncryptPrivateKeys([]byte("secret"), &packet.Config{Rand: rand.Reader}))
	_, err = OpenSigner(t.Context(), Options{Env: privateText(t, agent)})
	refused(t, err, "key_locked")
}
