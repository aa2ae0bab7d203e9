package bench

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"githandoff/internal/enginetest"
	"githandoff/internal/gittest"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
)

// batch bounds the handoffs of one pack, and so the memory that fill takes.
const batch = 10_000

// fill offers n handoffs of agent sender at a home, signed as emit does it, and
// leaves them as git's own maintenance does: one pack, packed refs, and a
// commit-graph, without which each push costs git three times as much.
func fill(b *testing.B, w *fixture, repo *gittest.Repo, home string, n int, to func(n int) string) {
	b.Helper()
	fillLane(b, w, repo, home, n, to, "")
}

// fillLane is like fill with ids that all belong to one lane. If lane is "", the ids stay as they are.
func fillLane(b *testing.B, w *fixture, repo *gittest.Repo, home string, n int, to func(n int) string, lane string) {
	b.Helper()
	f := newFiller(b, w, home, lane)
	for i := range n {
		f.offer(b, i, to(i))
		if (i+1)%batch == 0 || i+1 == n {
			f.flush(b, repo)
		}
	}
	f.pack(b, repo)
	repo.Git(b, "-c", "pack.window=0", "gc", "--quiet") // to look for deltas takes half a minute at 20,000
}

func newFiller(b *testing.B, w *fixture, home, lane string) *filler {
	b.Helper()
	signer, err := sign.NewKeystore(func(name string) string { return gittest.Getenv(w.Env, name) }).Load("sender")
	require.NoError(b, err)
	trust, err := enginetest.NewTrust(enginetest.Entry(signer, "sender", sign.RoleSender))
	require.NoError(b, err)
	return &filler{
		lane: lane, home: &lifecycle.LocalHome{RepoID: home}, lanes: map[string]string{},
		engine: lifecycle.New(lifecycle.Setup{Repo: &refs.Repo{Format: gittest.Objects()}, Signer: signer, Trust: trust, Actor: "sender", Now: time.Now, Random: rand.Reader}),
	}
}

// filler makes payload commits and lane entries in memory.
type filler struct {
	lane    string // two characters; "": any
	home    lifecycle.Home
	engine  *lifecycle.Engine
	objects []*refs.Object
	last    record.Record     // of the offer that was made last
	refs    []string          // lines of packed-refs
	lanes   map[string]string // ref to tip
}

func (f *filler) offer(b *testing.B, n int, to string) {
	b.Helper()
	now := time.Now().UTC().Truncate(time.Second)
	id, err := handoff.NewID(now, rand.Reader)
	require.NoError(b, err)
	id = id[:len(id)-len(f.lane)] + handoff.ID(f.lane)
	env := &handoff.Envelope{
		Schema: handoff.Schema, ID: id, Salt: strings.Repeat("0", 32), Status: handoff.StatusComplete, Task: fmt.Sprintf("LIN-%d", n),
		CreatedAt: handoff.FormatTime(now), ExpiresAt: handoff.FormatTime(now.Add(lifecycle.DefaultTTL)),
		Source: handoff.Source{Agent: "sender"}, Target: handoff.Target{Agent: &to},
		Goal:    "Sessions must survive a restart of the server",
		Summary: "The store is opened read-only after a crash; see session.Open. Two tests show it.",
	}
	p, err := f.engine.Author.Prepare(context.Background(), f.home, env, "")
	require.NoError(b, err)
	f.objects = append(f.objects, p.Objects...)
	f.refs = append(f.refs, p.Commit.OID+" "+refs.LocalNamespace.Inbox(to, id))

	f.last = p.Record
	f.last.Payload = p.Commit.OID
	f.enter(b, f.engine.Author.Signer, &f.last)
}

// flush gives the repository the objects that were made since the last time.
func (f *filler) flush(b *testing.B, repo *gittest.Repo) {
	b.Helper()
	repo.GitIn(b, bytes.NewReader(encodePack(b, append(f.objects, refs.NewObject(gittest.Objects(), "tree", nil)))), "index-pack", "--stdin")
	f.objects = nil
}

// pack adds the refs to packed-refs, a file of sorted lines: to have git make a
// file of each first would take it minutes.
func (f *filler) pack(b *testing.B, repo *gittest.Repo) {
	b.Helper()
	for lane, tip := range f.lanes {
		f.refs = append(f.refs, tip+" "+lane)
	}
	repo.Git(b, "pack-refs", "--all")
	path := filepath.Join(repo.Git(b, "rev-parse", "--absolute-git-dir"), "packed-refs")
	old, err := os.ReadFile(path)
	require.NoError(b, err)
	header, rest, _ := strings.Cut(string(old), "\n")
	lines := append(strings.FieldsFunc(rest, func(c rune) bool { return c == '\n' }), f.refs...)
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[strings.Index(a, " "):], b[strings.Index(b, " "):]) })
	require.NoError(b, os.WriteFile(path, []byte(header+"\n"+strings.Join(lines, "\n")+"\n"), 0o644))
}

// encodePack writes a pack of whole objects (gitformat-pack, version 2).
func encodePack(b *testing.B, objects []*refs.Object) []byte {
	b.Helper()
	kinds := map[string]byte{"commit": 1, "tree": 2, "blob": 3}
	var out bytes.Buffer
	out.WriteString("PACK")
	require.NoError(b, binary.Write(&out, binary.BigEndian, []uint32{2, uint32(len(objects))}))
	z := zlib.NewWriter(&out)
	for _, o := range objects {
		size := len(o.Body)
		head := kinds[o.Type]<<4 | byte(size&0x0f)
		for size >>= 4; size > 0; size >>= 7 {
			out.WriteByte(head | 0x80)
			head = byte(size & 0x7f)
		}
		out.WriteByte(head)
		z.Reset(&out)
		_, err := z.Write(o.Body)
		require.NoError(b, err)
		require.NoError(b, z.Close())
	}
	out.Write(gittest.Objects().Sum(out.Bytes())) // the trailer that the format asks for
	return out.Bytes()
}
