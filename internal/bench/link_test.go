package bench

import (
	"flag"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
)

// rtt is the round trip time of the link of BenchmarkLink. Without it there is no link.
var rtt = flag.Duration("rtt", 0, "round trip time of the link to the hub in BenchmarkLink: 300ms, for instance")

// link is a relay to a server that takes as long as a network. A connection costs a round
// trip before the first byte passes, and each byte takes half of one.
type link struct {
	slow atomic.Bool // only while something is timed
	to   string
}

// newLink makes a link to a server and returns its address.
func newLink(tb testing.TB, to string) (l *link, addr string) {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = listener.Close() })
	l = &link{to: to}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go l.serve(conn)
		}
	}()
	return l, listener.Addr().String()
}

func (l *link) serve(client net.Conn) {
	defer client.Close()
	l.wait(*rtt)
	server, err := net.Dial("tcp", l.to)
	if err != nil {
		return
	}
	defer server.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.carry(server, client)
	}()
	l.carry(client, server)
	<-done
}

func (l *link) wait(d time.Duration) {
	if l.slow.Load() {
		time.Sleep(d)
	}
}

// carry moves bytes one way. Bytes that arrive while others are on their way do not wait for
// them.
func (l *link) carry(to, from net.Conn) {
	type parcel struct {
		due  time.Time
		body []byte
	}
	way := make(chan parcel, 1<<12)
	go func() {
		defer close(way)
		for {
			body := make([]byte, 64<<10)
			n, err := from.Read(body)
			if n > 0 {
				var late time.Duration
				if l.slow.Load() {
					late = *rtt / 2
				}
				way <- parcel{time.Now().Add(late), body[:n]}
			}
			if err != nil {
				return
			}
		}
	}()
	for p := range way {
		time.Sleep(time.Until(p.due))
		if _, err := to.Write(p.body); err != nil {
			break
		}
	}
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	for range way { // whoever reads must not wait for ever
		continue
	}
}

// linkedFixture returns a fixture whose hub is behind a link.
func linkedFixture(b *testing.B, transport string) (*fixture, *link) {
	b.Helper()
	w := &fixture{Fixture: gittest.NewFixture(b), bin: gittest.BuildBinary(b)}
	var base string
	if transport == "ssh" {
		var add []string
		base, add = gittest.SSH(b, w.Dir)
		w.Env = append(w.Env, ownSSH(b, base, strings.TrimPrefix(add[0], "GIT_SSH_COMMAND="))...)
	} else {
		base = gittest.HTTP(b, w.Dir, gittest.HTTPOptions{})
	}
	at, err := url.Parse(base)
	require.NoError(b, err)
	l, addr := newLink(b, at.Host)
	at.Host = addr
	w.URL = at.String() + "/hub.git"
	w.firstClone(b)
	return w, l
}

// ownSSH returns an environment in which "ssh" is a command line, as for a user who set nothing
// for ssh. It knows the server by its own address, whatever link leads there.
func ownSSH(b *testing.B, base, line string) []string {
	b.Helper()
	at, err := url.Parse(base)
	require.NoError(b, err)
	program, err := exec.LookPath("ssh")
	require.NoError(b, err)
	bin := b.TempDir()
	text := fmt.Sprintf("#!/bin/sh\nexec %s -o 'HostKeyAlias=[%s]:%s' \"$@\"\n",
		strings.Replace(line, "ssh", program, 1), at.Hostname(), at.Port())
	require.NoError(b, os.WriteFile(filepath.Join(bin, "ssh"), []byte(text), 0o755))
	run, err := os.MkdirTemp("/tmp", "r") // b.TempDir is too long for a socket
	require.NoError(b, err)
	b.Cleanup(func() { _ = os.RemoveAll(run) })
	return []string{"PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH"), "XDG_RUNTIME_DIR=" + run}
}

// BenchmarkLink compares commands with as many plain trips over a link, with -rtt.
//
//	go test ./internal/bench -run '^$' -bench Link -benchtime 1x -rtt 300ms
func BenchmarkLink(b *testing.B) {
	if *rtt == 0 {
		b.Skip("there is no link without -rtt")
	}
	for _, transport := range []string{"http", "ssh"} {
		b.Run(transport, func(b *testing.B) {
			w, l := linkedFixture(b, transport)
			fixer, other := w.another(b), w.another(b)
			w.setUp(b, fixer, "sender", "fixer")
			for _, row := range []struct {
				name string
				run  func(*testing.B, *linked)
			}{{"resume", linkedResume}, {"resume-known", linkedResumeKnown}, {"ack", linkedAck}, {"sync", linkedSync}} {
				b.Run(row.name, func(b *testing.B) {
					row.run(b, &linked{fixture: w, link: l, fixer: fixer, other: other})
				})
			}
		})
	}
}

