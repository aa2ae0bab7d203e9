package bench

import (
	"fmt"
	"testing"
	"time"

	"githandoff/internal/crossrepo"
	"githandoff/internal/gittest"
)

// crowd is how many handoffs for other agents the hub holds.
const crowd = 10_000

// crowdedHub returns a fixture whose hub holds a crowd of handoffs for other agents, and a second
// clone of it in which fixer works.
func crowdedHub(b *testing.B, crowd int) (w *fixture, fixer *gittest.Repo) {
	b.Helper()
	w = newFixture(b)
	fill(b, w, w.Hub, crossrepo.FileID(w.Hub.Dir), crowd, func(n int) string { return fmt.Sprintf("other-%d", n%100) })
	fixer = w.another(b)
	w.setUp(b, fixer, "sender", "fixer")
	return w, fixer
}

// BenchmarkResume takes one handoff from a hub that holds 10,000 for others,
// beside a fetch of one ref and a push of one ref.
func BenchmarkResume(b *testing.B) {
	w, fixer := crowdedHub(b, crowd)
	compareResume(b, patience, w, fixer)
}

func compareResume(b *testing.B, patience time.Duration, w *fixture, fixer *gittest.Repo) {
	b.Helper()
	other := w.another(b)
	var commit string
	ours := way{
		dir: fixer.Dir, env: w.Env,
		before: func(n int) {
			if n > 1 {
				fixer.Must(b, "ack")
			}
			w.clone.Must(b, append([]string{"emit", "--to", "fixer@origin"}, goal(n)...)...)
		},
		args: always(w.bin, "resume"),
	}
	theirs := way{
		dir: other.Dir, env: w.Env,
		before: func(n int) {
			w.Hub.Git(b, "update-ref", plainRef("taken", n), orphan(b, w.Hub, n))
			commit = orphan(b, other, -n)
		},
		args: func(n int) []string {
			ref := plainRef("taken", n)
			return []string{"sh", "-c", `git fetch --quiet origin "$1:$1" && git push --quiet origin "$2:$1-taken"`, "sh", ref, commit}
		},
	}
	compareFor(b, patience, ours, theirs)
}

// BenchmarkAck ends a handoff that is held, beside the deletion of one ref,
// and beside the deletion of one ref and a commit on another in one push: a
// receipt is a commit.
func BenchmarkAck(b *testing.B) {
	w, fixer := crowdedHub(b, crowd)
	compareAck(b, patience, w, fixer)
}

func compareAck(b *testing.B, patience time.Duration, w *fixture, fixer *gittest.Repo) {
	b.Helper()
	other := w.another(b)
	ours := way{
		dir: fixer.Dir, env: w.Env,
		before: func(n int) {
			w.clone.Must(b, append([]string{"emit", "--to", "fixer@origin"}, goal(n)...)...)
			fixer.Must(b, "resume")
		},
		args: always(w.bin, "ack"),
	}
	for _, tt := range []struct {
		name string
		push func(ref, commit string) []string
	}{
		{"delete", func(ref, _ string) []string { return []string{"--delete", ref} }},
		{"delete-and-log", func(ref, commit string) []string { return []string{":" + ref, commit + ":" + ref + "-log"} }},
	} {
		b.Run(tt.name, func(b *testing.B) {
			var commit string
			compareFor(b, patience, ours, way{
				dir: other.Dir, env: w.Env,
				before: func(n int) {
					w.Hub.Git(b, "update-ref", plainRef(tt.name, n), orphan(b, w.Hub, n))
					commit = orphan(b, other, -n)
				},
				args: func(n int) []string {
					return append([]string{"git", "push", "--quiet", "--atomic", "origin"}, tt.push(plainRef(tt.name, n), commit)...)
				},
			})
		})
	}
}

// plainRef returns the ref for one run of a benchmark.
func plainRef(name string, n int) string { return fmt.Sprintf("refs/plain/%s/%d", name, n) }
