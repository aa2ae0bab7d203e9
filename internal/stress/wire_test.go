package stress

import (
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
)

// wire is the network between clones and a hub: a proxy on loopback. A connection consists of turns. A turn is
// everything that one side sends until the other side answers: a request, an advertisement, commands with a
// pack, a report. Cuts are counted in turns, so that a cut is at the same step of the protocol each time.
type wire struct {
	hub  string        // the address of the hub's server
	slow time.Duration // delay before each piece

	mu    sync.Mutex
	cut   cut
	down  bool // whether new connections are refused
	conns int
	turns []turn // turns that were completed
}

// turn is one turn of one connection. Both are counted from 1.
type turn struct {
	conn, n int
	up      bool // whether the clone sends
	bytes   int
}

// cut closes a connection in a turn, after some of its bytes were passed on.
type cut struct {
	turn
	stays bool // whether later connections are refused too
}

func (c cut) String() string {
	who, and := "the hub", "; the next connection works"
	if c.up {
		who = "the clone"
	}
	if c.stays {
		and = ""
	}
	return fmt.Sprintf("connection %d, turn %d: cut after %d bytes of what %s says%s", c.conn, c.n, c.bytes, who, and)
}

// newWire puts a proxy before the server at url, and returns the url of the proxy.
func newWire(t testing.TB, url string) (*wire, string) {
	t.Helper()
	w := &wire{}
	w.hub, url = before(t, url, w.connect)
	return w, url
}

// before puts a proxy before the server at url and gives each connection to connect. It returns the server's
// address and the url of the proxy.
func before(t testing.TB, url string, connect func(*net.TCPConn)) (addr, proxied string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	_, rest, _ := strings.Cut(url, "://")
	addr, _, _ = strings.Cut(rest, "/")
	var links sync.WaitGroup
	links.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			links.Go(func() { connect(c.(*net.TCPConn)) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		links.Wait()
	})
	return addr, strings.Replace(url, addr, l.Addr().String(), 1)
}

// set sets the next cut and resets the counters.
func (w *wire) set(c cut) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut, w.down, w.conns, w.turns = c, false, 0, nil
}

func (w *wire) connect(clone *net.TCPConn) {
	defer func() { _ = clone.Close() }()
	w.mu.Lock()
	w.conns++
	l := &link{wire: w, clone: clone, now: turn{conn: w.conns}}
	down := w.down
	w.mu.Unlock()
	if down {
		return
	}
	hub, err := net.Dial("tcp", w.hub)
	if err != nil {
		return
	}
	defer hub.Close()
	l.hub = hub.(*net.TCPConn)
	var both sync.WaitGroup
	both.Go(func() { l.carry(true) })
	both.Go(func() { l.carry(false) })
	both.Wait()
	l.turned(turn{})
}

// link is one connection.
type link struct {
	wire       *wire
	clone, hub *net.TCPConn

	mu  sync.Mutex
	now turn
}

func (l *link) carry(up bool) {
	from, to := l.hub, l.clone
	if up {
		from, to = to, from
	}
	b := make([]byte, 32<<10)
	for {
		n, err := from.Read(b)
		if n > 0 && !l.pass(up, to, b[:n]) {
			return
		}
		if err != nil {
			_ = to.CloseWrite()
			return
		}
	}
}

// pass passes on a piece, or the part of it that comes before the cut.
func (l *link) pass(up bool, to io.Writer, piece []byte) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now.n == 0 || l.now.up != up {
		l.turned(turn{conn: l.now.conn, n: l.now.n + 1, up: up})
	}
	time.Sleep(l.wire.slow)
	left, here := l.wire.left(l.now)
	if here && len(piece) > left {
		_, _ = to.Write(piece[:left])
		_ = l.clone.Close()
		_ = l.hub.Close()
		return false
	}
	l.now.bytes += len(piece)
	_, err := to.Write(piece)
	return err == nil
}

// turned ends a turn and begins the next one.
func (l *link) turned(next turn) {
	l.wire.mu.Lock()
	defer l.wire.mu.Unlock()
	if l.now.n > 0 {
		l.wire.turns = append(l.wire.turns, l.now)
	}
	l.now = next
}

// left returns how many bytes may still be passed on before the cut. here is false if the cut is not in this
// turn.
func (w *wire) left(now turn) (bytes int, here bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cut.conn != now.conn || w.cut.n != now.n {
		return 0, false
	}
	w.down = w.cut.stays
	return max(w.cut.bytes-now.bytes, 0), true
}

// cuts lists where a connection can break: before each turn and in its middle. A break before an answer means
// that the hub has already done the work.
func (w *wire) cuts() (all []cut) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, n := range w.turns {
		for _, bytes := range []int{0, n.bytes / 2} {
			for _, stays := range []bool{false, true} {
				all = append(all, cut{turn{n.conn, n.n, n.up, bytes}, stays})
			}
		}
	}
	return all
}

// wired returns the transports that a wire can be put into.
func wired(t testing.TB, root string) map[string]func() string {
	return map[string]func() string{
		"daemon": func() string { return gittest.Daemon(t, root) },
		"http":   func() string { return gittest.HTTP(t, root, gittest.HTTPOptions{}) },
	}
}

// A connection breaks at each step of a fetch or a push. The same command again has the usual outcome, whether
// or not the hub had done the work.
func TestCutConnection(t *testing.T) {
	kinds := []string{"daemon", "http"}
	for i, s := range scenes() {
		for k, kind := range kinds {
			if !s.hub() || times(t, 1) == 1 && k != i%len(kinds) {
				continue // one transport per scene is enough for every day
			}
			t.Run(kind+"/"+s.name, func(t *testing.T) {
				t.Parallel()
				w := gittest.NewFixture(t)
				wire, base := newWire(t, wired(t, w.Dir)[kind]())
				w.URL = base + "/hub.git"
				boss, fixer := w.Pair(t)
				p, args := s.set(t, boss, fixer)
				back := keep(t, w)

				wire.set(cut{})
				r := p.Run(t, args...)
				require.Zero(t, r.Code, "%s", r)
				all := wire.cuts()
				s.check(t, w, boss, fixer, r.Stdout)
				t.Logf("%d cuts", len(all))
				for _, c := range sample(all, times(t, 2), 5*i) {
					back()
					wire.set(c)
					first := p.Run(t, args...)
					wire.set(cut{})
					assert.Contains(t, []int{0, 8}, first.Code, "%s", first)
					s.repeat(t, w, first, p, args)
					if t.Failed() {
						t.Fatal(c)
					}
				}
			})
		}
	}
}

// hub reports whether the command of a scene talks to the hub.
func (s scene) hub() bool {
	return strings.Contains(s.name, "hub") || strings.HasPrefix(s.name, "sync")
}

// A slow network delays commands and changes nothing else.
func TestSlowConnection(t *testing.T) {
	t.Parallel()
	w := gittest.NewFixture(t)
	wire, base := newWire(t, gittest.Daemon(t, w.Dir))
	w.URL, wire.slow = base+"/hub.git", 20*time.Millisecond
	boss, fixer := w.Pair(t)
	id := boss.Must(t, "emit", "--to", elsewhere, "--goal", "g")
	fixer.Must(t, "resume")
	fixer.Must(t, "ack")
	assert.Contains(t, boss.Must(t, "sync"), "acknowledged "+id)
	consistent(t, census(t, w.Hub, boss, fixer))
}
