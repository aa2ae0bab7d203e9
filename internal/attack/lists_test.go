package attack

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
	"githandoff/internal/sign"
)

// list publishes an empty list of keys with any serial.
func (s *fixture) list(t *testing.T, from *gittest.Repo, by sign.Signer, serial int64) {
	t.Helper()
	raw, err := sign.NewTeam(s.home, serial-1, time.Now(), by.KID(), nil).Encode()
	require.NoError(t, err)
	sig, err := by.Sign(t.Context(), sign.NamespaceTrust, raw)
	require.NoError(t, err)
	files := tree(t, from,
		entry{"100644", "trust.json", object(t, from, "blob", raw)},
		entry{"100644", "trust.json.sig", object(t, from, "blob", sig)})
	commit := strings.TrimSpace(from.Git(t, "commit-tree", "-m", "list", files))
	from.Git(t, "push", "--quiet", "origin", commit+":refs/handoffs/trust")
}

// The roots of a hub count their lists together. One that may speak for little takes the highest
// number: the others publish their lists all the same.
func TestListOfTheHighestNumber(t *testing.T) {
	t.Parallel()
	for name, guarded := range map[string]bool{"guarded": true, "unguarded": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newFixture(t)
			bob := s.newKey(t, "bob@example.com")
			person := s.Clone(t, "person")
			person.Must(t, "init", "--person", "carol@example.com")
			for _, at := range []*gittest.Repo{s.Hub, person} {
				at.Must(t, "trust", "add", "bob@example.com", "--role", "root", "--max-scope", "repo.write:docs/*")
			}
			s.Hub.Must(t, "trust", "add", "carol@example.com", "--role", "root")
			if guarded {
				s.Hub.Must(t, "hook", "install", "--server")
			}
			s.list(t, person, bob, 1<<53-1)
			for _, agent := range []string{"boss", "planner", "mallory"} {
				person.Must(t, "trust", "add", agent)
				person.Must(t, "trust", "export", "--to", "origin")
			}
			person.Must(t, "sync")
		})
	}
}
