package snapshot

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gitobj"
	"githandoff/internal/gittest"
)

// git reads the index that encodeIndex writes, in both object formats.
func TestEncodeIndex(t *testing.T) {
	for _, format := range []gitobj.Format{gitobj.SHA1, gitobj.SHA256} {
		repo := &gittest.Repo{Dir: t.TempDir(), Env: gittest.Env(t)}
		repo.Git(t, "init", "--quiet", "--object-format="+string(format))
		files := map[string]file{
			strings.Repeat("long/", 1000) + "x": {gitobj.File, format.Hash("blob", nil)},
			"a":                                 {gitobj.Exec, format.Hash("blob", []byte("a"))},
			"a b":                               {gitobj.Symlink, format.Hash("blob", []byte("b"))},
			"\xff":                              {gitobj.File, format.Hash("blob", []byte("c"))},
			"a/b":                               {gitobj.Gitlink, format.Hash("commit", []byte("d"))},
		}
		for n := range 9 { // each length of the padding
			files["p"+strings.Repeat("x", n)] = file{gitobj.File, format.EmptyTree()}
		}
		b, err := encodeIndex(format, files)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(repo.Dir, ".git/index"), b, 0o600))
		found, err := parseIndex(repo.Git(t, listIndex...))
		require.NoError(t, err)
		assert.Equal(t, files, found)
		assert.Equal(t, slices.Sorted(maps.Keys(files)), strings.Split(strings.TrimSuffix(repo.Git(t, "ls-files", "-z"), "\x00"), "\x00"))

		files["a"] = file{gitobj.File, format.Zero()[2:]}
		_, err = encodeIndex(format, files)
		assert.Error(t, err)
	}
}
