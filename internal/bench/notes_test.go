package bench

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	"githandoff/internal/handoff"
	"githandoff/internal/notes"
)

// BenchmarkSyncNotes syncs with a hub whose notes are about 30,000 handoffs that this clone does not
// know, as a fresh clone finds them, beside a fetch of these notes and a log that reads them.
func BenchmarkSyncNotes(b *testing.B) {
	const many = 30_000
	w := newFixture(b)
	var in strings.Builder
	for n := range many {
		fmt.Fprintf(&in, "commit refs/heads/noted\nmark :%d\ncommitter A <a@example.com> %d +0000\ndata 1\nx\n", n+1, 1_700_000_000+n)
	}
	fmt.Fprintf(&in, "commit refs/notes/handoffs\ncommitter A <a@example.com> 1700000000 +0000\ndata 1\nx\n")
	for n := range many {
		id := handoff.ID(fmt.Sprintf("ho_01m8%022d", n))
		line := notes.Line(time.Unix(1_700_000_000, 0), "offered", id, "boss", "fixer", fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(id)))) + "\n"
		fmt.Fprintf(&in, "N inline :%d\ndata %d\n%s\n", n+1, len(line), line)
	}
	w.Hub.GitIn(b, strings.NewReader(in.String()), "fast-import", "--quiet")
	fixer, other := w.another(b), w.another(b)
	w.setUp(b, fixer, "fixer")
	fixer.Must(b, "sync")
	compare(b,
		way{dir: fixer.Dir, env: w.Env, args: always(w.bin, "sync")},
		way{dir: other.Dir, env: w.Env, args: always("sh", "-c",
			"git fetch --quiet origin +refs/notes/handoffs:refs/notes/theirs && git log --notes=theirs --format=%N origin/noted >/dev/null")})
}
