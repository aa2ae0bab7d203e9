package crossrepo_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/crossrepo"
	"githandoff/internal/refs"
)

// A hub that was used under one alias is still recognized when another alias comes first.
func TestAddAsKeepsTheMemoryOfAHub(t *testing.T) {
	v := newHubFixture(t, byPath())
	source, fixer := v.agent(t, "investigator"), v.agent(t, "fixer")
	v.emit(t, source, "fixer")
	fixer.resume(t, "")
	seen := fixer.git.Git(t, "for-each-ref", "--format=%(objectname)", "refs/handoffs/remotes")

	other := "git+https://example.com/team/hub"
	a, compared, err := fixer.Aliases.AddAs(t.Context(), "origin", v.URL, []string{other})
	require.NoError(t, err)
	assert.Zero(t, compared, "all that was seen was seen under this URL")
	assert.Equal(t, other, a.RepoID)
	assert.Equal(t, []string{crossrepo.FileID(v.Hub.Dir)}, a.Also)
	namespace := strings.TrimSuffix(string(refs.TrackingNamespace(other)), "/")
	assert.Equal(t, seen, fixer.git.Git(t, "for-each-ref", "--format=%(objectname)", namespace))
	assert.Equal(t, seen, fixer.git.Git(t, "for-each-ref", "--format=%(objectname)", "refs/handoffs/remotes"), "and nowhere else")

	again, compared, err := fixer.Aliases.AddAs(t.Context(), "origin", v.URL, []string{other})
	require.NoError(t, err)
	assert.Equal(t, 1, compared)
	assert.Equal(t, a.Also, again.Also)
	plain, err := fixer.Aliases.Add(t.Context(), "origin", v.URL)
	require.NoError(t, err)
	assert.Equal(t, a.RepoID, plain.RepoID, "the same URL once more changes nothing")
}