// linked is a fixture behind a link, with the clone of the agent fixer and one that uses git
// alone.
type linked struct {
	*fixture
	link         *link
	fixer, other *gittest.Repo
	commit       []string // that the plain push sends
}

// compare times both sides on the link. Their preparation does not use the link.
func (w *linked) compare(b *testing.B, ours, theirs way) {
	b.Helper()
	for _, side := range []*way{&ours, &theirs} {
		before, args := side.before, side.args
		side.env = w.Env
		side.before = func(n int) {
			w.link.slow.Store(false)
			if before != nil {
				before(n)
			}
		}
		side.args = func(n int) []string {
			w.link.slow.Store(true)
			return args(n)
		}
	}
	ours.dir, theirs.dir = w.fixer.Dir, w.other.Dir
	compareFor(b, patience/3, ours, theirs)
	w.link.slow.Store(false)
}

func (w *linked) emit(b *testing.B, n int) {
	b.Helper()
	w.clone.Must(b, append([]string{"emit", "--to", "fixer@origin"}, goal(n)...)...)
}

// plain prepares a fetch of as much as a resume brings, and a push of as much as it sends:
// a payload and an entry, a claim and its entry.
func (w *linked) plain(b *testing.B, n int) {
	b.Helper()
	blob := filepath.Join(b.TempDir(), "blob")
	require.NoError(b, os.WriteFile(blob, []byte(strings.Join(goal(n), "\n")), 0o600))
	ref := plainRef(filepath.Base(b.Name()), n)
	w.Hub.Git(b, "update-ref", ref, w.Hub.Git(b, "commit-tree", "-m", "payload", treeOf(b, w.Hub, w.Hub.Git(b, "hash-object", "-w", blob))))
	w.Hub.Git(b, "update-ref", ref+"-log", orphan(b, w.Hub, n))
	w.commit = []string{orphan(b, w.other, -2*n), orphan(b, w.other, -2*n-1)}
}

func treeOf(b *testing.B, repo *gittest.Repo, blob string) string {
	b.Helper()
	return repo.GitIn(b, strings.NewReader("100644 blob "+blob+"\thandoff.json\n"), "mktree")
}

func (w *linked) fetchAndPush(b *testing.B) way {
	return way{
		before: func(n int) { w.plain(b, n) },
		args: func(n int) []string {
			return []string{
				"sh", "-c", `git fetch --quiet --no-tags origin "$1:$1" "$1-log:$1-log" && git push --quiet --atomic origin "$2:$1-claim" "$3:$1-entry"`,
				"sh", plainRef(filepath.Base(b.Name()), n), w.commit[0], w.commit[1],
			}
		},
	}
}

// A resume that looks first: one fetch and one push.
func linkedResume(b *testing.B, w *linked) {
	w.resumeAfter(b, func(n int) { w.emit(b, n) })
}

// A resume of a handoff that an earlier look showed, beside the same fetch and push.
func linkedResumeKnown(b *testing.B, w *linked) {
	w.resumeAfter(b, func(n int) {
		w.emit(b, n)
		w.fixer.Must(b, "inbox")
	})
}

// resumeAfter compares a resume with a fetch and a push. Each time something is done first
// that makes a handoff wait, and the one before was acknowledged.
func (w *linked) resumeAfter(b *testing.B, offer func(n int)) {
	b.Helper()
	w.compare(b, way{
		before: func(n int) {
			if n > 1 {
				w.fixer.Must(b, "ack")
			}
			offer(n)
		},
		args: always(w.bin, "resume"),
	}, w.fetchAndPush(b))
	w.fixer.Must(b, "ack")
}

// The end of a handoff, beside a push that deletes a ref and sends a commit.
func linkedAck(b *testing.B, w *linked) {
	w.compare(b, way{
		before: func(n int) {
			w.emit(b, n)
			w.fixer.Must(b, "resume")
		},
		args: always(w.bin, "ack"),
	}, way{
		before: func(n int) { w.plain(b, n) },
		args: func(n int) []string {
			ref := plainRef(filepath.Base(b.Name()), n)
			return []string{"git", "push", "--quiet", "--atomic", "origin", ":" + ref, w.commit[0] + ":" + ref + "-end"}
		},
	})
}

// A sync that finds nothing new, beside the shortest question that git can ask.
func linkedSync(b *testing.B, w *linked) {
	w.fixer.Must(b, "sync")
	w.compare(b, way{args: always(w.bin, "sync")}, way{args: always("git", "ls-remote", "origin", "refs/handoffs/log/*")})
}
