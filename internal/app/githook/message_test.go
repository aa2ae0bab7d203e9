package githook

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/refs"
)

// A git since 2.45 also takes "auto" from core.commentString. What it chose then stands in the message alone.
func TestCommentThatGitChose(t *testing.T) {
	for _, key := range []string{"core.commentchar", "core.commentstring"} {
		m := Messages{Repo: &refs.Repo{Config: refs.Config{key: {"auto"}}}}
		comment, err := m.comment(t.Context(), "# heading\n\n; Lines starting with ';' will be ignored\n;\n")
		require.NoError(t, err)
		assert.Equal(t, ";", comment, key)
	}
}
