package guard

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
	"githandoff/internal/sign"
)

// Commits that git and its signers made are parsed as git parses them: the signature verifies over the payload.
func TestReadSigned(t *testing.T) {
	gittest.Need(t, "ssh-keygen", "gpg")
	env := gittest.Env(t)
	repo := gittest.NewRepo(t, env)
	run := func(name string, args ...string) []byte {
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.Env = repo.Dir, env
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return out
	}
	ssh := filepath.Join(t.TempDir(), "key")
	run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", ssh)
	run("gpg", "--batch", "--passphrase", "", "--quick-gen-key", "agent@example.com", "ed25519", "sign")
	text := func(path string) string {
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		return string(b)
	}
	for _, tc := range []struct{ format, key, public string }{
		{"ssh", ssh, text(ssh + ".pub")},
		{"openpgp", "agent@example.com", string(run("gpg", "--armor", "--export"))},
	} {
		t.Run(tc.format, func(t *testing.T) {
			public, err := sign.ParsePublic([]byte(tc.public))
			require.NoError(t, err)
			settings := []string{"-c", "gpg.format=" + tc.format, "-c", "user.signingKey=" + tc.key}
			repo.Git(t, append(settings, "commit", "-q", "--allow-empty", "-S", "-m", "one", "-m", "Handoff-Id: x")...)
			repo.Git(t, append(settings, "tag", "-s", tc.format, "-m", "two\n\nHandoff-Id: y")...)
			for kind, want := range map[string]string{"commit": "x", "tag": "y"} {
				raw, _, code := repo.TryGit("cat-file", kind, map[string]string{"commit": "HEAD", "tag": tc.format}[kind])
				require.Zero(t, code)
				s, ok := readSigned(gittest.Objects(), kind, []byte(raw))
				require.True(t, ok, kind)
				assert.NoError(t, sign.Verify(public, sign.NamespaceGit, s.payload, s.signature), kind)
				id, err := trailer(s.message, "Handoff-Id")
				assert.NoError(t, err)
				assert.Equal(t, want, id)
				_, ok = readSigned(gittest.Objects(), kind, s.payload)
				assert.False(t, ok, "nobody signed it")
			}
		})
	}
	_, ok := readSigned(gittest.Objects(), "blob", []byte("x"))
	assert.False(t, ok)
}

// Each trailer that git finds is found.
func TestTrailer(t *testing.T) {
	gittest.Need(t, "git")
	for message, want := range map[string]string{
		"one\n\nHandoff-Id: a\n":                               "a",
		"one\n\nbody\n\nHandoff-Id: a\n\n\n":                   "a",
		"one\n\nhandoff-id:a\nSigned-off-by: x\n":              "a",
		"one\n\nHandoff-Id: a\nHandoff-Id: a\n":                "a",
		"one\n\nHandoff-Id: a\nHandoff-Id: b\n":                "",
		"Handoff-Id: a\n":                                      "",
		"one\nHandoff-Id: a\n":                                 "",
		"one\n\nHandoff-Id: a\n\nthe end\n":                    "",
		"one\n\nHandoff-Idx: a\n":                              "",
		"one\n\nHandoff-Id:\n":                                 "",
		"":                                                     "",
		"one\n\nSigned-off-by: x\n Handoff-Id: a of the x\n":   "",
		"one\n\nHandoff-Id : a\n":                              "a",
		"one\n\nSigned-off-by: x\nHandoff-Id: a\nmore words\n": "a",
	} {
		got, err := trailer([]byte(message), "Handoff-Id")
		assert.Equal(t, want, got, "%q", message)
		assert.Equal(t, want == "", err != nil, "%q", message)
		cmd := exec.Command("git", "interpret-trailers", "--parse")
		cmd.Stdin, cmd.Env = strings.NewReader(message), gittest.Env(t)
		out, err := cmd.Output()
		require.NoError(t, err)
		if want != "" {
			assert.Contains(t, strings.ToLower(string(out)), "handoff-id: "+want+"\n", "%q", message)
		}
	}
}

// The parts of a signed object put together are the bytes that were read.
func FuzzReadSigned(f *testing.F) {
	f.Add("commit", []byte("tree x\ngpgsig -----BEGIN SSH SIGNATURE-----\n a\n b\nencoding x\n\nm\n"))
	f.Add("commit", []byte("tree x\ngpgsig a\ngpgsig b\n\n\n"))
	f.Add("tag", []byte("object x\n\nm\n-----BEGIN PGP SIGNATURE-----\nx\n-----END PGP SIGNATURE-----\n"))
	f.Fuzz(func(t *testing.T, kind string, raw []byte) {
		before := bytes.Clone(raw)
		s, ok := readSigned(gittest.Objects(), kind, raw)
		assert.Equal(t, before, raw, "it is only read")
		if !ok {
			return
		}
		assert.NotEmpty(t, s.signature)
		assert.LessOrEqual(t, len(s.payload)+len(s.signature), len(raw)+1)
		assert.True(t, bytes.HasSuffix(s.payload, s.message))
		_, _ = trailer(s.message, "Handoff-Id")
	})
}

// A tag may have signatures of both formats in headers, which are not part of its signed bytes.
func TestReadSignedTagWithHeaders(t *testing.T) {
	head := "object " + gittest.Objects().EmptyTree() + "\ntype tree\ntag t\ntagger a <a@x> 1795000000 +0000\n"
	for _, header := range []string{"gpgsig x\n y\n", "gpgsig-sha256 x\n y\n"} {
		s, ok := readSigned(gittest.Objects(), "tag", []byte(head+header+"\nm\n-----BEGIN SSH SIGNATURE-----\nx\n"))
		assert.True(t, ok)
		assert.Equal(t, head+"\nm\n", string(s.payload), header)
	}
}
