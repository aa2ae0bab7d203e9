package crossrepo_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/workspace"
)

// A clone that never saw a handoff finds it at the hub if the caller lets it ask. While the hub is down the
// clone's copy is enough, unless the caller needs the current state.
func TestFindAsksTheHub(t *testing.T) {
	v := newHubFixture(t, byPath())
	source, fixer := v.agent(t, "investigator"), v.agent(t, "fixer")
	p := v.offer(t, source, "fixer")
	_, err := fixer.Find(t.Context(), string(p.ID), workspace.Never)
	assert.True(t, fault.Is(err, fault.UnknownHandoff), "%v", err)

	found, err := fixer.Find(t.Context(), string(p.ID), workspace.IfUnknown)
	require.NoError(t, err)
	assert.Equal(t, lifecycle.Open, found.State.Phase())
	known, err := fixer.Find(t.Context(), p.ID.Short(), workspace.Never)
	require.NoError(t, err)
	assert.Equal(t, p, known.Place())

	v.agent(t, "fixer").mustClaim(t, p)
	known, err = fixer.Find(t.Context(), string(p.ID), workspace.IfUnknown)
	require.NoError(t, err)
	assert.Equal(t, lifecycle.Open, known.State.Phase(), "the copy is old")
	fresh, err := fixer.Find(t.Context(), string(p.ID), workspace.Always)
	require.NoError(t, err)
	assert.Equal(t, lifecycle.Held, fresh.State.Phase())

	require.NoError(t, os.Rename(v.Hub.Dir, v.Hub.Dir+".away"))
	var warned []error
	fixer.OnWarn = func(err error) { warned = append(warned, err) }
	known, err = fixer.Find(t.Context(), string(p.ID), workspace.IfUp)
	require.NoError(t, err)
	assert.Equal(t, lifecycle.Held, known.State.Phase())
	require.Len(t, warned, 1)
	assert.Equal(t, fault.Unavailable, fault.CodeOf(warned[0]))
	known, err = fixer.Find(t.Context(), string(p.ID), workspace.Always)
	assert.Equal(t, fault.Unavailable, fault.CodeOf(err), "%v", err)
	require.NotNil(t, known, "beside what is known")
	assert.Len(t, warned, 1)
}

// An abbreviation that fits two handoffs is ambiguous.
func TestFindIsAmbiguous(t *testing.T) {
	v := newLocalFixture(t)
	source := v.agent(t, "investigator")
	v.agent(t, "fixer")
	first := v.offer(t, source, "fixer")
	env := v.Envelope(t, "investigator", "fixer")
	const end = 6 // the shortest abbreviation
	last := string(first.ID[len(first.ID)-end:])
	env.ID = handoff.ID("ho_01kahcp3g00000000000" + last)
	second, err := source.Engine.Author.Prepare(t.Context(), source.home, env, "")
	require.NoError(t, err)
	_, err = source.Engine.Offer(t.Context(), source.home, second)
	require.NoError(t, err)
	_, err = source.Find(t.Context(), last, workspace.Never)
	assert.True(t, fault.Is(err, fault.AmbiguousID), "%v", err)
	assert.Equal(t, fault.Usage, fault.CodeOf(err))
	assert.Len(t, fault.As(err).Hints, 2)
}
