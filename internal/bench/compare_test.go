package bench

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// compare takes the medians of at least few pairs of runs. It makes up to many pairs while they take no
// longer than patience.
const (
	many     = 25
	few      = 5
	patience = time.Minute
)

// way is one side of a comparison.
type way struct {
	dir string
	env []string
	// before prepares the run of the given number. Both sides of one number are
	// prepared before either is timed. May be nil.
	before func(n int)
	args   func(n int) []string
}

// always returns the arguments of a way whose command is the same each time.
func always(args ...string) func(int) []string {
	return func(int) []string { return args }
}

// run runs the command of number n to its end. extra is added to its
// environment.
func (w way) run(b *testing.B, n int, extra ...string) (time.Duration, *os.ProcessState) {
	b.Helper()
	args := w.args(n)
	var stderr bytes.Buffer
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Env, cmd.Stderr = w.dir, append(slices.Clip(w.env), extra...), &stderr
	start := time.Now()
	err := cmd.Run()
	took := time.Since(start)
	if err != nil {
		b.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, &stderr)
	}
	return took, cmd.ProcessState
}

// compare reports how ours does beside theirs.
func compare(b *testing.B, ours, theirs way) {
	b.Helper()
	compareFor(b, patience, ours, theirs)
}

// compareFor is like compare, with another limit for the time of a comparison.
func compareFor(b *testing.B, patience time.Duration, ours, theirs way) {
	b.Helper()
	n := 0
	prepare := func() {
		n++
		for _, w := range []way{ours, theirs} {
			if w.before != nil {
				w.before(n)
			}
		}
	}
	prepare() // fills caches, and starts a gpg-agent
	ours.run(b, n)
	theirs.run(b, n)
	var a, z []time.Duration
	pair := func() {
		prepare()
		// The side that runs second finds warm caches.
		if n%2 == 0 {
			took, _ := theirs.run(b, n)
			z = append(z, took)
		}
		took, _ := ours.run(b, n)
		a = append(a, took)
		if n%2 == 1 {
			took, _ := theirs.run(b, n)
			z = append(z, took)
		}
	}
	for b.Loop() {
		pair()
	}
	if onlyCounts() {
		prepare()
		count(b, "ours", ours, n)
		count(b, "theirs", theirs, n)
		return
	}
	for start := time.Now(); len(a) < few || len(a) < many && time.Since(start) < patience; {
		pair()
	}
	prepare()
	count(b, "ours", ours, n)
	count(b, "theirs", theirs, n)
	prepare()
	weigh(b, "ours", ours, n)
	weigh(b, "theirs", theirs, n)
	b.ReportMetric(0, "ns/op") // of a pair with its preparation: of no interest
	b.ReportMetric(ms(median(a)), "ours-ms")
	b.ReportMetric(ms(median(z)), "theirs-ms")
	b.ReportMetric(float64(median(a))/float64(median(z)), "ratio")
	b.ReportMetric(float64(slices.Min(a))/float64(slices.Min(z)), "fastest-ratio")
}

func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// count reports the git processes of one run as git itself traces them
// (api-trace2), and which of them spoke to a hub.
func count(b *testing.B, side string, w way, n int) {
	b.Helper()
	trace := b.TempDir()
	w.run(b, n, "GIT_TRACE2_EVENT="+trace)
	started, direct, trips := traced(b, trace)
	b.ReportMetric(float64(started), side+"-git")
	b.ReportMetric(float64(direct), side+"-direct")
	b.ReportMetric(float64(trips), side+"-trips")
}

// traced counts what git wrote to a directory of traces, one file for each process: the git
// processes, those of them that no other git started, and those of them that spoke to a hub. The
// last line of a file may be incomplete: a process that has given all its answers is not waited
// for, and one that is no longer needed is killed.
func traced(tb testing.TB, dir string) (started, direct, trips int) {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(tb, err)
	for _, file := range files {
		log, err := os.ReadFile(file)
		require.NoError(tb, err)
		for line := range bytes.Lines(log) {
			if !bytes.HasSuffix(line, []byte("\n")) {
				break
			}
			var event struct{ Event, Name, Sid string }
			require.NoError(tb, json.Unmarshal(line, &event), "%s: %q", file, line)
			switch {
			case event.Event == "start":
				if started++; !strings.Contains(event.Sid, "/") {
					direct++
				}
			// A session id with a slash is that of a child of another git.
			case event.Event == "cmd_name" && !strings.Contains(event.Sid, "/"):
				if slices.Contains([]string{"fetch", "push", "ls-remote"}, event.Name) {
					trips++
				}
			}
		}
	}
	return started, direct, trips
}
