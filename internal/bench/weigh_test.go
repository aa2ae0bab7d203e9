package bench

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// weighVar makes the test program a small parent for one command: Linux counts
// the memory of whoever starts a process as that process's own, and the program
// that filled a repository is a large one.
const weighVar = "GITHANDOFF_BENCH_WEIGH"

func TestMain(m *testing.M) {
	if os.Getenv(weighVar) == "" {
		os.Exit(m.Run())
	}
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		panic("no rusage on this system")
	}
	fmt.Println(usage.Maxrss)
}

// weigh reports the largest resident set, in one more run, of a command or of a
// process that it started.
func weigh(b *testing.B, side string, w way, n int) {
	b.Helper()
	cmd := exec.Command(os.Args[0], w.args(n)...)
	cmd.Dir, cmd.Env, cmd.Stderr = w.dir, append(slices.Clip(w.env), weighVar+"=1"), os.Stderr
	out, err := cmd.Output()
	require.NoError(b, err)
	kib, err := strconv.Atoi(strings.TrimSpace(string(out)))
	require.NoError(b, err)
	b.ReportMetric(float64(kib)/1024, side+"-MiB") // Linux counts in KiB
}
