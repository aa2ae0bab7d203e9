package sign

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
)

// No name that a trust list may hold can change the meaning of its line in allowed_signers: it
// stays one line, with these principals, this key and our options.
func FuzzAllowedSigner(f *testing.F) {
	f.Add("fixer", "user:alice@example.com", "2027-01-01T00:00:00Z")
	f.Add("", "user:alice@example.com,user:*", "")
	f.Add("", "* cert-authority", "x")
	f.Add("fixer\nmallory ssh-ed25519 AAAA", "a\"b", "2027-01-01T00:00:00+01:00")
	f.Add("", "#user", "")
	s := sshKey(f, "ed25519")
	f.Fuzz(func(t *testing.T, agent, principal, until string) {
		e := TrustEntry{KID: s.KID(), Key: s.Public().Text(), Roles: []string{RoleRoot}, Until: until}
		want := []string{e.KID}
		if principal != "" {
			e.Principals, want = []string{principal}, []string{principal}
		}
		if agent != "" {
			e.Agents, want = []string{agent}, []string{agent}
		}
		trust, err := newTrust(e)
		if err != nil {
			return
		}
		k, ok := trust.Lookup(e.KID)
		require.True(t, ok)
		line := allowedSigner(k, s.Public())
		require.Equal(t, 1, strings.Count(line, "\n"), line)
		names, rest, _ := strings.Cut(line, " ")
		assert.Equal(t, want, strings.Split(names, ","))
		key, _, options, more, err := ssh.ParseAuthorizedKey([]byte(rest))
		require.NoError(t, err, line)
		assert.Empty(t, more)
		assert.Equal(t, s.key.PublicKey().Marshal(), key.Marshal())
		for _, o := range options {
			name, _, _ := strings.Cut(o, "=")
			assert.Contains(t, []string{"namespaces", "valid-after", "valid-before"}, name)
		}
	})
}
