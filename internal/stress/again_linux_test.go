package stress

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// hand makes the choices of one step. It draws them from rapid, or repeats the recorded ones when the step is
// taken again.
type hand struct {
	rapid   *rapid.T // nil when the step is taken again
	number  int      // the number of the step in the run in which it was drawn
	name    string
	drawn   map[string]int
	skipped bool
}

// n returns a number below k. When a step is taken again, a choice that was not recorded is k-1.
func (h *hand) n(label string, k int) int {
	if h.rapid != nil {
		h.drawn[label] = rapid.IntRange(0, k-1).Draw(h.rapid, label)
	} else if _, ok := h.drawn[label]; !ok {
		return k - 1
	}
	return min(h.drawn[label], k-1)
}

func pick[T any](h *hand, label string, of ...T) T { return of[h.n(label, len(of))] }

// skip ends a step that cannot be taken now. The step must not have changed anything yet.
func (h *hand) skip(why string) {
	h.skipped = true
	if h.rapid != nil {
		h.rapid.Skip(why)
	}
	panic(h)
}

// take takes one step. A skipped step is dropped from the list of steps.
func (m *machine) take(h *hand) {
	m.steps, m.births = append(m.steps, h), 0
	defer func() {
		if h.skipped {
			m.steps = m.steps[:len(m.steps)-1]
			if h.rapid == nil {
				_ = recover()
			}
		}
	}()
	held := m.claims()
	actions()[h.name](m, h)
	m.noteLost(held)
}

// claimOf is a claim of a place on a handoff.
type claimOf struct {
	place string
	job   *job
	claim int
}

func (m *machine) claims() (all []claimOf) {
	for _, j := range m.jobs {
		if j.holder != "" {
			all = append(all, claimOf{j.holder, j, j.claim})
		}
	}
	return all
}

// noteLost notes the places whose claims others ended in a step. The next command of such a place says so, and a sync
// then exits 5.
func (m *machine) noteLost(held []claimOf) {
	for _, c := range held {
		switch j := c.job; {
		case j.holder == c.place && j.claim == c.claim, j.phase() == "open", j.by == c.place:
		default:
			m.lost[c.place] = true
		}
	}
}

// born returns the number of a new handoff. It depends only on the step that made the handoff, so a later step
// still finds the same handoff when earlier steps are left out.
func (m *machine) born() int {
	m.births++
	return m.steps[len(m.steps)-1].number<<4 + m.births
}

// judge passes failures on to rapid, or ends a run that is made again. It keeps the first message.
type judge struct {
	testing.TB // of the whole test, for directories and cleanups
	rapid      *rapid.T
	said       string
	failed     bool
}

func (j *judge) Errorf(format string, args ...any) {
	j.Fail()
	if j.said == "" {
		j.said = strings.TrimSpace(fmt.Sprintf(format, args...))
	}
	j.Logf(format, args...)
}

func (j *judge) Fail() {
	j.failed = true
	if j.rapid != nil {
		j.rapid.Fail()
	}
}

func (j *judge) FailNow() {
	j.Fail()
	if j.rapid != nil {
		j.rapid.FailNow()
	}
	panic(j)
}

func (j *judge) Logf(format string, args ...any) {
	if j.rapid != nil {
		j.rapid.Logf(format, args...)
	}
}

func (j *judge) Fatalf(format string, args ...any) {
	j.Errorf(format, args...)
	j.FailNow()
}

func (j *judge) Error(args ...any) { j.Errorf("%s", fmt.Sprint(args...)) }
func (j *judge) Fatal(args ...any) { j.Fatalf("%s", fmt.Sprint(args...)) }
func (j *judge) Log(args ...any)   { j.Logf("%s", fmt.Sprint(args...)) }
func (j *judge) Failed() bool      { return j.failed }

// where names the check that failed, by the last two lines of the trace.
func (j *judge) where() string {
	trace, _, _ := strings.Cut(j.said, "Error:")
	lines := strings.Fields(strings.TrimPrefix(trace, "Error Trace:"))
	return strings.Join(lines[:min(2, len(lines))], " ")
}

// again takes the steps in a new machine. It returns the machine if the run failed, and nil otherwise.
func again(t *testing.T, seed byte, steps []*hand) (failed *machine) {
	j := &judge{TB: t}
	var m *machine
	defer func() {
		if r := recover(); r == j {
			failed = m
		} else if r != nil {
			panic(r)
		}
	}()
	m = newMachine(j, seed)
	for _, h := range steps {
		m.take(&hand{number: h.number, name: h.name, drawn: h.drawn})
		m.Check()
	}
	m.wind()
	if j.failed {
		return m
	}
	return nil
}

// failure is the shortest known run that fails at the same check as the first one.
type failure struct {
	*machine
	path string // where the script of the run is written
}

// patience limits how long shorten looks for a shorter run.
const patience = 5 * time.Minute

// shorten leaves out steps as long as the run still fails without them. rapid would leave out one step at a
// time, which is too slow, since a run takes seconds. With -rapid.nofailfile shorten does nothing.
func (f *failure) shorten(t *testing.T) {
	if f.machine == nil || flag.Lookup("rapid.nofailfile").Value.String() == "true" {
		return
	}
	end := time.Now().Add(patience)
	if last, ok := t.Deadline(); ok && last.Add(-time.Minute).Before(end) {
		end = last.Add(-time.Minute)
	}
	t.Logf("%s", f.t.said)
	f.write(t)
	runs := 0
	for size := (len(f.steps) + 1) / 2; size > 0; size /= 2 {
		for i := 0; i < len(f.steps) && time.Now().Before(end); runs++ {
			m := again(t, f.seed, slices.Delete(slices.Clone(f.steps), i, min(i+size, len(f.steps))))
			if m == nil || m.t.where() != f.t.where() {
				i += size
				continue
			}
			f.machine = m
			f.write(t)
		}
	}
	t.Logf("%d steps are left after %d runs: %s, for internal/cli/testdata/script\n%s", len(f.steps), runs, f.path, f.text())
}

func (f *failure) write(t *testing.T) {
	require.NoError(t, os.MkdirAll(filepath.Dir(f.path), 0o755))
	require.NoError(t, os.WriteFile(f.path, []byte(f.text()), 0o644))
}

func (f *failure) text() string { return f.script.text(f.t.said, f.Dir) }
