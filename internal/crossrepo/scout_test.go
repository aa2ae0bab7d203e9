package crossrepo_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/crossrepo"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
)

// After an offer has met a lane that another agent moved, the next offers of this clone fetch first. After an
// offer that met an unmoved lane they no longer do.
func TestOfferLooksFirst(t *testing.T) {
	v, log := newTracedFixture(t)
	source, other := v.agent(t, "investigator"), v.agent(t, "other")
	v.agent(t, "fixer")
	lane := v.offer(t, source, "fixer").ID
	for _, step := range []struct {
		name  string
		moved bool
		trips []string
	}{
		{"a lane that is known", false, []string{"push"}},
		{"a first one that moved", true, []string{"push", "fetch", "push"}},
		{"another one that moved", true, []string{"fetch", "push"}},
		{"one that did not", false, []string{"fetch", "push"}},
		{"a lane that is known again", false, []string{"push"}},
	} {
		if step.moved {
			offerIn(t, v, other, lane)
		}
		require.NoError(t, os.Truncate(log, 0))
		source.home.(*crossrepo.Hub).AskAgain() // each offer is a command of its own
		offerIn(t, v, source, lane)
		assert.Equal(t, step.trips, tripsIn(t, log), step.name)
	}
}

// A clone that knows the hub but has no copy of a lane fetches before an offer. Once it has read the whole log
// it does not.
func TestOfferOfALaneNeverSeen(t *testing.T) {
	v, log := newTracedFixture(t)
	source := v.agent(t, "investigator")
	v.agent(t, "fixer")
	require.NoError(t, os.WriteFile(log, nil, 0o600))
	v.offer(t, source, "fixer")
	assert.Equal(t, []string{"push"}, tripsIn(t, log), "nothing is known of the hub")
	require.NoError(t, source.home.Refresh(t.Context(), lifecycle.FetchSpec{Inboxes: []string{"fixer"}}))
	require.NoError(t, os.Truncate(log, 0))
	v.offer(t, source, "fixer")
	assert.Equal(t, []string{"fetch", "push"}, tripsIn(t, log), "which brought the whole log")
	require.NoError(t, os.Truncate(log, 0))
	v.offer(t, source, "fixer")
	assert.Equal(t, []string{"push"}, tripsIn(t, log))
}

// A handoff that is at its home already, because a killed command brought it there, is offered again without an error,
// also where the offer fetches first.
func TestOfferAgainLooksFirst(t *testing.T) {
	v, log := newTracedFixture(t)
	source := v.agent(t, "investigator")
	v.agent(t, "fixer")
	p := v.prepare(t, source, "fixer")
	_, err := source.Engine.Offer(t.Context(), source.home, p)
	require.NoError(t, err)

	killed := v.clone(t, "investigator", source.Engine.Author.Signer) // has no copy of what it brought there
	require.NoError(t, killed.home.Refresh(t.Context(), lifecycle.FetchSpec{Inboxes: []string{"other"}}))
	require.NoError(t, os.Truncate(log, 0))
	s, err := killed.Engine.Offer(t.Context(), killed.home, p)
	require.NoError(t, err)
	assert.Equal(t, lifecycle.Open, s.Phase())
	assert.Equal(t, []string{"fetch"}, tripsIn(t, log))

	// A sync, which has read the hub, does not ask again about each of many.
	synced := v.clone(t, "investigator", source.Engine.Author.Signer)
	require.NoError(t, synced.home.Refresh(t.Context(), lifecycle.WholeHandoffs(lifecycle.Place{Agent: "fixer", ID: p.Record.ID})))
	require.NoError(t, os.Truncate(log, 0))
	_, err = synced.Engine.Offer(t.Context(), synced.home, p)
	require.NoError(t, err)
	assert.Empty(t, tripsIn(t, log))
}

// offerIn offers a handoff in the same lane as another one.
func offerIn(t *testing.T, v *fixture, s *agent, lane handoff.ID) {
	t.Helper()
	env := v.Envelope(t, s.name, "fixer")
	env.ID = env.ID[:len(env.ID)-2] + lane[len(lane)-2:]
	p, err := s.Engine.Author.Prepare(t.Context(), s.home, env, "")
	require.NoError(t, err)
	_, err = s.Engine.Offer(t.Context(), s.home, p)
	require.NoError(t, err)
	assert.NotEmpty(t, v.Hub.Git(t, "for-each-ref", refs.LocalNamespace.Inbox("fixer", env.ID)))
}

// newTracedFixture returns a fixture with a hub, and the file in which its gits leave a trace.
func newTracedFixture(t *testing.T) (v *fixture, log string) {
	t.Helper()
	v, log = newHubFixture(t, byPath()), filepath.Join(t.TempDir(), "trace")
	v.Env = append(v.Env, "GIT_TRACE="+log)
	return v, log
}

// tripsIn returns the gits in a trace that connected to a hub.
func tripsIn(t *testing.T, log string) []string {
	t.Helper()
	raw, err := os.ReadFile(log)
	require.NoError(t, err)
	var trips []string
	for _, m := range regexp.MustCompile(`built-in: git (fetch|push|ls-remote) `).FindAllStringSubmatch(string(raw), -1) {
		trips = append(trips, m[1])
	}
	return trips
}
