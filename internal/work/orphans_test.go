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

// The files of a worktree may be on a disk that is not mounted, or in another container: until git forgets the
// worktree, its claim stays there.
func TestMissingWorktreeKeepsItsClaim(t *testing.T) {
	common := t.TempDir()
	one := Claims{GitDir: filepath.Join(common, "worktrees", "one"), Common: common}
	two := Claims{GitDir: filepath.Join(common, "worktrees", "two"), Common: common}
	store(t, one, &Claim{ID: otherID, Agent: "fixer", Actor: "fixer", Key: "ssh:one", Nonce: "n", Printed: true})
	away := filepath.Join(common, "away")
	require.NoError(t, os.WriteFile(filepath.Join(one.GitDir, "gitdir"), []byte(filepath.Join(away, ".git")+"\n"), 0o600))

	require.NoError(t, two.Adopt(t.Context(), "fixer", "ssh:one"))
	held, err := two.Held()
	require.NoError(t, err)
	assert.Empty(t, held)
	linked, err := two.linked()
	require.NoError(t, err)
	require.Len(t, linked, 1)
	dir, missing, err := linked[0].Worktree()
	require.NoError(t, err)
	assert.Equal(t, away, dir)
	assert.True(t, missing)
}
