package snapshot_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
	"githandoff/internal/gittest"
	"githandoff/internal/snapshot"
)

// A few small trees can describe more files, or deeper directories, than any disk holds. They are
// refused in one line, before a worktree is made.
func TestSnapshotBomb(t *testing.T) {
	git := gittest.NewRepo(t, gittest.Env(t))
	git.Commit(t, "a", "a\n", "base")
	head, clean := git.Git(t, "rev-parse", "HEAD"), git.Git(t, "rev-parse", "HEAD^{tree}")
	h := &hostile{t: t, git: git, blob: git.Git(t, "rev-parse", "HEAD:a")}
	wider := func(levels int) string {
		tree := h.tree(file("f"))
		for range levels {
			var ten [][]string
			for i := range 10 {
				ten = append(ten, dir(fmt.Sprint(i), tree))
			}
			tree = h.tree(ten...)
		}
		return tree
	}
	deep := h.tree(file("f"))
	for range 300 {
		deep = h.tree(dir(strings.Repeat("d", 200), deep))
	}
	long := wider(5)
	for range 15 {
		long = h.tree(dir(strings.Repeat("d", 200), long))
	}
	for what, tree := range map[string]string{"wide": wider(6), "endless": wider(12), "deep": deep, "long": long} {
		places := map[string]string{
			"tracked":   h.commit(tree, "w", head, h.commit(clean, "i", head)),
			"index":     h.commit(clean, "w", head, h.commit(tree, "i", head)),
			"untracked": h.commit(clean, "w", head, h.commit(clean, "i", head), h.commit(tree, "u")),
		}
		if what != "wide" { // a million files may be in a commit
			base := h.commit(tree, "base")
			places["head"] = h.commit(tree, "w", base, h.commit(tree, "i", base))
		}
		for place, oid := range places {
			t.Run(what+", "+place, func(t *testing.T) {
				repo := open(t, git.Dir, git.Env)
				defer repo.Close()
				top := t.TempDir()
				c, err := snapshot.Open(ctx(), repo, oid)
				require.NoError(t, err)
				err = c.AddWorktree(ctx(), filepath.Join(top, "new"), branch, complete)
				require.Error(t, err)
				assert.True(t, fault.Is(err, fault.TooLarge), "%v", err)
				assert.Less(t, len(err.Error()), 400)
				assert.NoFileExists(t, filepath.Join(top, "new"))
			})
		}
	}
}
