package stress

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"githandoff/internal/gittest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// upgradeScenes returns commands that send a step which waited for its hub. The step is stored as this version
// does it, or as an earlier one did.
func upgradeScenes(taken func(t testing.TB, boss, fixer *gittest.Repo) string) []scene {
	want := map[string]int{"offered": 1, "claimed": 1, "acknowledged": 1}
	queued := func(t testing.TB, boss, fixer *gittest.Repo) {
		t.Helper()
		taken(t, boss, fixer)
		hub := filepath.Join(filepath.Dir(boss.Dir), "hub.git")
		require.NoError(t, os.Rename(hub, hub+".away"))
		assert.Equal(t, 8, fixer.Run(t, "ack").Code)
		require.NoError(t, os.Rename(hub+".away", hub))
	}
	return []scene{
		{"sync sends a step", func(t testing.TB, boss, fixer *gittest.Repo) (*gittest.Repo, []string) {
			queued(t, boss, fixer)
			return fixer, []string{"sync"}
		}, []int{0}, 0, want, nil},
		{"sync after an upgrade", func(t testing.TB, boss, fixer *gittest.Repo) (*gittest.Repo, []string) {
			queued(t, boss, fixer)
			downgrade(t, fixer)
			return fixer, []string{"sync"}
		}, []int{0}, 0, want, nil},
	}
}

// downgrade turns the records of a place into those of earlier versions, which kept a waiting step in a file of
// its own.
func downgrade(t testing.TB, p *gittest.Repo) {
	t.Helper()
	own := filepath.Join(p.Git(t, "rev-parse", "--absolute-git-dir"), "githandoff")
	files, err := filepath.Glob(filepath.Join(own, "claims", "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	require.NoError(t, os.MkdirAll(filepath.Join(own, "journal"), 0o700))
	for _, file := range files {
		var claim map[string]any
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(b, &claim))
		step, ok := claim["pending"].(map[string]any)
		require.True(t, ok)
		delete(claim, "pending")
		step["id"] = claim["id"]
		for path, doc := range map[string]any{file: claim, filepath.Join(own, "journal", filepath.Base(file)): step} {
			b, err := json.Marshal(doc)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(path, b, 0o600))
		}
	}
}
