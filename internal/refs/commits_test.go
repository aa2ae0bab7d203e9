package refs

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
)

// git fails at an object that is larger than its memory limit. The refs before that object are listed, the
// object is skipped, and the refs after it follow.
func TestCommitsBesideLargeObject(t *testing.T) {
	repo := gittest.NewRepo(t, gittest.Env(t))
	first := repo.Commit(t, "a", "x", "first")
	zeros := filepath.Join(t.TempDir(), "zeros")
	require.NoError(t, os.WriteFile(zeros, nil, 0o600))
	require.NoError(t, os.Truncate(zeros, 33<<20))
	repo.Git(t, "update-ref", "refs/handoffs/test/b", repo.Git(t, "hash-object", "-w", zeros))
	for _, name := range []string{"a", "c"} {
		repo.Git(t, "update-ref", "refs/handoffs/test/"+name, first)
	}
	r := open(t, repo)
	raw := repo.Git(t, "cat-file", "commit", first) + "\n"
	type row struct{ name, raw string }
	var got []row
	require.NoError(t, Commits(t.Context(), r, func(ref Ref, raw []byte) error {
		got = append(got, row{filepath.Base(ref.Name), string(raw)})
		return nil
	}, "refs/handoffs/test/"))
	assert.Equal(t, []row{{"a", raw}, {"b", ""}, {"c", raw}}, got)

	stop := errors.New("enough")
	n := 0
	assert.ErrorIs(t, Commits(t.Context(), r, func(Ref, []byte) error {
		if n++; n == 3 {
			return stop
		}
		return nil
	}, "refs/handoffs/test/"), stop)
}
