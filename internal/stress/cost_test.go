package stress

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// processorTime returns the processor time that all processes below this one have used so far: those that ended
// and, on Linux, those that run, such as a server and its children. Other work on the machine changes it less
// than it changes the elapsed time.
func processorTime(t testing.TB) time.Duration {
	t.Helper()
	var ended syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_CHILDREN, &ended))
	sum := time.Duration(ended.Utime.Nano() + ended.Stime.Nano())
	if runtime.GOOS != "linux" {
		return sum
	}
	for _, p := range below(t, os.Getpid()) {
		sum += p
	}
	return sum
}

// below returns the processor times of the live processes below root, each with its ended children.
func below(t testing.TB, root int) map[int]time.Duration {
	t.Helper()
	const tick = time.Second / 100 // USER_HZ, the same on each Linux
	parent, used := map[int]int{}, map[int]time.Duration{}
	entries, err := os.ReadDir("/proc")
	require.NoError(t, err)
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue // the process has ended
		}
		// The program's name is in brackets and may hold any character, so the fields are counted from the last
		// bracket.
		field := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		number := func(i int) int {
			n, err := strconv.Atoi(field[i])
			require.NoError(t, err)
			return n
		}
		parent[pid] = number(1)
		used[pid] = time.Duration(number(11)+number(12)+number(13)+number(14)) * tick
	}
	for pid := range used {
		at := pid
		for at != root && at != 0 {
			at = parent[at]
		}
		if at != root || pid == root {
			delete(used, pid)
		}
	}
	return used
}
