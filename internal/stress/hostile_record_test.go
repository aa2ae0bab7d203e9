package stress

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
)

// maxMemory is the most memory that githandoff, or the largest git that it started, may use, whatever a hub
// serves. A fetch may allocate at most half of it at once.
const maxMemory = 256 // MiB

// weighed runs githandoff and checks how much memory it used.
func weighed(t testing.TB, p *gittest.Repo, args ...string) gittest.Result {
	t.Helper()
	cmd := p.Command(t, args...)
	r := gittest.Finish(t, cmd)
	mebibytes := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss >> 10 // Linux counts in KiB
	assert.LessOrEqual(t, mebibytes, int64(maxMemory), "memory of %v", args)
	return r
}

// put writes an object, which git itself need not consider valid, and returns its id.
func put(t testing.TB, repo *gittest.Repo, kind string, body io.Reader) string {
	t.Helper()
	return repo.GitIn(t, body, "hash-object", "-w", "-t", kind, "--literally", "--stdin")
}

// zeros returns n mebibytes of zeros, which git packs to a thousandth of that.
func zeros(n int64) io.Reader { return io.LimitReader(zero{}, n<<20) }

type zero struct{}

func (zero) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// treeOf makes a tree with an entry for each "mode name". All entries lead to one object.
func treeOf(t testing.TB, repo *gittest.Repo, oid string, entries ...string) string {
	t.Helper()
	var b bytes.Buffer
	for _, e := range entries {
		fmt.Fprintf(&b, "%s\x00%s", e, oidBytes(t, oid))
	}
	return put(t, repo, "tree", &b)
}

// commitOf makes an unsigned commit of a tree.
func commitOf(t testing.TB, repo *gittest.Repo, tree, headers, message string) string {
	t.Helper()
	who := "m <m@example.com> 1700000000 +0000"
	return put(t, repo, "commit", strings.NewReader(fmt.Sprintf("tree %s\n%sauthor %s\ncommitter %s\n\n%s\n", tree, headers, who, who, message)))
}

// bent returns a copy of the payload commit of a good handoff with changed bytes.
func bent(t testing.TB, repo *gittest.Repo, good string, bend func(string) string) string {
	t.Helper()
	raw := repo.Git(t, "cat-file", "commit", good) + "\n"
	changed := bend(raw)
	require.NotEqual(t, raw, changed)
	return put(t, repo, "commit", strings.NewReader(changed))
}

const hostileID = "ho_00000000000000000000000001"

// hostileRecords returns objects that stand in the place of a handoff. make returns the object that the inbox
// ref of hostileID leads to; good is a real payload commit.
func hostileRecords() map[string]struct {
	word string
	make func(t testing.TB, hub *gittest.Repo, good string) string
} {
	type row = struct {
		word string
		make func(t testing.TB, hub *gittest.Repo, good string) string
	}
	return map[string]row{
		"a blob of 280 MiB": {"too_large", func(t testing.TB, hub *gittest.Repo, _ string) string {
			return put(t, hub, "blob", zeros(280))
		}},
		"a commit with such a blob": {"malformed_object", func(t testing.TB, hub *gittest.Repo, _ string) string {
			return commitOf(t, hub, treeOf(t, hub, put(t, hub, "blob", zeros(280)), "100644 handoff.json"), "", "offered")
		}},
		"deep trees": {"malformed_object", func(t testing.TB, hub *gittest.Repo, _ string) string {
			tree := treeOf(t, hub, put(t, hub, "blob", strings.NewReader("x")), "100644 a")
			for range 1_000 {
				tree = treeOf(t, hub, tree, "40000 a")
			}
			return commitOf(t, hub, tree, "", "offered")
		}},
		"a tree with odd modes and names": {"malformed_object", func(t testing.TB, hub *gittest.Repo, _ string) string {
			blob := put(t, hub, "blob", strings.NewReader("/etc/passwd"))
			return commitOf(t, hub, treeOf(t, hub, blob, "120000 ..", "100777 .git", "100644 a/../../b", "100644 a/../../b", "644 \x1b[2J"), "", "offered")
		}},
		"a tag": {"malformed_object", func(t testing.TB, hub *gittest.Repo, good string) string {
			return put(t, hub, "tag", strings.NewReader("object "+good+"\ntype commit\ntag v1\ntagger m <m@example.com> 1700000000 +0000\n\nx\n"))
		}},
		"10,000 parents": {"too_large", func(t testing.TB, hub *gittest.Repo, good string) string {
			return commitOf(t, hub, hub.Git(t, "rev-parse", "main^{tree}"), strings.Repeat("parent "+good+"\n", 10_000), "offered")
		}},
		"a header of 1 MiB": {"too_large", func(t testing.TB, hub *gittest.Repo, good string) string {
			return bent(t, hub, good, func(s string) string {
				return strings.Replace(s, "\n"+gittest.SignatureHeader()+" ", "\nnote "+strings.Repeat("x", 1<<20)+"\n"+gittest.SignatureHeader()+" ", 1)
			})
		}},
		"an encoding": {"malformed_object", func(t testing.TB, hub *gittest.Repo, good string) string {
			return bent(t, hub, good, func(s string) string {
				return strings.Replace(s, "\n"+gittest.SignatureHeader()+" ", "\nencoding UTF-16\n"+gittest.SignatureHeader()+" ", 1)
			})
		}},
		"two signatures": {"malformed_object", func(t testing.TB, hub *gittest.Repo, good string) string {
			return bent(t, hub, good, func(s string) string {
				head, message, _ := strings.Cut(s, "\n\n")
				_, signature, _ := strings.Cut(head, "\n"+gittest.SignatureHeader()+" ")
				return head + "\n" + gittest.SignatureHeader() + " " + signature + "\n\n" + message
			})
		}},
		"NUL in the message": {"malformed_object", func(t testing.TB, hub *gittest.Repo, good string) string {
			return bent(t, hub, good, func(s string) string { return strings.TrimSuffix(s, "\n") + "\x00\n" })
		}},
		"escape sequences": {"malformed_object", func(t testing.TB, hub *gittest.Repo, _ string) string {
			return commitOf(t, hub, hub.Git(t, "rev-parse", "main^{tree}"), "", "\x1b]0;pwned\x07\x1b[2J\u202e")
		}},
		"code": {"malformed_object", func(t testing.TB, hub *gittest.Repo, _ string) string {
			return hub.Git(t, "rev-parse", "main")
		}},
		"another handoff": {"handoff_mismatch", func(_ testing.TB, _ *gittest.Repo, good string) string { return good }},
	}
}

