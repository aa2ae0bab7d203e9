package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
)

// BenchmarkGrowth measures what finished handoffs leave for ever at a hub that git packed,
// and what a fresh clone has to do with them the first time. The bytes are those of packs,
// with their indexes, for each handoff.
func BenchmarkGrowth(b *testing.B) {
	for _, n := range []int{1_000, 20_000, 100_000} {
		if n > 20_000 && os.Getenv(bigVar) == "" {
			continue
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w := newFixture(b)
			empty := packed(b, w.Hub)
			fillLives(b, w, w.Hub, w.clone.Git(b, "config", "handoffrepo.origin.id"), n)
			w.Hub.Git(b, "repack", "-adfq")
			atHub := packed(b, w.Hub) - empty
			w.clone.Must(b, append([]string{"emit", "--to", "fixer@origin"}, goal(n)...)...)
			for b.Loop() {
				for _, first := range []string{"sync", "audit", "resume"} {
					clone := w.another(b)
					w.setUp(b, clone, "sender", "fixer")
					before := packed(b, clone)
					start := time.Now()
					clone.Must(b, first)
					b.ReportMetric(time.Since(start).Seconds(), first+"-s")
					if first != "audit" {
						continue
					}
					b.ReportMetric(float64(packed(b, clone)-before)/float64(n), "clone-bytes")
					start = time.Now()
					clone.Must(b, first)
					b.ReportMetric(time.Since(start).Seconds(), "audit-again-s")
					start = time.Now()
					clone.Git(b, "log", "--format=%H %B", "--glob=refs/handoffs/remotes/*/log/*")
					b.ReportMetric(time.Since(start).Seconds(), "git-log-s")
				}
			}
			b.ReportMetric(float64(atHub)/float64(n), "hub-bytes")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// packed returns the size of the objects of a repository on disk, packed or not, in bytes.
func packed(b *testing.B, repo *gittest.Repo) (size int64) {
	b.Helper()
	dir := filepath.Join(repo.Git(b, "rev-parse", "--absolute-git-dir"), "objects")
	require.NoError(b, filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	}))
	return size
}
