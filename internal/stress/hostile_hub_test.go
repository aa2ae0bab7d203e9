package stress

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gitexec"
	"githandoff/internal/gittest"
	"githandoff/internal/handoff"
)

// traced runs githandoff and counts its fetches and pushes.
func traced(t testing.TB, p *gittest.Repo, args ...string) (r gittest.Result, trips int) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "trace")
	cmd := p.Command(t, args...)
	cmd.Env = append(cmd.Env, "GIT_TRACE="+log)
	r = gittest.Finish(t, cmd)
	text, err := os.ReadFile(log)
	require.NoError(t, err)
	return r, len(regexp.MustCompile(`(?m) trace: built-in: git (fetch|push) `).FindAll(text, -1))
}

// many creates n refs in fixer's inbox, with the lowest possible ids, all to one object.
func many(t testing.TB, hub *gittest.Repo, n int, oid string) {
	t.Helper()
	var in strings.Builder
	for i := range n {
		fmt.Fprintf(&in, "create %s/fixer/ho_0000000000000000000%07d %s\n", inbox, i, oid)
	}
	hub.GitIn(t, strings.NewReader(in.String()), "update-ref", "--stdin")
	hub.Git(t, "pack-refs", "--all")
}

// An intruder who may push to a hub cannot keep others from their work. Refs that no trusted key signed cost no
// extra connection, and only the first of them are reported one by one.
func TestFlood(t *testing.T) {
	for name, fill := range map[string]func(t testing.TB, w *gittest.Fixture) int{
		"of junk": func(t testing.TB, w *gittest.Fixture) int {
			n := min(times(t, 2_000), 100_000)
			many(t, w.Hub, n, w.Hub.Git(t, "rev-parse", "main"))
			return n
		},
		"of large blobs": func(t testing.TB, w *gittest.Fixture) int {
			n := min(times(t, 500), 100_000)
			many(t, w.Hub, n, put(t, w.Hub, "blob", zeros(24)))
			return n
		},
		"by a stranger": func(t testing.TB, w *gittest.Fixture) int {
			stranger := w.Agent(t, "stranger")
			c := newCrafterOf(t, w.Hub, hubID(t, stranger), "stranger")
			n := min(times(t, 200), 10_000)
			for i := range n {
				c.offer(t, fmt.Sprint("evil ", i), nil)
			}
			c.flush(t)
			return n
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, boss, fixer := gittest.NewPair(t)
			n := fill(t, w)
			boss.Must(t, "emit", "--to", elsewhere, "--goal", "the good one")

			r, trips := traced(t, fixer, "resume")
			require.Zero(t, r.Code, "%s", r)
			assert.Contains(t, r.Stdout, "the good one")
			assert.Equal(t, 2, trips, "inbox and lane, claim")
			loose, err := filepath.Glob(filepath.Join(fixer.Dir, ".git", inbox[:len(inbox)-len("inbox")]+"remotes/*/inbox/fixer/*"))
			require.NoError(t, err)
			assert.LessOrEqual(t, len(loose), 1_000, "each costs each git command a file")
			// The good handoff is the newest, but ids of the same second are in random order, so some of the
			// others may come after it.
			more := regexp.MustCompile(`warning: (\d+) more were refused`).FindStringSubmatch(r.Stderr)
			require.NotNil(t, more, r.Stderr)
			refused, err := strconv.Atoi(more[1])
			require.NoError(t, err)
			assert.LessOrEqual(t, refused, n-20)
			assert.Equal(t, 21, strings.Count(r.Stderr, "warning: "), r.Stderr)
			fixer.Must(t, "ack")
			r, trips = traced(t, fixer, "resume")
			assert.Equal(t, 4, r.Code, "%s", r)
			assert.Equal(t, 1, trips)
		})
	}
}

// Ended handoffs are put back into the inbox. None is taken again, and they are checked in a few connections.
func TestFloodOfReplays(t *testing.T) {
	t.Parallel()
	w, boss, fixer := gittest.NewPair(t)
	const n = 12
	for i := range n {
		boss.Must(t, "emit", "--queue", "--to", elsewhere, "--goal", fmt.Sprint("job ", i))
	}
	boss.Must(t, "sync")
	payloads := strings.Fields(w.Hub.Git(t, "for-each-ref", "--format=%(refname) %(objectname)", inbox))
	for range n {
		fixer.Must(t, "resume", "--ack")
	}
	putBack := func() {
		for i := 0; i < len(payloads); i += 2 {
			w.Hub.Git(t, "update-ref", payloads[i], payloads[i+1])
		}
	}
	putBack()
	r, trips := traced(t, fixer, "resume")
	assert.Equal(t, 3, r.Code, "%s", r)
	assert.LessOrEqual(t, trips, 1+5, "trips for %d", n)
	assert.Empty(t, w.Hub.Git(t, "for-each-ref", inbox))
	putBack()
	boss.Must(t, "emit", "--to", elsewhere, "--goal", "the good one")
	assert.Contains(t, fixer.Must(t, "resume"), "the good one")
	fixer.Must(t, "ack")
	r = fixer.Run(t, "audit")
	assert.Equal(t, 4, r.Code)
	assert.Equal(t, n, strings.Count(r.Stdout, "! unswept origin "), r.Stdout)
}

