package crossrepo_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/lifecycle"
)

// Another agent moved the lane before an offer. The offer takes two pushes, and one fetch between them that
// brings the inbox and the lane.
func TestOfferWhoseLaneMoved(t *testing.T) {
	v, log := newTracedFixture(t)
	source, other := v.agent(t, "investigator"), v.agent(t, "other")
	v.agent(t, "fixer")
	env := v.Envelope(t, "investigator", "fixer")
	p, err := source.Engine.Author.Prepare(t.Context(), source.home, env, "")
	require.NoError(t, err)

	theirs := v.Envelope(t, "other", "fixer")
	theirs.ID = theirs.ID[:len(theirs.ID)-2] + env.ID[len(env.ID)-2:] // an id in the same lane
	first, err := other.Engine.Author.Prepare(t.Context(), other.home, theirs, "")
	require.NoError(t, err)
	_, err = other.Engine.Offer(t.Context(), other.home, first)
	require.NoError(t, err)

	require.NoError(t, os.Truncate(log, 0))
	s, err := source.Engine.Offer(t.Context(), source.home, p)
	require.NoError(t, err)
	assert.Equal(t, lifecycle.Open, s.Phase())
	assert.Equal(t, []string{"push", "fetch", "push"}, tripsIn(t, log))
}
