package crossrepo

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
)

// Where each hub is asked anyway nothing is listed to find one, and where one is
// not, something is.
func TestSourcesAreKnown(t *testing.T) {
	v := hubVenue(t, byPath())
	fixer := v.seat(t, "fixer")
	alias := fixer.AliasOf(fixer.home)
	for _, tc := range []struct {
		pulled string
		homes  int
		lists  bool
	}{{alias, 2, false}, {"", 1, true}} {
		fixer.Repo.Config["handoff.pull"] = []string{tc.pulled}
		before := fixer.Repo.Runner.Started()
		var down error
		assert.Len(t, fixer.sources(t.Context(), &down), tc.homes)
		require.NoError(t, down)
		assert.Equal(t, tc.lists, fixer.Repo.Runner.Started() > before, "pulls %q", tc.pulled)
	}
}

// A command line has its limit: many handoffs are fetched as all there are.
func TestManyPlaces(t *testing.T) {
	h := &Hub{Alias: &Alias{RepoID: "git+https://example.com/hub"}}
	var want lifecycle.Want
	for i := range manyPlaces {
		want.Places = append(want.Places, lifecycle.Place{Agent: "fixer", ID: handoff.ID(fmt.Sprintf("ho_%026d", i))})
	}
	assert.Len(t, h.inboxSpecs(want), 2*manyPlaces)
	want.Places = append(want.Places, lifecycle.Place{Agent: "fixer", ID: "ho_z"})
	assert.Equal(t, h.inboxSpecs(lifecycle.Want{Inboxes: []string{AllInboxes}}), h.inboxSpecs(want))
}
