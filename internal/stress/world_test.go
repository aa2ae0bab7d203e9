package stress

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
)

// times multiplies a count by the value of GITHANDOFF_STRESS.
func times(t testing.TB, n int) int {
	t.Helper()
	s := os.Getenv("GITHANDOFF_STRESS")
	if s == "" {
		return n
	}
	by, err := strconv.Atoi(s)
	require.NoError(t, err, "GITHANDOFF_STRESS")
	return n * by
}

// open lists the handoffs whose refs are below one of the prefixes.
func open(t testing.TB, repo *gittest.Repo, prefixes ...string) []string {
	t.Helper()
	out := repo.Git(t, append([]string{"for-each-ref", "--format=%(refname)"}, prefixes...)...)
	var ids []string
	for name := range strings.FieldsSeq(out) {
		ids = append(ids, filepath.Base(name))
	}
	return ids
}

const (
	inbox   = "refs/handoffs/inbox"
	outbox  = "refs/handoffs/outbox"
	sent    = "refs/handoffs/sent"
	lanes   = "refs/handoffs/log"
	tracked = "refs/handoffs/remotes"
)

// events lists the events of one handoff in the lanes of a repository, oldest first.
func events(t testing.TB, repo *gittest.Repo, id string) []string {
	t.Helper()
	lane := lanes + "/" + id[len(id)-2:]
	if _, _, code := repo.TryGit("rev-parse", "--verify", "--quiet", lane); code != 0 {
		return nil
	}
	return strings.Fields(repo.Git(t, "log", "--reverse", "--grep=^Handoff-Id: "+id+"$",
		"--format=%(trailers:key=Handoff-Event,valueonly)", lane))
}

// sound checks a repository at a time when nothing runs: no object of a ref is missing, and no lock or
// unfinished step is left. A temporary file of a killed writer may be left: sound has gc remove it.
func sound(t testing.TB, repo *gittest.Repo) {
	t.Helper()
	whole(t, repo)
	assert.Empty(t, unfinished(t, repo), "left in %s", repo.Dir)
}

// unfinished lists the leftovers of repo that gc does not remove once they are old.
func unfinished(t testing.TB, repo *gittest.Repo) []string {
	t.Helper()
	var begun, left []string
	for _, name := range leftovers(t, repo) {
		if isBegun(name) {
			begun = append(begun, name)
		} else {
			left = append(left, name)
		}
	}
	if len(begun) > 0 {
		collected(t, repo, begun)
	}
	return left
}

// isBegun reports whether a file in a git dir is one that githandoff had begun to write, or the record of a
// child that a killed reroute had begun to stage.
func isBegun(rel string) bool {
	return strings.HasPrefix(filepath.Base(rel), ".tmp-") || strings.HasPrefix(rel, "githandoff/staged/")
}

// collected ages unfinished files and has gc remove them.
func collected(t testing.TB, repo *gittest.Repo, begun []string) {
	t.Helper()
	dir, old := repo.Git(t, "rev-parse", "--absolute-git-dir"), time.Now().Add(-2*time.Hour)
	for _, name := range begun {
		require.NoError(t, os.Chtimes(filepath.Join(dir, name), old, old))
	}
	repo.Must(t, "gc")
	for _, name := range begun {
		assert.NoFileExists(t, filepath.Join(dir, name), "after gc")
	}
}

// whole checks that git fsck reports nothing about a repository's objects and refs.
func whole(t testing.TB, repo *gittest.Repo) {
	t.Helper()
	out, diag, code := repo.TryGit("fsck", "--strict", "--no-dangling", "--no-progress")
	assert.Zero(t, code, "git fsck in %s", repo.Dir)
	assert.Empty(t, strings.TrimSpace(silence(out+diag)), "git fsck in %s", repo.Dir)
}

// silence drops the notices of fsck about a repository without branches.
func silence(s string) string {
	var kept []string
	for line := range strings.Lines(s) {
		if !strings.HasPrefix(line, "notice: ") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

// isLock reports whether a file in a git dir keeps git or githandoff from writing.
func isLock(rel string) bool {
	return strings.HasSuffix(rel, ".lock") && !strings.Contains("/"+rel, "/githandoff/") || rel == "packed-refs.new"
}

// waits reports whether the record of a handoff has a step that waits for its hub.
func waits(t testing.TB, path string) bool {
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return bytes.Contains(b, []byte(`"pending":`))
}

// leftovers lists the files that a crash left and no later command removed.
func leftovers(t testing.TB, repo *gittest.Repo) []string {
	t.Helper()
	dir := repo.Git(t, "rev-parse", "--absolute-git-dir")
	var found []string
	require.NoError(t, filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		rel := strings.TrimPrefix(path, dir+"/")
		switch {
		case errors.Is(err, os.ErrNotExist):
			return nil
		case err != nil:
			return err
		case e.IsDir():
			return nil
		case isLock(rel), isBegun(rel),
			strings.HasPrefix(rel, "githandoff/intents/"), strings.HasPrefix(rel, "githandoff/staged/"),
			strings.HasPrefix(rel, "githandoff/claims/") && waits(t, path):
			found = append(found, rel)
		}
		return nil
	}))
	return found
}

// audited checks that the log of a repository is complete and undisputed.
func audited(t testing.TB, p *gittest.Repo) {
	t.Helper()
	r := p.Run(t, "audit")
	assert.Zero(t, r.Code, "githandoff audit in %s: %s", p.Dir, r)
}

// together runs n functions at once.
func together(n int, run func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			run(i)
		})
	}
	wg.Wait()
}
