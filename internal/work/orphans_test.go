package work

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Only the agent and the key that made a claim may adopt it from a removed worktree, in one other
// worktree.
func TestOrphanedClaimIsAdoptedOnce(t *testing.T) {
	common := t.TempDir()
	at := func(dir string) Claims {
		return Claims{GitDir: dir, Common: common}
	}
	gone := at(filepath.Join(common, "worktrees", "gone"))
	store(t, gone, &Claim{ID: otherID, Agent: "fixer", Actor: "fixer", Key: "ssh:one", Nonce: "n", Printed: true})

	require.NoError(t, os.RemoveAll(gone.GitDir))

	here, there := at(t.TempDir()), at(t.TempDir())
	for _, who := range [][2]string{{"fixer", "ssh:two"}, {"other", "ssh:one"}} {
		require.NoError(t, here.Adopt(t.Context(), who[0], who[1]))
		held, err := here.Held()
		require.NoError(t, err)
		assert.Empty(t, held, who)
	}
	for _, c := range []Claims{here, there} {
		require.NoError(t, c.Adopt(t.Context(), "fixer", "ssh:one"))
	}
	held, err := here.Held()
	require.NoError(t, err)
	require.Len(t, held, 1)
	assert.True(t, held[0].Mine("n"))
	held, err = there.Held()
	require.NoError(t, err)
	assert.Empty(t, held, "it has a worktree again")

	release(t, here, otherID)
	require.NoError(t, there.Adopt(t.Context(), "fixer", "ssh:one"))
	held, err = there.Held()
	require.NoError(t, err)
	assert.Empty(t, held, "it was given up")
}

// A claim that was handed over to the main worktree is not an orphan. A copy of a claim without its record
// exists only while another worktree may take the claim.
func TestHandedOverToTheMainWorktree(t *testing.T) {
	common := t.TempDir()
	one := Claims{GitDir: filepath.Join(common, "worktrees", "one"), Common: common}
	two := Claims{GitDir: filepath.Join(common, "worktrees", "two"), Common: common}
	h := &Claim{ID: otherID, Agent: "fixer", Actor: "fixer", Key: "ssh:one", Nonce: "n", Printed: true}
	store(t, one, h)
	main := claimsIn(common)
	require.NoError(t, one.HandOver(t.Context(), h, main))

	require.NoError(t, two.Adopt(t.Context(), "fixer", "ssh:one"))
	held, err := two.Held()
	require.NoError(t, err)
	assert.Empty(t, held)
	held, err = main.Held()
	require.NoError(t, err)
	assert.Len(t, held, 1)
}

// A worktree that counted as removed may return, with its disk or after "git worktree repair". It no longer
// holds the claims that another worktree has taken over.
func TestAdoptedClaimLeavesTheWorktreeThatComesBack(t *testing.T) {
	common := t.TempDir()
	one := Claims{GitDir: filepath.Join(common, "worktrees", "one"), Common: common}
	two := Claims{GitDir: filepath.Join(common, "worktrees", "two"), Common: common}
	store(t, one, &Claim{ID: otherID, Agent: "fixer", Actor: "fixer", Key: "ssh:one", Nonce: "n", Printed: true})
	require.NoError(t, os.WriteFile(filepath.Join(one.GitDir, "gitdir"), []byte(filepath.Join(common, "away", ".git")+"\n"), 0o600))

	require.NoError(t, two.Adopt(t.Context(), "fixer", "ssh:one"))
	held, err := two.Held()
	require.NoError(t, err)
	require.Len(t, held, 1)
	held, err = one.Held()
	require.NoError(t, err)
	assert.Empty(t, held, "two worktrees would hold it")
}

// Neither a path nor a link leads to the record of another clone: an agent can write both.
func TestAdoptedClaimLeavesOtherClones(t *testing.T) {
	for _, by := range []string{"path", "link", "linked worktrees"} {
		common, away := t.TempDir(), t.TempDir()
		other := Claims{GitDir: filepath.Join(away, "one"), Common: away}
		h := &Claim{ID: otherID, Agent: "fixer", Actor: "fixer", Key: "ssh:one", Nonce: "n", Printed: true}
		store(t, other, h)
		require.NoError(t, os.WriteFile(filepath.Join(other.GitDir, "gitdir"), []byte("gone\n"), 0o600))
		planted := other.GitDir
		worktrees := filepath.Join(common, "worktrees")
		switch by {
		case "link":
			planted = filepath.Join(worktrees, "one")
			require.NoError(t, os.MkdirAll(planted, 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(planted, "gitdir"), []byte("gone\n"), 0o600))
			require.NoError(t, os.Symlink(filepath.Join(other.GitDir, "githandoff"), filepath.Join(planted, "githandoff")))
		case "linked worktrees":
			planted = filepath.Join(worktrees, "one")
			require.NoError(t, os.Symlink(away, worktrees))
		}
		main := claimsIn(common)
		require.NoError(t, main.holders().Put(h.ID, &Located{Claim: h, GitDir: planted}))
		_ = main.Adopt(t.Context(), "fixer", "ssh:one")
		held, err := other.Held()
		require.NoError(t, err)
		assert.Len(t, held, 1, by)
	}
}
