package crossrepo_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/crossrepo"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
)

// A list of a hub's refs replaces a fetch only if this clone has exactly these objects. The lane is checked as
// after a fetch.
func TestListShows(t *testing.T) {
	v := newHubFixture(t, byPath())
	source, fixer := v.agent(t, "investigator"), v.agent(t, "fixer")
	p := v.offer(t, source, "fixer")
	hub := fixer.home.(*crossrepo.Hub)
	inbox := func() refs.Ref {
		name := hub.Namespace().Inbox("fixer", p.ID)
		return refs.Ref{Name: name, OID: fixer.tip(t, name)}
	}
	shows := func() bool {
		t.Helper()
		list, err := hub.List(t.Context(), []string{"fixer"})
		require.NoError(t, err)
		require.Len(t, list.Inboxes, 1)
		hub.AskAgain()
		ok := list.Shows(t.Context(), inbox(), p.ID)
		if ok {
			assert.True(t, hub.LaneIsFresh(p.ID), "the claim asks for no lane")
		}
		return ok
	}
	assert.False(t, shows(), "nothing was fetched")
	require.NoError(t, hub.Refresh(t.Context(), lifecycle.FetchSpec{Inboxes: []string{"fixer"}, Log: true}))
	lane, mirror := hub.Namespace().Lane(p.ID), hub.Mirror.Lane(p.ID)
	offered := fixer.tip(t, mirror)
	require.Empty(t, fixer.tip(t, lane), "the look did not check it")
	assert.True(t, shows())
	assert.Equal(t, offered, fixer.tip(t, lane), "it was checked")

	// The mirror differs from the hub. Then the list is enough only if the copy of the lane agrees with the hub.
	tree := fixer.git.Git(t, "rev-parse", offered+"^{tree}")
	other := fixer.git.Git(t, "commit-tree", "-m", "other", tree)
	fixer.git.Git(t, "update-ref", mirror, other)
	fixer.git.Git(t, "update-ref", "-d", lane)
	assert.False(t, shows(), "the hub has another lane")
	fixer.git.Git(t, "update-ref", lane, offered)
	assert.True(t, shows(), "the copy is where the hub is")
	assert.Equal(t, offered, fixer.tip(t, mirror), "the mirror follows")

	// The hub and the mirror have a merge that no trusted key signed.
	merge := fixer.git.Git(t, "commit-tree", "-m", "merge", "-p", offered, "-p", other, tree)
	fixer.git.Git(t, "push", "-q", v.Hub.Dir, merge+":"+hub.RemoteName(lane))
	fixer.git.Git(t, "update-ref", mirror, merge)
	assert.False(t, shows(), "nobody signed that merge")
	fixer.git.Git(t, "push", "-q", "-f", v.Hub.Dir, offered+":"+hub.RemoteName(lane))
	fixer.git.Git(t, "update-ref", mirror, offered)
	assert.True(t, shows())

	fixer.git.Git(t, "update-ref", inbox().Name, other)
	assert.False(t, shows(), "the hub has another offer")
}
