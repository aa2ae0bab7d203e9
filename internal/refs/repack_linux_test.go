package refs

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// git has read packed-refs and takes the file that replaced it for the same one, so it reports that a ref still
// has its old value. The transaction is called off, since the entry that another process appended meanwhile
// would be lost.
func TestApplyBesideARepackThatGitOverlooks(t *testing.T) {
	const lane, other = "refs/handoffs/log/aa", "refs/handoffs/log/bb"
	for range 20 {
		repo, r, oid := threeCommits(t)
		repo.Git(t, "update-ref", lane, oid[0])
		repo.Git(t, "pack-refs", "--all")
		path := filepath.Join(r.CommonDir, "packed-refs")
		second := time.Now().Truncate(time.Second)
		require.NoError(t, os.Chtimes(path, second, second))

		u := &r.updater
		require.NoError(t, u.begin(t.Context()))
		require.NoError(t, u.commit([]Edit{{other, "", oid[2]}}), "git has read packed-refs now")
		before, err := os.Stat(path)
		require.NoError(t, err)
		require.NoError(t, u.begin(t.Context()))
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, []byte(strings.Replace(string(text), oid[0]+" "+lane, oid[1]+" "+lane, 1)), 0o644))
		require.NoError(t, os.Chtimes(path, second, second.Add(time.Millisecond)))
		after, err := os.Stat(path)
		require.NoError(t, err)
		changed := func(info os.FileInfo) int64 { sec, _ := info.Sys().(*syscall.Stat_t).Ctim.Unix(); return sec }
		if changed(before) != changed(after) {
			continue // git notices the change
		}
		edits := []Edit{{lane, oid[0], oid[2]}}
		require.ErrorIs(t, u.commit(edits), errRepacked)
		assert.Equal(t, oid[1], repo.Git(t, "rev-parse", lane))
		assert.NoFileExists(t, filepath.Join(r.CommonDir, lane+".lock"))
		require.ErrorAs(t, r.Apply(t.Context(), Transaction{Edits: edits}), new(*StaleError))
		require.NoError(t, r.Apply(t.Context(), Transaction{Edits: []Edit{{lane, oid[1], oid[2]}}}))
		return
	}
	t.Fatal("no two steps fell into one second")
}
