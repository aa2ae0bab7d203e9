package crossrepo_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/crossrepo"
	"githandoff/internal/lifecycle"
)

// The copy of a lane that an earlier look fetched is verified before a claim uses it.
func TestAdvanceSeenVerifiesTheLane(t *testing.T) {
	v := newHubFixture(t, byPath())
	source, fixer := v.agent(t, "investigator"), v.agent(t, "fixer")
	p := v.offer(t, source, "fixer")
	hub := fixer.home.(*crossrepo.Hub)
	assert.False(t, hub.AdvanceSeen(t.Context(), p.ID), "nothing was seen of it")
	require.NoError(t, hub.Refresh(t.Context(), lifecycle.FetchSpec{Inboxes: []string{"fixer"}, Log: true}))
	lane, mirror := hub.Namespace().Lane(p.ID), hub.Mirror.Lane(p.ID)
	require.Empty(t, fixer.tip(t, lane))

	offered := fixer.tip(t, mirror)
	tree := fixer.git.Git(t, "rev-parse", offered+"^{tree}")
	other := fixer.git.Git(t, "commit-tree", "-m", "other", tree)
	merge := fixer.git.Git(t, "commit-tree", "-m", "merge", "-p", offered, "-p", other, tree)
	fixer.git.Git(t, "update-ref", mirror, merge)
	assert.False(t, hub.AdvanceSeen(t.Context(), p.ID), "nobody signed that merge")
	assert.Empty(t, fixer.tip(t, lane))

	fixer.git.Git(t, "update-ref", mirror, offered)
	assert.True(t, hub.AdvanceSeen(t.Context(), p.ID))
	assert.Equal(t, offered, fixer.tip(t, lane))
	fixer.mustClaim(t, p)
	assert.True(t, hub.AdvanceSeen(t.Context(), p.ID), "the copy is ahead of what the hub showed")
	assert.NotEqual(t, offered, fixer.tip(t, lane))
}
