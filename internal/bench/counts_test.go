package bench

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
)

var update = flag.Bool("update", false, "write the counts down as they are")

// onlyCounts asks the benchmarks to run each side once and to count, not to time.
func onlyCounts() bool { return os.Getenv(countsOnly) != "" }

const countsOnly = "GITHANDOFF_BENCH_COUNTS"

// counted are the benchmarks whose processes and connections are written down: the
// commands that agents run all day.
const counted = "^Benchmark(Commit|Emit|Check|Resume|Ack)$"

// row is one line of the output of "go test -bench", with its counts. It leaves out the git
// processes that git itself starts: their number depends on the version of git.
var row = regexp.MustCompile(`(?m)^Benchmark(\S+?)(?:-\d+)?\s.*\s(\d+)(?:\.0+)? ours-direct\s.*\s(\d+)(?:\.0+)? ours-trips\s+(\d+)(?:\.0+)? theirs-direct\s.*\s(\d+)(?:\.0+)? theirs-trips`)

// A command starts no more git processes, and connects no more often, than is written
// down. The counts do not depend on the machine, so that a change which costs one more
// is seen where it is made; time is left to "make bench".
func TestCounts(t *testing.T) {
	gittest.Need(t, "gpg")
	cmd := exec.Command(os.Args[0], "-test.run", "^$", "-test.bench", counted, "-test.benchtime", "1x")
	cmd.Env = append(os.Environ(), countsOnly+"=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	var lines []string
	for _, m := range row.FindAllStringSubmatch(string(out), -1) {
		lines = append(lines, fmt.Sprintf("%s: %s git processes, %s connections; git alone %s and %s\n", m[1], m[2], m[3], m[4], m[5]))
	}
	require.NotEmpty(t, lines, "%s", out)
	slices.Sort(lines)
	got, golden := strings.Join(lines, ""), filepath.Join("testdata", "counts.txt")
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), got, "go test ./internal/bench -run TestCounts -update writes them down")
}
