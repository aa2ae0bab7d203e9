package crossrepo_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/crossrepo"
	"githandoff/internal/lifecycle"
)

// A look of a resume negotiates with the hub in one round, whatever this clone has. Otherwise git would offer
// its commits lane by lane, in several rounds.
func TestLookInOneRound(t *testing.T) {
	v, trace := newHubFixture(t, byPath()), filepath.Join(t.TempDir(), "packets")
	v.Env = append(v.Env, "GIT_TRACE_PACKET="+trace)
	source, fixer := v.agent(t, "investigator"), v.agent(t, "fixer")
	look := lifecycle.FetchSpec{Inboxes: []string{"fixer"}, Log: true}
	for range 3 {
		v.offer(t, source, "fixer")
	}
	require.NoError(t, fixer.home.Refresh(t.Context(), look))
	p := v.offer(t, source, "fixer")

	require.NoError(t, os.WriteFile(trace, nil, 0o600))
	fixer.home.(*crossrepo.Hub).AskAgain()
	require.NoError(t, fixer.home.Refresh(t.Context(), look))
	raw, err := os.ReadFile(trace)
	require.NoError(t, err)
	assert.Equal(t, 1, strings.Count(string(raw), "fetch> command=fetch"))
	assert.Zero(t, strings.Count(string(raw), "fetch> have "))
	fixer.mustClaim(t, p)
}
