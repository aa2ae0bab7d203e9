package stress

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
)

// An object that git would read whole is not read beyond its size, wherever it is stored: also if somebody
// pushed it into this repository.
func TestHugeCommit(t *testing.T) {
	t.Parallel()
	_, _, fixer := gittest.NewPair(t)
	fixer.Must(t, "emit", "--to", "fixer", "--goal", "the good one")
	huge := put(t, fixer, "commit", zeros(maxMemory+24))
	lay(t, fixer, inbox+"/fixer/"+hostileID, huge)
	for i := range manyHuge { // a few refs would be read one by one
		lay(t, fixer, fmt.Sprintf("%s/fixer/%s%02d", inbox, hostileID[:len(hostileID)-2], i), huge)
	}
	for _, args := range [][]string{{"inbox"}, {"status"}, {"gc", "--dry-run"}, {"resume"}, {"ack"}} {
		r := weighed(t, fixer, args...)
		assert.Zero(t, r.Code, "%v: %s", args, r)
	}
	for _, args := range [][]string{{"resume"}, {"resume", hostileID}, {"audit"}} {
		r := weighed(t, fixer, args...)
		assert.Equal(t, 4, r.Code, "%v: %s", args, r)
	}
	assert.Contains(t, weighed(t, fixer, "resume", hostileID).Stderr, "too_large: ")
}

// manyHuge is a number of refs that are no longer read one by one.
const manyHuge = 80

// lay writes the file of a ref, for git itself points no ref at a missing object.
func lay(t testing.TB, repo *gittest.Repo, ref, content string) {
	t.Helper()
	path := filepath.Join(repo.Git(t, "rev-parse", "--absolute-git-dir"), ref)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(content+"\n"), 0o644))
}

const bad = inbox + "/fixer/" + hostileID

// oddRefs returns the odd refs that a hub can have. word is the reason word that fixer reads before it takes the
// good handoff, and empty if the ref changes nothing. left is the exit code of resume after the good handoff has
// ended.
func oddRefs() map[string]struct {
	word string
	left int
	bend func(t testing.TB, hub *gittest.Repo, good string)
} {
	type row = struct {
		word string
		left int
		bend func(t testing.TB, hub *gittest.Repo, good string)
	}
	return map[string]row{
		"symbolic, to code": {"malformed_object", 4, func(t testing.TB, hub *gittest.Repo, _ string) {
			hub.Git(t, "symbolic-ref", bad, "refs/heads/main")
		}},
		"symbolic, to another handoff": {"handoff_mismatch", 3, func(t testing.TB, hub *gittest.Repo, good string) {
			hub.Git(t, "symbolic-ref", bad, inbox+"/fixer/"+good)
		}},
		"symbolic, to a lane": {"handoff_mismatch", 4, func(t testing.TB, hub *gittest.Repo, good string) {
			hub.Git(t, "symbolic-ref", bad, lanes+"/"+good[len(good)-2:])
		}},
		"symbolic, to nothing": {"", 3, func(t testing.TB, hub *gittest.Repo, _ string) {
			hub.Git(t, "symbolic-ref", bad, "refs/heads/unborn")
		}},
		"symbolic, to itself": {"", 3, func(t testing.TB, hub *gittest.Repo, _ string) {
			lay(t, hub, bad, "ref: "+bad)
		}},
		"a lane, symbolic": {"", 3, func(t testing.TB, hub *gittest.Repo, good string) {
			lane := lanes + "/" + good[len(good)-2:]
			hub.Git(t, "update-ref", "refs/heads/lane", lane)
			hub.Git(t, "update-ref", "-d", lane)
			hub.Git(t, "symbolic-ref", lane, "refs/heads/lane")
		}},
		"an unborn lane": {"", 3, func(t testing.TB, hub *gittest.Repo, _ string) {
			hub.Git(t, "symbolic-ref", lanes+"/zy", "refs/heads/unborn")
		}},
		"an unborn branch": {"", 3, func(t testing.TB, hub *gittest.Repo, _ string) {
			hub.Git(t, "symbolic-ref", "HEAD", "refs/heads/unborn")
		}},
		"replaced": {"", 3, func(t testing.TB, hub *gittest.Repo, good string) {
			for _, ref := range []string{inbox + "/fixer/" + good, lanes + "/" + good[len(good)-2:]} {
				hub.Git(t, "replace", hub.Git(t, "rev-parse", ref), "main")
			}
		}},
	}
}

