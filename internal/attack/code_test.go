package attack

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	pgparmor "github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
	"githandoff/internal/sign"
)

// guard puts a guard in front of the hub. It knows boss and ssh, agents both.
func (s *fixture) guard(t *testing.T) (ssh sign.Signer) {
	t.Helper()
	s.Hub.Must(t, "hook", "install", "--server")
	s.Hub.Must(t, "trust", "add", "boss")
	ssh = s.sshKey(t, "ssh", time.Now().Add(time.Hour))
	s.Hub.Must(t, "trust", "add", filepath.Join(s.Dir, "ssh.pub"), "--agent", "ssh")
	s.fixer.Git(t, "config", "gpg.ssh.allowedSignersFile", s.allowed())
	return ssh
}

// armorChange is one way to write a signature that means the same.
type armorChange struct {
	name   string
	change func(t *testing.T, armored string) string
}

func headed(line string) armorChange {
	return armorChange{"the header " + line, func(_ *testing.T, s string) string {
		return strings.Replace(s, "-----\n\n", "-----\n"+line+"\n\n", 1)
	}}
}

func pgpArmors() []armorChange {
	return []armorChange{
		headed("Comment: x"),
		headed("Version: GnuPG v1"),
		{"text behind it", func(_ *testing.T, s string) string { return s + "approved by alice\n" }},
		{"as a message", func(_ *testing.T, s string) string { return strings.ReplaceAll(s, "PGP SIGNATURE", "PGP MESSAGE") }},
		{"compressed", compressed},
	}
}

func sshArmors() []armorChange {
	return []armorChange{
		{"on one line", func(_ *testing.T, s string) string {
			lines := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
			last := len(lines) - 1
			return lines[0] + "\n" + strings.Join(lines[1:last], "") + "\n" + lines[last] + "\n"
		}},
		{"text behind it", func(_ *testing.T, s string) string { return s + "approved by alice\n" }},
	}
}

// compressed puts the packet of a signature into one that gpg unpacks (RFC 9580,
// section 5.6), with a length of two bytes.
func compressed(t *testing.T, armored string) string {
	t.Helper()
	block, err := pgparmor.Decode(strings.NewReader(armored))
	require.NoError(t, err)
	const zip = 1
	packed := bytes.NewBuffer([]byte{zip})
	z, err := flate.NewWriter(packed, flate.BestCompression)
	require.NoError(t, err)
	_, err = io.Copy(z, block.Body)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	var out strings.Builder
	w, err := pgparmor.Encode(&out, "PGP SIGNATURE", nil)
	require.NoError(t, err)
	_, err = w.Write(append(binary.BigEndian.AppendUint16([]byte{0xa1}, uint16(packed.Len())), packed.Bytes()...))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return out.String()
}

// coded returns a commit of code by a key, with its signature written as change says,
// in fixer's clone.
func (s *fixture) coded(t *testing.T, by sign.Signer, change func(*testing.T, string) string) string {
	t.Helper()
	payload := fmt.Sprintf("tree %s\nauthor A <a@example.com> 1763760000 +0000\ncommitter A <a@example.com> 1763760000 +0000\n\nfix %s\n",
		object(t, s.fixer, "tree", nil), nonce(t))
	return object(t, s.fixer, "commit", s.signText(t, by, payload, change))
}

func (s *fixture) signText(t *testing.T, by sign.Signer, payload string, change func(*testing.T, string) string) []byte {
	t.Helper()
	armored, err := by.Sign(t.Context(), sign.NamespaceGit, []byte(payload))
	require.NoError(t, err)
	text := strings.TrimSuffix(change(t, string(armored)), "\n")
	return []byte(strings.Replace(payload, "\n\n", "\n"+gittest.SignatureHeader()+" "+strings.ReplaceAll(text, "\n", "\n ")+"\n\n", 1))
}

func asItIs(_ *testing.T, s string) string { return s }

// If git believes that an agent signed a commit, so does the guard, however the signature is
// written: without a claim the commit stays out. Commits by others come in.
func TestCodeByAgents(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	ssh := s.guard(t)
	verify := func(t *testing.T, commit string) {
		t.Helper()
		_, diag, code := s.fixer.TryGit("verify-commit", commit)
		require.Zero(t, code, "git itself: %s", diag)
	}
	push := func(commit string) (said string, taken bool) {
		_, diag, code := s.fixer.TryGit("push", "origin", commit+":refs/heads/"+commit)
		return diag, code == 0
	}
	for _, tt := range []struct {
		kind   string
		by     sign.Signer
		armors []armorChange
	}{{"openpgp", s.boss, pgpArmors()}, {"ssh", ssh, sshArmors()}} {
		commit := s.coded(t, tt.by, asItIs)
		verify(t, commit)
		said, taken := push(commit)
		assert.False(t, taken)
		assert.Contains(t, said, ": scope: commit "+commit+" is signed by the agent key "+tt.by.KID()+": it gives no Handoff-Id")
		for _, a := range tt.armors {
			t.Run(tt.kind+" "+a.name, func(t *testing.T) {
				commit := s.coded(t, tt.by, a.change)
				verify(t, commit)
				said, taken := push(commit)
				assert.False(t, taken, "it came in")
				assert.Contains(t, said, ": signature_invalid: commit "+commit)
			})
		}
	}
	for _, a := range []armorChange{
		{"as it is", asItIs},
		headed("Comment: x"), headed("Version: GnuPG v1"),
		{"a blank line behind it", func(_ *testing.T, s string) string { return s + "\n" }},
	} {
		t.Run("a person's, "+a.name, func(t *testing.T) {
			commit := s.coded(t, s.mallory, a.change)
			verify(t, commit)
			said, taken := push(commit)
			assert.True(t, taken, said)
		})
	}
}