// A hub hides its log, or its inboxes. An agent that saw the handoff before can end it. An agent that did not
// see it takes nothing that it cannot verify. audit reports that a part of the log is gone.
func TestHidingHub(t *testing.T) {
	for name, found := range map[string]string{"log": "rollback", "inbox": "lost"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, boss, fixer := gittest.NewPair(t)
			other := w.Twin(t, "other", "fixer", "boss")
			seen := boss.Must(t, "emit", "--to", elsewhere, "--goal", "seen")
			fixer.Must(t, "resume")
			id := boss.Must(t, "emit", "--to", elsewhere, "--goal", "unseen")
			for handoff.ID(id).Lane() == handoff.ID(seen).Lane() { // fixer cannot advance a lane that is hidden
				boss.Must(t, "revoke", id)
				id = boss.Must(t, "emit", "--to", elsewhere, "--goal", "unseen")
			}
			w.Hub.Git(t, "config", "uploadpack.hideRefs", "refs/handoffs/"+name)

			other.Refuses(t, 3, []string{"nothing waits"}, "resume")
			assert.Contains(t, []int{3, 5}, other.Run(t, "resume", id).Code)
			r := fixer.Run(t, "ack")
			assert.Zero(t, r.Code, "%s", r)
			r = fixer.Run(t, "audit")
			assert.Equal(t, 4, r.Code, "%s", r)
			assert.Contains(t, r.Stdout, "! "+found+" origin ")

			w.Hub.Git(t, "config", "--unset", "uploadpack.hideRefs")
			assert.Contains(t, other.Must(t, "resume"), "unseen")
			other.Must(t, "ack")
			boss.Must(t, "sync")
			audited(t, boss)
			consistent(t, census(t, w.Hub, boss))
		})
	}
}

// The messages that a hub prints beside its answers are data: githandoff escapes and shortens them.
func TestNoisyHub(t *testing.T) {
	t.Parallel()
	w, boss, fixer := gittest.NewPair(t)
	hook := filepath.Join(w.Hub.Dir, "hooks/update")
	require.NoError(t, os.MkdirAll(filepath.Dir(hook), 0o755))
	noise := "#!/bin/sh\nprintf '\\033]0;pwned\\007\\033[2J\\r\\302\\233fatal: x\\n' >&2\nhead -c 1000000 /dev/zero | tr '\\0' x >&2\n"
	require.NoError(t, os.WriteFile(hook, []byte(noise), 0o755))
	r := weighed(t, boss, "emit", "--to", elsewhere, "--goal", "g")
	require.Zero(t, r.Code, "%s", r)
	calm(t, r)
	assert.Less(t, len(r.Stderr), 1_000, "a push that went well is not talked about")
	fixer.Must(t, "resume")

	require.NoError(t, os.WriteFile(hook, []byte(noise+"exit 1\n"), 0o755))
	for _, p := range []*gittest.Repo{boss, fixer} {
		args := []string{"ack"}
		if p == boss {
			args = []string{"emit", "--to", elsewhere, "--goal", "g"}
		}
		r = weighed(t, p, args...)
		assert.Equal(t, 8, r.Code, "%s", r)
		calm(t, r)
		assert.Contains(t, r.Stderr, "origin refuses refs/handoffs/")
		assert.Less(t, len(r.Stderr), 40<<10)
	}
	require.NoError(t, os.Remove(hook))
	fixer.Must(t, "sync")
	assert.Contains(t, boss.Must(t, "sync"), "acknowledged")
}

// liar is a proxy before a server. It replaces one text by another of the same length in what the server says.
type liar struct {
	addr string // the address of the server
	lie  atomic.Pointer[[2][]byte]
}

func newLiar(t testing.TB, url string) (*liar, string) {
	t.Helper()
	liar := &liar{}
	liar.addr, url = before(t, url, liar.relay)
	return liar, url
}

// tell has the proxy replace the text is by the text as.
func (l *liar) tell(t testing.TB, is, as string) {
	t.Helper()
	require.Len(t, as, len(is))
	l.lie.Store(&[2][]byte{[]byte(is), []byte(as)})
}