// Some refs lead to refs, to nothing, or to an object that another one replaces. The good handoff beside them is
// taken and ended.
func TestOddRefs(t *testing.T) {
	for name, tc := range oddRefs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, boss, fixer := gittest.NewPair(t)
			good := boss.Must(t, "emit", "--to", elsewhere, "--goal", "the good one")
			tc.bend(t, w.Hub, good)
			// A clone that fetches all refs of a hub also has its replacement objects.
			fixer.Git(t, "fetch", "--quiet", "origin", "refs/replace/*:refs/replace/*")

			r := fixer.Run(t, "resume")
			require.Zero(t, r.Code, "%s", r)
			assert.Contains(t, r.Stdout, "the good one")
			calm(t, r)
			want := ""
			if tc.word != "" {
				want = "warning: " + tc.word + ": "
			}
			assert.Contains(t, r.Stderr, want)
			assert.Equal(t, len(want) > 0, strings.Contains(r.Stderr, "warning: "), r.Stderr)
			fixer.Must(t, "ack")
			r = fixer.Run(t, "resume")
			assert.Equal(t, tc.left, r.Code, "%s", r)
			assert.Contains(t, boss.Must(t, "sync"), "acknowledged "+good)
		})
	}
}

// While one ref of an inbox leads to no object, git does not serve that inbox and takes no push. The message
// says so, and nothing is lost: after the ref is removed all commands work.
func TestDanglingRefs(t *testing.T) {
	for name, content := range map[string]string{
		"missing": strings.Repeat("1", gittest.Objects().Digits()), "null": strings.Repeat("0", gittest.Objects().Digits()), "no object id": "\x1b[2J",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, boss, fixer := gittest.NewPair(t)
			good := boss.Must(t, "emit", "--to", elsewhere, "--goal", "the good one")
			lay(t, w.Hub, bad, content)
			for _, args := range [][]string{{"resume"}, {"resume", good}} {
				r := fixer.Run(t, args...)
				assert.Equal(t, 8, r.Code, "%s", r)
				assert.Contains(t, r.Stderr, "origin ")
				assert.Empty(t, r.Stdout)
				calm(t, r)
			}
			assert.Contains(t, fixer.Must(t, "resume", "--peek", good), "the good one")
			require.NoError(t, os.Remove(filepath.Join(w.Hub.Dir, bad)))
			assert.Contains(t, fixer.Must(t, "resume"), "the good one")
			fixer.Must(t, "ack")
			assert.Contains(t, boss.Must(t, "sync"), "acknowledged "+good)
		})
	}
}

// A hub has many refs that look like lanes and are none, each to a commit of its own. A command of an agent
// takes none of them over from the mirror. audit names three and counts the others. Neither uses much memory.
// With GITHANDOFF_STRESS=250 there are 100,000 of them.
func TestFloodOfLanes(t *testing.T) {
	t.Parallel()
	w, boss, fixer := gittest.NewPair(t)
	n := min(times(t, 400), 100_000)
	var in strings.Builder
	for i := range n {
		message := fmt.Sprint("junk ", i)
		fmt.Fprintf(&in, "commit %s/l-%06d\ncommitter m <m@example.com> %d +0000\ndata %d\n%s\n", lanes, i, 1_700_000_000+i, len(message), message)
	}
	w.Hub.GitIn(t, strings.NewReader(in.String()), "fast-import", "--quiet")
	w.Hub.Git(t, "pack-refs", "--all")
	good := boss.Must(t, "emit", "--to", elsewhere, "--goal", "the good one")

	for _, args := range [][]string{{"resume"}, {"progress"}, {"inbox"}, {"status"}, {"sync"}} {
		r := weighed(t, fixer, args...)
		require.Zero(t, r.Code, "%v: %s", args, r)
		assert.NotContains(t, r.Stderr, "warning: ", "%v", args)
		t.Logf("%-8s beside %d lanes: %v", args[0], n, r.Took.Round(time.Millisecond))
	}
	assert.Empty(t, fixer.Git(t, "for-each-ref", tracked+"/*/log/l*"), "they stay in the mirror")
	for range 2 { // the first audit sees them for the first time
		r := weighed(t, fixer, "audit")
		assert.Equal(t, 4, r.Code, "%s", r)
		assert.Equal(t, 3, strings.Count(r.Stdout, " that this clone refuses: no lane has such a name\n"), r.Stdout)
		assert.Contains(t, r.Stdout, fmt.Sprintf("\n! rollback origin : origin has %d more refs below %s/ with names that no lane has\n", n-3, lanes))
		calm(t, r)
		t.Logf("%-8s of %d lanes: %v", "audit", n, r.Took.Round(time.Millisecond))
	}
	fixer.Must(t, "ack")
	assert.Contains(t, boss.Must(t, "sync"), "acknowledged "+good)
}