// Any invalid object in an inbox is passed over with a line that says why. The good handoff beside it is taken,
// shown and ended.
func TestHostileRecord(t *testing.T) {
	for name, tc := range hostileRecords() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := gittest.NewFixture(t)
			// The hub has a server of its own, so that the memory of the hub's git is not counted for the
			// clone's.
			w.URL = gittest.Daemon(t, w.Dir) + "/" + filepath.Base(w.Hub.Dir)
			boss, fixer := w.Pair(t)
			good := boss.Must(t, "emit", "--to", elsewhere, "--goal", "the good one")
			bad := tc.make(t, w.Hub, w.Hub.Git(t, "rev-parse", inbox+"/fixer/"+good))
			w.Hub.Git(t, "update-ref", inbox+"/fixer/"+hostileID, bad)

			for _, list := range [][]string{{"inbox"}, {"inbox", "--all"}, {"status"}} {
				r := weighed(t, fixer, list...)
				assert.Zero(t, r.Code, "%v: %s", list, r)
				calm(t, r)
			}
			r := weighed(t, fixer, "resume")
			require.Zero(t, r.Code, "%s", r)
			assert.Contains(t, r.Stdout, "the good one")
			assert.Equal(t, 1, strings.Count(r.Stderr, "warning: "), r.Stderr)
			assert.Contains(t, r.Stderr, "warning: "+tc.word+": ")
			calm(t, r)
			r = weighed(t, fixer, "ack")
			require.Zero(t, r.Code, "%s", r)

			r = weighed(t, fixer, "resume")
			assert.Equal(t, 4, r.Code, "only what is refused is left: %s", r)
			r = weighed(t, fixer, "resume", hostileID)
			assert.Equal(t, 4, r.Code, "%s", r)
			assert.Contains(t, r.Stderr, tc.word)
			calm(t, r)
			r = weighed(t, fixer, "audit")
			assert.Equal(t, 4, r.Code, "%s", r)
			calm(t, r)
			assert.Contains(t, boss.Must(t, "sync"), "acknowledged "+good)
		})
	}
}

// calm checks that the output moves no cursor and sets no title of the terminal.
func calm(t testing.TB, r gittest.Result) {
	t.Helper()
	for _, c := range r.Stdout + r.Stderr {
		if c < ' ' && c != '\n' && c != '\t' || c == 0x7f || c >= 0x80 && c < 0xa0 || c >= 0x202a && c <= 0x202e {
			assert.Failf(t, "printed raw", "%U in %q", c, r.Stdout+r.Stderr)
			return
		}
	}
}