func (l *liar) relay(client *net.TCPConn) {
	defer func() { _ = client.Close() }()
	server, err := net.Dial("tcp", l.addr)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		_, _ = io.Copy(server, client)
		_ = server.(*net.TCPConn).CloseWrite()
	}()
	var held []byte
	buf := make([]byte, 64<<10)
	for {
		n, err := server.Read(buf)
		held = append(held, buf[:n]...)
		keep := 0
		if lie := l.lie.Load(); lie != nil {
			held = bytes.ReplaceAll(held, lie[0], lie[1])
			// An end of the data that could be the beginning of the text is held back until more data comes.
			for keep = min(len(lie[0])-1, len(held)); keep > 0 && !bytes.HasSuffix(held, lie[0][:keep]); keep-- {
			}
		}
		if err != nil {
			keep = 0
		}
		if _, werr := client.Write(held[:len(held)-keep]); werr != nil || err != nil {
			return
		}
		held = append([]byte(nil), held[len(held)-keep:]...)
	}
}

// A hub answers with refs that were not asked for, or that cannot exist. Only copies of inboxes and lanes are
// written, and the good handoff can be taken.
func TestLyingHub(t *testing.T) {
	const inFixers = inbox + "/fixer/"
	other := inFixers + "ho_00000000000000000000000002"
	for name, as := range map[string]string{
		"a branch":        "refs/heads/" + strings.Repeat("m", len(other)-len("refs/heads/")),
		"a way out":       inFixers + "../../../../heads/" + strings.Repeat("m", len(other)-len(inFixers)-len("../../../../heads/")),
		"no name of ours": inFixers + strings.Repeat("-", len(other)-len(inFixers)),
		"below another":   "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := gittest.NewFixture(t)
			proxy, url := newLiar(t, gittest.Daemon(t, w.Dir)+"/"+filepath.Base(w.Hub.Dir))
			w.URL = url
			boss, fixer := w.Pair(t)
			good := boss.Must(t, "emit", "--to", elsewhere, "--goal", "the good one")
			is, as := other, as
			resume := []string{"resume"}
			// Since version 2.50 git writes neither of two refs if the name of one is a directory of the other.
			neither := as == "" && !gitexec.OlderThan(gitexec.Version([]byte(w.Hub.Git(t, "version"))), "2.50")
			switch {
			case neither:
				resume = append(resume, good)
				second := boss.Must(t, "emit", "--to", elsewhere, "--goal", "the one that git does not write")
				is, as = inFixers+second+"-1", inFixers+second+"/1"
			case as == "":
				is, as = inFixers+good+"-1", inFixers+good+"/1"
			}
			w.Hub.Git(t, "update-ref", is, "main")
			proxy.tell(t, is, as)
			before := fixer.Git(t, "for-each-ref", "refs/heads", "refs/tags", "refs/remotes")

			r := fixer.Run(t, resume...)
			require.Zero(t, r.Code, "%s", r)
			assert.Contains(t, r.Stdout, "the good one")
			calm(t, r)
			fixer.Must(t, "ack")
			assert.Equal(t, before, fixer.Git(t, "for-each-ref", "refs/heads", "refs/tags", "refs/remotes"))
			if neither { // the hub is read only in part, so sync would exit with 8
				w.Hub.Git(t, "update-ref", "-d", is)
			}
			assert.Contains(t, boss.Must(t, "sync"), "acknowledged "+good)
		})
	}
}

// A lane is filled with entries about other handoffs and with commits that are no entries. The time to read the
// lane grows with its length, but the memory does not. The test logs the time and does not judge it. With
// GITHANDOFF_STRESS=50 the lane has 100,000 entries.
func TestLongLane(t *testing.T) {
	t.Parallel()
	w, boss, fixer := gittest.NewPair(t)
	id := boss.Must(t, "emit", "--to", elsewhere, "--goal", "the good one")
	lane := lanes + "/" + id[len(id)-2:]
	entry := w.Hub.Git(t, "log", "-1", "--format=%B", lane)
	n := min(times(t, 2_000), 100_000)
	var in strings.Builder
	for i := range n {
		message := fmt.Sprint("junk ", i)
		if i%2 == 0 {
			message = strings.ReplaceAll(entry, id, hostileID[:len(id)-2]+id[len(id)-2:])
		}
		fmt.Fprintf(&in, "commit %s\ncommitter m <m@example.com> %d +0000\ndata %d\n%s\n", lane, 1_700_000_000+i, len(message), message)
		if i == 0 {
			fmt.Fprintf(&in, "from %s^0\n", lane)
		}
	}
	w.Hub.GitIn(t, strings.NewReader(in.String()), "fast-import", "--quiet")

	for _, args := range [][]string{{"resume"}, {"progress"}, {"ack"}} {
		r := weighed(t, fixer, args...)
		require.Zero(t, r.Code, "%s", r)
		t.Logf("%-8s with %d entries: %v", args[0], n, r.Took.Round(time.Millisecond))
	}
	r := weighed(t, boss, "sync")
	assert.Contains(t, r.Stdout, "acknowledged "+id, "%s", r)
	r = weighed(t, fixer, "audit", "--quiet")
	assert.Equal(t, 4, r.Code, "nobody is trusted with those entries")
	calm(t, r)
}
