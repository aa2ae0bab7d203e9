package stress

import (
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"githandoff/internal/gittest"

	"github.com/stretchr/testify/assert"
)

// A git at the hub cannot check whether the history of one ref is complete, for example because a "git rev-list"
// does not start. It then rejects that ref and moves the other one, for --atomic does not cover this case. The
// step must still be completed, whichever of the two refs is rejected, whether githandoff reads the answer or
// dies before, and whether or not a guard judges the later pushes.
func TestHubDoubtsOneRef(t *testing.T) {
	for i, s := range scenes() {
		s.want[offeredAgain] = 1 // a hub that has the log of an offer without the handoff gets the offer again
		for k, name := range []string{
			"first", "second", "first, and dies", "second, and dies",
			"first, guarded", "second, guarded", "first, guarded, and dies", "second, guarded, and dies",
		} {
			if !s.hub() || times(t, 1) == 1 && k != i%8 && !strings.Contains(s.name, "snapshot") {
				continue // one case per scene is enough for every day; snapshots have one more ref and run all
			}
			t.Run(s.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				w, boss, fixer := gittest.NewPair(t)
				if strings.Contains(name, "guarded") {
					w.Hub.Must(t, "trust", "add", "boss")
					w.Hub.Must(t, "trust", "add", "fixer")
					w.Hub.Must(t, "hook", "install", "--server", "--url", w.URL)
				}
				p, args := s.set(t, boss, fixer)
				d := &doubt{hub: w.Hub.Dir, ask: 2, dies: strings.HasSuffix(name, "dies")}
				if strings.HasPrefix(name, "second") {
					d.ask++
				}
				first, _ := trapped(t, p.Command(t, args...), d.spring)
				assert.GreaterOrEqual(t, d.asked, 2)
				assert.Contains(t, []int{0, 8, -1}, first.Code, "%s", first)
				removeDeadLocks(t, w, boss, fixer)
				if first.Code == 0 && slices.Contains(args, "--snapshot") {
					// A later sync would give the hub the snapshot back.
					assert.NotEmpty(t, w.Hub.Git(t, "for-each-ref", "refs/handoffs/work"), "%s", first)
				}
				s.repeat(t, w, first, p, args)
			})
		}
	}
}

// doubt makes the hub unable to check the history of one ref.
type doubt struct {
	hub   string
	ask   int // the other rev-list that fails: the first asks about all refs, each later one about one ref
	dies  bool
	asked int
	moved bool // a ref has moved although the other was rejected
}

func (d *doubt) spring(_ int, p point) verdict {
	if p.call == "exec" && p.command == "rev-list" && p.dir == d.hub {
		if d.asked++; d.asked == 1 || d.asked == d.ask {
			return verdict{err: syscall.EAGAIN}
		}
	}
	if d.dies && d.moved && p.by == git && p.call == "exit" {
		d.dies = false
		return verdict{dies: tool}
	}
	d.moved = d.moved || d.asked > 1 && (p.call == "rename" || p.call == "unlink") &&
		strings.HasPrefix(filepath.Clean(p.path), filepath.Join(d.hub, "refs/handoffs")) && !strings.HasSuffix(p.path, ".lock")
	return verdict{}
}
