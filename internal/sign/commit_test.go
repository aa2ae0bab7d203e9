package sign

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
	"githandoff/internal/handoff"
)

// commitWith stores a commit with a signature in its header and returns
// its id.
func commitWith(t *testing.T, repo *gittest.Repo, payload string, armored []byte) string {
	t.Helper()
	head, message, ok := strings.Cut(payload, "\n\n")
	require.True(t, ok)
	lines := strings.ReplaceAll(strings.TrimSuffix(string(armored), "\n"), "\n", "\n ")
	raw := head + "\n" + gittest.SignatureHeader() + " " + lines + "\n\n" + message
	file := writeFile(t, t.TempDir(), "commit", []byte(raw))
	return repo.Git(t, "hash-object", "-w", "-t", "commit", file)
}

func payloadOf(t *testing.T, repo *gittest.Repo, at time.Time) string {
	t.Helper()
	who := "Agent <agent@example.com> " + strconv.FormatInt(at.Unix(), 10) + " +0000"
	tree := repo.Git(t, "hash-object", "-w", "-t", "tree", "/dev/null")
	return "tree " + tree + "\nauthor " + who + "\ncommitter " + who + "\n\noffered ho_01\n\nHandoff-Id: ho_01\n"
}

// git accepts the signatures of this package with the files that Export writes.
func TestVerifyCommit(t *testing.T) {
	gittest.Need(t, "gpg", "gpgv", "ssh-keygen")
	env := gittest.Env(t)
	repo := gittest.NewRepo(t, env)
	ks := Keystore{Dir: filepath.Join(t.TempDir(), "keys")}
	now := time.Now()
	pgp, err := ks.Generate("fixer", "fixer", nil, now.Add(-time.Minute), nil)
	require.NoError(t, err)
	stranger, err := ks.Generate("stranger", "stranger", nil, now.Add(-time.Minute), nil)
	require.NoError(t, err)

	for name, s := range map[string]Signer{
		"openpgp": pgp, "ssh-ed25519": sshKey(t, "ed25519"), "ssh-ecdsa": sshKey(t, "ecdsa"), "ssh-rsa": sshKey(t, "rsa"),
	} {
		t.Run(name, func(t *testing.T) {
			trust := trustIn(t, entryOf(s))
			dir := t.TempDir()
			require.NoError(t, trust.Export(dir))
			if !s.Public().IsSSH() { // gpg --import fails on an empty ring
				tool(t, env, nil, "gpg", "--batch", "--quiet", "--import", filepath.Join(dir, "pubring.gpg"))
			}
			repo.Git(t, "config", "gpg.ssh.allowedSignersFile", filepath.Join(dir, "allowed_signers"))

			payload := payloadOf(t, repo, now)
			armored := mustSign(t, s, NamespaceGit, payload)
			repo.Git(t, "verify-commit", commitWith(t, repo, payload, armored))
			_, err := trust.Verify(NamespaceGit, []byte(payload), armored)
			require.NoError(t, err)
			_, _, code := repo.TryGit("verify-commit", commitWith(t, repo, payload+"\n", armored))
			assert.NotZero(t, code)
			repo.Git(t, "fsck", "--strict")
		})
	}

	// A key that is only in the keyring is trusted by git, but not by githandoff.
	tool(t, env, []byte(stranger.Public().Text()), "gpg", "--batch", "--quiet", "--import")
	payload := payloadOf(t, repo, now)
	armored := mustSign(t, stranger, NamespaceGit, payload)
	repo.Git(t, "verify-commit", commitWith(t, repo, payload, armored))
	_, err = trustIn(t, entryOf(pgp)).Verify(NamespaceGit, []byte(payload), armored)
	refused(t, err, "untrusted_key")
	repo.Git(t, "verify-commit", commitWith(t, repo, payload, append(armored, "text after\n"...)))
	_, err = trustIn(t, entryOf(stranger)).Verify(NamespaceGit, []byte(payload), append(armored, "text after\n"...))
	refused(t, err, "signature_invalid")
}

// gpgv can read the exported keyring, which does not contain a retired key.
func TestExportedRing(t *testing.T) {
	gittest.Need(t, "gpg", "gpgv")
	env := gittest.Env(t)
	ks := Keystore{Dir: filepath.Join(t.TempDir(), "keys")}
	var entries []TrustEntry
	sigs := map[string]string{}
	dir := t.TempDir()
	message := writeFile(t, dir, "message", []byte("x"))
	for _, name := range []string{"a", "b", "retired"} {
		s, err := ks.Generate(name, name, nil, time.Now(), nil)
		require.NoError(t, err)
		entries = append(entries, entryOf(s))
		sigs[name] = writeFile(t, dir, name+".sig", mustSign(t, s, namespaceOBO, "x"))
	}
	entries[2].Retired = handoff.FormatTime(time.Now())
	require.NoError(t, trustIn(t, entries...).Export(dir))
	ring := filepath.Join(dir, "pubring.gpg")
	tool(t, env, nil, "gpgv", "--keyring", ring, sigs["a"], message)
	tool(t, env, nil, "gpgv", "--keyring", ring, sigs["b"], message)
	_, err := tryTool(env, nil, "gpgv", "--keyring", ring, sigs["retired"], message)
	assert.Error(t, err)
}
