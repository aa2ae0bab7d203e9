package bench

import (
	"fmt"
	"testing"

	"githandoff/internal/gittest"
)

// crowd is how many handoffs for other agents the hub holds.
const crowd = 10_000

// crowdedHub is a world whose hub holds a crowd, and a second clone of it in
// which fixer works.
func crowdedHub(b *testing.B) (w *world, fixer *gittest.Repo) {
	b.Helper()
	w = newWorld(b)
	fill(b, w, w.hub, "git+file://"+w.hub.Dir, crowd, func(n int) string { return fmt.Sprintf("other-%d", n%100) })
	fixer = w.another(b)
	w.setUp(b, fixer, "sender", "fixer")
	return w, fixer
}

// BenchmarkResume takes one handoff from a hub that holds 10,000 for others,
// beside a fetch of one ref and a push of one ref.
func BenchmarkResume(b *testing.B) {
	w, fixer := crowdedHub(b)
	other := w.another(b)
	var commit string
	ours := way{
		dir: fixer.Dir, env: w.env,
		before: func(n int) {
			if n > 1 {
				w.tool(b, fixer, "ack")
			}
			w.tool(b, w.clone, append([]string{"emit", "--to", "fixer@origin"}, goal(n)...)...)
		},
		args: always(w.bin, "resume"),
	}
	theirs := way{
		dir: other.Dir, env: w.env,
		before: func(n int) {
			w.hub.Git(b, "update-ref", fmt.Sprintf("refs/plain/%d", n), orphan(b, w.hub, n))
			commit = orphan(b, other, -n)
		},
		args: func(n int) []string {
			ref := fmt.Sprintf("refs/plain/%d", n)
			return []string{"sh", "-c", `git fetch --quiet origin "$1:$1" && git push --quiet origin "$2:$1-taken"`, "sh", ref, commit}
		},
	}
	compare(b, ours, theirs)
}

// BenchmarkAck ends a handoff that is held, beside the deletion of one ref,
// and beside the deletion of one ref and a commit on another in one push: a
// receipt is a commit.
func BenchmarkAck(b *testing.B) {
	w, fixer := crowdedHub(b)
	other := w.another(b)
	ours := way{
		dir: fixer.Dir, env: w.env,
		before: func(n int) {
			w.tool(b, w.clone, append([]string{"emit", "--to", "fixer@origin"}, goal(n)...)...)
			w.tool(b, fixer, "resume")
		},
		args: always(w.bin, "ack"),
	}
	var commit string
	theirs := func(args func(ref string) []string) way {
		return way{
			dir: other.Dir, env: w.env,
			before: func(n int) {
				w.hub.Git(b, "update-ref", fmt.Sprintf("refs/plain/%d", n), orphan(b, w.hub, n))
				commit = orphan(b, other, -n)
			},
			args: func(n int) []string { return args(fmt.Sprintf("refs/plain/%d", n)) },
		}
	}
	b.Run("delete", func(b *testing.B) {
		compare(b, ours, theirs(func(ref string) []string {
			return []string{"git", "push", "--quiet", "origin", "--delete", ref}
		}))
	})
	b.Run("delete-and-log", func(b *testing.B) {
		compare(b, ours, theirs(func(ref string) []string {
			return []string{"git", "push", "--quiet", "--atomic", "origin", ":" + ref, commit + ":" + ref + "-log"}
		}))
	})
}
