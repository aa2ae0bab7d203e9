package crossrepo

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/gittest"
	"githandoff/internal/refs"
)

// A lane with a missing commit is not reported as rewritten.
func TestExtends(t *testing.T) {
	repo := gittest.NewRepo(t, gittest.Env(t))
	first := repo.Commit(t, "a", "a", "first")
	middle := repo.Commit(t, "a", "b", "middle")
	last := repo.Commit(t, "a", "c", "last")
	newest := repo.Commit(t, "a", "d", "newest")
	blob := repo.Git(t, "rev-parse", "HEAD:a")
	repo.Git(t, "checkout", "--quiet", "--orphan", "other")
	other := repo.Commit(t, "a", "e", "other")
	unknown := strings.Repeat("1", len(first))
	r, err := refs.Open(t.Context(), &gitexec.Runner{Dir: repo.Dir, Env: gitexec.Environ(repo.Env)})
	require.NoError(t, err)
	t.Cleanup(r.Close)
	h := &remote{Repo: r}
	for _, tt := range []struct {
		tip, was string
		want     bool
	}{
		{last, first, true},
		{last, last, true},
		{last, "", true},
		{"", "", true},
		{"", first, false},
		{first, last, false},
		{other, first, false},
		{last, unknown, false},
		{unknown, first, false},
		{blob, first, false},
		{last, blob, false},
	} {
		got, err := h.extends(t.Context(), tt.tip, tt.was)
		require.NoError(t, err, "%v", tt)
		assert.Equal(t, tt.want, got, "%v", tt)
	}

	require.NoError(t, os.Remove(filepath.Join(repo.Dir, ".git", "objects", middle[:2], middle[2:])))
	_, err = h.extends(t.Context(), last, first)
	assert.True(t, fault.Is(err, fault.MissingObject), "%v", err)
	for _, tip := range []string{first, other, blob} { // these answers do not need the missing commit
		got, err := h.extends(t.Context(), tip, last)
		require.NoError(t, err, tip)
		assert.False(t, got, tip)
	}
	got, err := h.extends(t.Context(), newest, last)
	require.NoError(t, err)
	assert.True(t, got, "the hole is before both")
}