// The guard refuses a tag that git says an agent signed, even if the tag is too long to be checked, or
// its signature is called a message.
func TestTagsByAgents(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.guard(t)
	commit := s.fixer.Commit(t, "a.go", "package a\n", "by a person")
	s.fixer.Git(t, "push", "--quiet", "origin", "HEAD:refs/heads/main")
	for name, tt := range map[string]struct{ message, kind, reason string }{
		"short":     {"x\n", "SIGNATURE", "scope"},
		"long":      {strings.Repeat("x\n", 1<<20), "SIGNATURE", "too_large"},
		"a-message": {"x\n", "MESSAGE", "signature_invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			payload := fmt.Sprintf("object %s\ntype commit\ntag %s\ntagger A <a@example.com> 1763760000 +0000\n\n%s", commit, name, tt.message)
			armored, err := s.boss.Sign(t.Context(), sign.NamespaceGit, []byte(payload))
			require.NoError(t, err)
			tag := object(t, s.fixer, "tag", append([]byte(payload), strings.ReplaceAll(string(armored), "PGP SIGNATURE", "PGP "+tt.kind)...))
			_, diag, code := s.fixer.TryGit("verify-tag", tag)
			require.Zero(t, code, "git itself: %s", diag)
			_, diag, code = s.fixer.TryGit("push", "origin", tag+":refs/tags/"+name)
			assert.NotZero(t, code, "it came in")
			assert.Contains(t, diag, "refs/tags/"+name+": "+tt.reason+": ")
		})
	}
}

// An agent's tag behind unsigned tags does not come in, because git verifies it by its id. If the hub
// has the agent's tag already, the unsigned tags come in.
func TestNestedTagByAgent(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.guard(t)
	commit := s.fixer.Commit(t, "a.go", "package a\n", "by a person")
	s.fixer.Git(t, "push", "--quiet", "origin", "HEAD:refs/heads/main")
	tagOf := func(name, object, kind string) string {
		return fmt.Sprintf("object %s\ntype %s\ntag %s\ntagger A <a@example.com> 1763760000 +0000\n\nx\n", object, kind, name)
	}
	payload := tagOf("inner", commit, "commit")
	armored, err := s.boss.Sign(t.Context(), sign.NamespaceGit, []byte(payload))
	require.NoError(t, err)
	inner := object(t, s.fixer, "tag", append([]byte(payload), armored...))
	_, diag, code := s.fixer.TryGit("verify-tag", inner)
	require.Zero(t, code, "git itself: %s", diag)
	outer := inner
	for i := range 3 {
		outer = object(t, s.fixer, "tag", []byte(tagOf(fmt.Sprint("outer", i), outer, "tag")))
		_, diag, code = s.fixer.TryGit("push", "origin", outer+":refs/tags/outer")
		assert.NotZero(t, code, "it came in behind %d tags", i+1)
		assert.Contains(t, diag, "refs/tags/outer: scope: ")
	}
	s.fixer.Git(t, "push", "--quiet", "--receive-pack=git -c core.hooksPath=/dev/null receive-pack", "origin", inner+":refs/tags/inner")
	_, diag, code = s.fixer.TryGit("push", "origin", outer+":refs/tags/outer")
	assert.Zero(t, code, "the inner one is known: %s", diag)
}

// git reads the headers of a commit to the end of the object, and calls one
// without a message signed.
func TestCommitWithoutMessageByAgent(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.guard(t)
	for name, end := range map[string]string{"nothing": "", "CRLF": "\r\nfix it\r\n", "a blank": "x-y z\n \nfix it\n", "CR": "\r"} {
		t.Run(name, func(t *testing.T) {
			head := fmt.Sprintf("tree %s\nauthor A <a@example.com> 1763760000 +0000\ncommitter A <a@example.com> 1763760000 +0000\n",
				object(t, s.fixer, "tree", nil))
			armored, err := s.boss.Sign(t.Context(), sign.NamespaceGit, []byte(head+end))
			require.NoError(t, err)
			folded := gittest.SignatureHeader() + " " + strings.ReplaceAll(strings.TrimSuffix(string(armored), "\n"), "\n", "\n ") + "\n"
			commit := object(t, s.fixer, "commit", []byte(head+folded+end))
			_, diag, code := s.fixer.TryGit("verify-commit", commit)
			require.Zero(t, code, "git itself: %s", diag)
			_, diag, code = s.fixer.TryGit("push", "origin", commit+":refs/heads/topic")
			assert.NotZero(t, code, "it came in")
			assert.Contains(t, diag, "refs/heads/topic: scope: ")
		})
	}
}
