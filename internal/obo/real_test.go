package obo_test

import (
	"bytes"
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/enginetest"
	"githandoff/internal/fault"
	"githandoff/internal/gittest"
	"githandoff/internal/handoff"
	"githandoff/internal/obo"
	"githandoff/internal/sign"
)

// pinned verifies a chain with a trust list.
type pinned struct{ *sign.Trust }

func (p pinned) Verify(namespace string, message, armored []byte) (string, error) {
	k, err := p.Trust.Verify(namespace, message, armored)
	return k.KID(), err
}

func (p pinned) ValidAt(kid string, at time.Time) error {
	k, _ := p.Lookup(kid)
	return k.ValidAt(at)
}

func (p pinned) Root(kid string) (obo.RootPowers, error) {
	k, _ := p.Lookup(kid)
	if !k.HasRole(sign.RoleRoot) {
		return obo.RootPowers{}, fault.New(fault.Denied, "untrusted_key", "key %s is no root", kid)
	}
	return obo.RootPowers{Principals: k.Entry().Principals, Limits: k.Limits()}, nil
}

// A person's SSH key signs the first token and an agent's OpenPGP key the second. The chain is accepted, and the
// usual tools verify each signature.
func TestChainOfSSHAndOpenPGPKeys(t *testing.T) {
	gittest.Need(t, "ssh-keygen", "gpg", "gpgv")
	env, dir := gittest.Env(t), t.TempDir()
	run := func(stdin []byte, name string, args ...string) {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Env, cmd.Dir, cmd.Stdin = env, dir, bytes.NewReader(stdin)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s %q: %s", name, args, out)
	}
	write := func(name string, b []byte) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), b, 0o600))
	}
	read := func(name string) []byte {
		b, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		return b
	}

	run(nil, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", "alice")
	person, err := sign.ParsePublic(read("alice.pub"))
	require.NoError(t, err)
	now := time.Now().UTC().Truncate(time.Second) // gpgv uses the real clock
	agent, err := sign.Keystore{Dir: filepath.Join(dir, "keys"), Now: func() time.Time { return now }}.
		Generate("fixer", "fixer", nil, now.Add(-time.Hour), rand.Reader)
	require.NoError(t, err)
	trust, err := enginetest.NewTrust(
		sign.TrustEntry{KID: person.KID(), Key: person.Text(), Roles: []string{sign.RoleRoot}, Principals: []string{alice}, MaxScope: []string{"repo.*"}},
		sign.TrustEntry{KID: agent.KID(), Key: agent.Public().Text(), Agents: []string{"fixer"}, Roles: []string{sign.RoleSender, sign.RoleRecipient}},
	)
	require.NoError(t, err)

	p := first()
	p.Issuer, p.Keys, p.IssuedAt, p.ExpiresAt = person.KID(), []string{agent.KID()}, now.Add(-time.Minute), now.Add(time.Hour)
	write("0.json", must(obo.Issue(p)))
	run(nil, "ssh-keygen", "-Y", "sign", "-q", "-n", obo.Namespace, "-f", "alice", "0.json")
	p = next()
	p.Issuer, p.IssuedAt, p.ExpiresAt = agent.KID(), now, now.Add(time.Hour)
	write("1.json", must(obo.Attenuate(read("0.json"), p)))
	sig, err := agent.Sign(t.Context(), obo.Namespace, read("1.json"))
	require.NoError(t, err)
	write("1.sig", sig)

	links := []obo.SignedToken{{Token: read("0.json"), Sig: read("0.json.sig")}, {Token: read("1.json"), Sig: read("1.sig")}}
	_, ctx := chain(t, asIs, asIs)
	ctx.Now, ctx.Keys = now, pinned{trust}
	v, err := obo.VerifyChain(links, ctx)
	require.NoError(t, err)
	assert.Equal(t, alice, v.Principal())

	write("allowed", []byte("alice namespaces=\""+obo.Namespace+"\" "+string(read("alice.pub"))))
	run(links[0].Token, "ssh-keygen", "-Y", "verify", "-f", "allowed", "-I", "alice", "-n", obo.Namespace, "-s", "0.json.sig")
	write("fixer.asc", []byte(agent.Public().Text()))
	run(nil, "gpg", "--batch", "--quiet", "--dearmor", "-o", "fixer.gpg", "fixer.asc")
	run(nil, "gpgv", "--keyring", filepath.Join(dir, "fixer.gpg"), "1.sig", "1.json")

	t.Run("signed for git", func(t *testing.T) {
		run(nil, "ssh-keygen", "-Y", "sign", "-q", "-n", "git", "-f", "alice", "1.json")
		_, err := obo.VerifyChain([]obo.SignedToken{{Token: links[1].Token, Sig: read("1.json.sig")}}, ctx)
		assertRefused(t, err, fault.Denied, "signature_invalid")
	})
	t.Run("an agent is no root", func(t *testing.T) {
		_, err := obo.VerifyChain(links[1:], ctx)
		assertRefused(t, err, fault.Denied, "untrusted_root")
	})
	t.Run("a key that nobody pinned", func(t *testing.T) {
		none, err := enginetest.NewTrust()
		require.NoError(t, err)
		ctx := ctx
		ctx.Keys = pinned{none}
		_, err = obo.VerifyChain(links, ctx)
		assertRefused(t, err, fault.Denied, "untrusted_root")
	})
	t.Run("one byte off", func(t *testing.T) {
		bent := bytes.Replace(links[1].Token, []byte("src/auth/*"), []byte("src/aut_/*"), 1)
		_, err := obo.VerifyChain([]obo.SignedToken{links[0], {Token: bent, Sig: links[1].Sig}}, ctx)
		assertRefused(t, err, fault.Denied, "signature_invalid")
	})
	t.Run("for another envelope", func(t *testing.T) {
		ctx := ctx
		ctx.Digest = handoff.Digest([]byte("x"))
		_, err := obo.VerifyChain(links, ctx)
		assertRefused(t, err, fault.Denied, "handoff_mismatch")
	})
}
