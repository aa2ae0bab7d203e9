package hooks

import (
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// BenchmarkPostCommitScript compares a commit that hands nothing over with the same commit under an empty hook,
// as the ratio of the medians. A ratio of more than 1.3 fails, once there are enough commits to tell.
func BenchmarkPostCommitScript(b *testing.B) {
	r := newRepo(b)
	empty := filepath.Join(r.root, "empty")
	write(b, filepath.Join(empty, "post-commit"), "#!/bin/sh\n", 0o755)
	ours := filepath.Join(r.root, "ours")
	if _, err := Install(ours, []string{"post-commit"}, r.exe); err != nil {
		b.Fatal(err)
	}
	commit := func(hooks string) time.Duration {
		start := time.Now()
		r.git("-c", "core.hooksPath="+hooks, "-c", "gc.auto=0", "commit", "-q", "--allow-empty",
			"-m", "Mend the parser", "-m", "It took the last duplicate of a member for the first.\nNow it refuses them.",
			"-m", "Task: LIN-423")
		return time.Since(start)
	}
	commit(empty)
	commit(ours)
	var with, without []time.Duration
	for b.Loop() {
		// The two alternate, so that a slow moment of the machine affects both.
		without = append(without, commit(empty))
		with = append(with, commit(ours))
	}
	if got := r.recorded(); got != "" {
		b.Fatalf("githandoff was started: %s", got)
	}
	ratio := float64(median(with)) / float64(median(without))
	b.ReportMetric(ratio, "ratio")
	if len(with) >= 50 && ratio > 1.3 {
		b.Errorf("a commit takes %.2f times as long as with an empty hook", ratio)
	}
}

func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}
