package crossrepo_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/crossrepo"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
)

// A clone that wants the log has it in the mirror after one look. It copies only the lanes that a command asks
// for.
func TestMirrorBringsTheLog(t *testing.T) {
	v := newHubFixture(t, byPath())
	source, fixer := v.agent(t, "investigator"), v.agent(t, "fixer")
	first, second := v.offer(t, source, "fixer"), v.offer(t, source, "fixer")
	require.NotEqual(t, first.ID.Lane(), second.ID.Lane())
	hub := fixer.home.(*crossrepo.Hub)
	require.NoError(t, hub.Refresh(t.Context(), lifecycle.FetchSpec{Inboxes: []string{"fixer"}, Log: true}))
	assert.NotEmpty(t, fixer.tip(t, hub.Mirror.Lane(first.ID)))
	assert.NotEmpty(t, fixer.tip(t, hub.Mirror.Lane(second.ID)))
	assert.Empty(t, fixer.tip(t, hub.Namespace().Lane(first.ID)), "nothing was checked yet")
	assert.False(t, hub.LaneIsFresh(first.ID))

	v.Hub.Git(t, "update-ref", "-d", refs.LocalNamespace.Lane(first.ID)) // the next refresh must not ask the hub
	require.NoError(t, hub.Refresh(t.Context(), lifecycle.FetchSpec{Lanes: []handoff.ID{first.ID}, Once: true}))
	assert.True(t, hub.LaneIsFresh(first.ID))
	assert.NotEmpty(t, fixer.tip(t, hub.Namespace().Lane(first.ID)))
	assert.Empty(t, fixer.tip(t, hub.Namespace().Lane(second.ID)))
}

// With handoff.lanes=needed a clone fetches only the lanes of the ids that a command asks for.
func TestNeededLanesAlone(t *testing.T) {
	v := newHubFixture(t, byPath())
	source, fixer := v.agent(t, "investigator"), v.agent(t, "fixer")
	p := v.offer(t, source, "fixer")
	fixer.Repo.Config["handoff.lanes"] = []string{"needed"}
	hub := fixer.home.(*crossrepo.Hub)
	require.NoError(t, hub.Refresh(t.Context(), lifecycle.FetchSpec{Inboxes: []string{"fixer"}, Log: true}))
	assert.Empty(t, fixer.tip(t, hub.Mirror.Lane(p.ID)))
	require.NoError(t, hub.Refresh(t.Context(), lifecycle.FetchSpec{Lanes: []handoff.ID{p.ID}, Once: true}))
	assert.NotEmpty(t, fixer.tip(t, hub.Namespace().Lane(p.ID)))
	fixer.mustClaim(t, p)
}

// Of two commands of one clone the first asked the hub, and then the second pushed a step and recorded it. The
// first must not conclude from its older answer that the hub was rewound.
func TestOlderAnswerIsNotARewind(t *testing.T) {
	v := newHubFixture(t, byPath())
	source, fixer := v.agent(t, "investigator"), v.agent(t, "fixer")
	p := v.offer(t, source, "fixer")
	hub := fixer.home.(*crossrepo.Hub)
	require.NoError(t, hub.Fetch(t.Context(), lifecycle.WholeHandoffs(p)))

	other := v.open(t, "fixer", fixer.Engine.Author.Signer, fixer.git)
	require.NoError(t, other.home.Refresh(t.Context(), lifecycle.WholeHandoffs(p)))
	other.mustClaim(t, p)
	claimed := fixer.tip(t, hub.Namespace().Lane(p.ID))
	require.NotEqual(t, claimed, fixer.tip(t, hub.Mirror.Lane(p.ID)), "the mirror is what was asked before")

	once := lifecycle.FetchSpec{Lanes: []handoff.ID{p.ID}, Once: true}
	require.NoError(t, hub.Refresh(t.Context(), once))
	assert.Equal(t, claimed, fixer.tip(t, hub.Namespace().Lane(p.ID)))
}

// Copies that an older version made are valid records of the lanes. They need no conversion, and a hub that
// lacks what they hold is refused.
func TestCopiesOfAnOlderVersionAreTheMemory(t *testing.T) {
	v := newHubFixture(t, byPath())
	source, fixer := v.agent(t, "investigator"), v.agent(t, "fixer")
	p := v.offer(t, source, "fixer")
	offered := v.backup(t)
	fixer.mustClaim(t, p)
	fixer.git.Git(t, "update-ref", "-d", fixer.home.(*crossrepo.Hub).Mirror.Lane(p.ID)) // older versions had no mirror
	v.restore(t, offered)
	err := fixer.home.Refresh(t.Context(), lifecycle.WholeHandoffs(p))
	assert.ErrorContains(t, err, "has rewritten")
}

// tip returns the value of a ref in this clone; "" if there is none.
func (s *agent) tip(t *testing.T, ref string) string {
	t.Helper()
	return s.git.Git(t, "for-each-ref", "--format=%(objectname)", ref)
}
