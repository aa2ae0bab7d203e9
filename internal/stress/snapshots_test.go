package stress

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
)

// snapshotScenes returns scenes whose commands carry the state of a work tree.
func snapshotScenes() []scene {
	sent := func(t testing.TB, boss *gittest.Repo) string {
		mess(t, boss)
		return boss.Must(t, "emit", "--to", elsewhere, "--goal", "g", "--snapshot")
	}
	offered := map[string]int{"offered": 1}
	claimed := map[string]int{"offered": 1, "claimed": 1}
	return []scene{
		{"emit snapshot to hub", func(t testing.TB, boss, fixer *gittest.Repo) (*gittest.Repo, []string) {
			mess(t, boss)
			return boss, []string{"emit", "--once", "--to", elsewhere, "--task", "T-1", "--goal", "g", "--snapshot"}
		}, []int{0}, 1, offered, func(t testing.TB, w *gittest.Fixture, boss, fixer *gittest.Repo) {
			assert.Equal(t, messed, status(t, boss))
			assert.Len(t, open(t, w.Hub, workRefs), 1, "at the hub")
		}},
		{"resume worktree", func(t testing.TB, boss, fixer *gittest.Repo) (*gittest.Repo, []string) {
			return fixer, []string{"resume", sent(t, boss), "--worktree=../copy"}
		}, []int{0, 5}, 1, claimed, func(t testing.TB, w *gittest.Fixture, boss, fixer *gittest.Repo) {
			assert.Equal(t, 2, strings.Count(fixer.Git(t, "worktree", "list", "--porcelain"), "worktree "))
			assert.Len(t, strings.Fields(fixer.Git(t, "for-each-ref", "--format=%(refname)", "refs/heads/handoff")), 1)
			tookOver(t, fixer, w.At("copy"))
		}},
		{"resume here", func(t testing.TB, boss, fixer *gittest.Repo) (*gittest.Repo, []string) {
			require.NoError(t, os.WriteFile(filepath.Join(fixer.Dir, "own"), []byte("the receiver's own\n"), 0o644))
			return fixer, []string{"resume", sent(t, boss), "--here"}
		}, []int{0}, 1, claimed, func(t testing.TB, w *gittest.Fixture, boss, fixer *gittest.Repo) {
			own := filepath.Join(fixer.Dir, "own")
			b, err := os.ReadFile(own)
			require.NoError(t, err)
			assert.Equal(t, "the receiver's own\n", string(b))
			require.NoError(t, os.Remove(own))
			tookOver(t, fixer, fixer)
		}},
		{"ack snapshot at hub", func(t testing.TB, boss, fixer *gittest.Repo) (*gittest.Repo, []string) {
			id := sent(t, boss)
			fixer.Must(t, "resume", id, "--here")
			return fixer, []string{"ack", id}
		}, []int{0}, 0, map[string]int{"offered": 1, "claimed": 1, "acknowledged": 1}, func(t testing.TB, w *gittest.Fixture, boss, fixer *gittest.Repo) {
			for _, repo := range []*gittest.Repo{w.Hub, boss, fixer} {
				assert.Empty(t, open(t, repo, workRefs, workOut), "in %s", repo.Dir)
			}
		}},
	}
}

const (
	workRefs = "refs/handoffs/work"
	workOut  = "refs/handoffs/work-out"
)

// mess makes a staged, a changed and an untracked file in a work tree.
func mess(t testing.TB, p *gittest.Repo) {
	t.Helper()
	for path, content := range map[string]string{"README": "changed\n", "staged": "staged\n", "dir/new": strings.Repeat("untracked\n", 50)} {
		full := filepath.Join(p.Dir, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(full), 0o755))
		require.NoError(t, os.WriteFile(full, []byte(content), 0o644))
	}
	p.Git(t, "add", "staged")
}

// messed is the status of a work tree after mess.
const messed = "M README\nA  staged\n?? dir/new"

func status(t testing.TB, p *gittest.Repo) string {
	t.Helper()
	return strings.TrimSpace(p.Git(t, "status", "--porcelain", "--untracked-files=all"))
}

// tookOver checks that the work tree at a place has the state of the sender's, and that its agent can end the
// work there. No record of the work copy may remain.
func tookOver(t testing.TB, clone, at *gittest.Repo) {
	t.Helper()
	for path, want := range map[string]string{"README": "changed\n", "staged": "staged\n", "dir/new": strings.Repeat("untracked\n", 50)} {
		b, err := os.ReadFile(filepath.Join(at.Dir, path))
		require.NoError(t, err)
		assert.Equal(t, want, string(b), path)
	}
	assert.Contains(t, at.Git(t, "branch", "--show-current"), "handoff/")
	assert.Equal(t, "staged", at.Git(t, "diff", "--cached", "--name-only"))
	at.Must(t, "ack")
	clone.Must(t, "gc")
	notes, err := filepath.Glob(filepath.Join(clone.Git(t, "rev-parse", "--path-format=absolute", "--git-common-dir"), "githandoff", "copies", "*"))
	require.NoError(t, err)
	assert.Empty(t, notes, "work copies that are noted")
}

// noStraySnapshots requires an open handoff for each snapshot ref. The copy of a hub's snapshot may stay until
// the receipt is seen.
func noStraySnapshots(t testing.TB, repo *gittest.Repo) {
	t.Helper()
	kept := map[string]bool{}
	for _, id := range open(t, repo, inbox, outbox, sent) {
		kept[id] = true
	}
	for _, id := range open(t, repo, workRefs, workOut) {
		assert.True(t, kept[id], "a snapshot of %s, which is gone from %s", id, repo.Dir)
	}
}
