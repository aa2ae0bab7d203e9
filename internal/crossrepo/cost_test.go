package crossrepo_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// If every hub is fetched anyway, Sources does not list refs to choose the hubs. If one is not fetched, it does.
func TestHubsAreListedOnlyIfOneIsNotAsked(t *testing.T) {
	v := newHubFixture(t, byPath())
	fixer := v.agent(t, "fixer")
	alias := fixer.AliasOf(fixer.home)
	require.NoError(t, os.MkdirAll(filepath.Join(fixer.Repo.CommonDir, "reftable"), 0o700)) // listing refs there takes a process
	for _, tc := range []struct {
		pulled string
		homes  int
		lists  bool
	}{{alias, 2, false}, {"", 1, true}} {
		fixer.Repo.Config["handoff.pull"] = []string{tc.pulled}
		before := fixer.Repo.Runner.Started()
		homes, down := fixer.Sources(t.Context())
		assert.Len(t, homes, tc.homes)
		require.NoError(t, down)
		assert.Equal(t, tc.lists, fixer.Repo.Runner.Started() > before, "pulls %q", tc.pulled)
	}
}
