package bench

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"githandoff/internal/gittest"
)

// haste is the time limit for one point of a curve.
const haste = 5 * time.Second

// BenchmarkCurve runs the commands that look at handoffs in a repository that is its own home.
// The name gives the number of open handoffs, log entries, commits, and notes on them; there
// are twice as many objects of code. Beside each command runs git alone on as many refs.
func BenchmarkCurve(b *testing.B) {
	for _, n := range sizes() {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			c := newCurve(b, n)
			for _, p := range c.points(b) {
				b.Run(p.name, func(b *testing.B) { compareFor(b, haste, p.ours, p.theirs) })
			}
		})
	}
}

// BenchmarkCrowd runs ack, resume and sync with a hub that holds as many handoffs for other agents. The
// clone of sync has sent all of them, and sync looks after each.
func BenchmarkCrowd(b *testing.B) {
	for _, n := range sizes() {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w, fixer := crowdedHub(b, n)
			b.Run("ack", func(b *testing.B) { compareAck(b, haste, w, fixer) })
			b.Run("resume", func(b *testing.B) { compareResume(b, haste, w, fixer) }) // fixer then holds one
			b.Run("sync", func(b *testing.B) {
				// All of the crowd was sent from here.
				w.clone.Git(b, "fetch", "--quiet", "origin", "refs/handoffs/inbox/*:refs/handoffs/sent/*")
				w.clone.Git(b, "pack-refs", "--all")
				ours := way{dir: w.clone.Dir, env: w.Env, args: always(w.bin, "--as", "sender", "sync")}
				theirs := way{dir: w.clone.Dir, env: w.Env, args: always(
					"git", "fetch", "--quiet", "origin", "refs/handoffs/inbox/*:refs/handoffs/sent/*")}
				compareFor(b, haste, ours, theirs)
			})
		})
	}
}

// curve is a repository with many handoffs, log entries, commits and notes.
type curve struct {
	w    *fixture
	repo *gittest.Repo
}

func newCurve(b *testing.B, n int) *curve {
	b.Helper()
	w := newFixture(b)
	repo := gittest.NewRepo(b, w.Env)
	repo.GitIn(b, bytes.NewReader(history(n)), "fast-import", "--quiet")
	repo.Git(b, "symbolic-ref", "HEAD", "refs/heads/main")
	repo.Git(b, "reset", "--quiet", "--hard")
	w.setUp(b, repo, "sender", "fixer")
	fill(b, w, repo, repo.Git(b, "config", "handoff.repoid"), n, func(int) string { return "fixer" })
	return &curve{w: w, repo: repo}
}

// history returns n commits, every other one of which changes a file, with a note on
// each: input of git fast-import.
func history(n int) []byte {
	var out bytes.Buffer
	const by = "committer Alice <alice@example.com> 1795238153 +0000\n"
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&out, "commit refs/heads/main\nmark :%d\n%sdata 5\nwork\n", i, by)
		if i%2 == 1 {
			text := fmt.Sprintf("line %d\n", i)
			fmt.Fprintf(&out, "M 100644 inline file%d.go\ndata %d\n%s\n", i%100, len(text), text)
		}
	}
	fmt.Fprintf(&out, "commit refs/notes/handoffs\n%sdata 20\nnotes\n\nNotes-Form: 2\n", by)
	for i := 1; i <= n; i++ {
		line := fmt.Sprintf("2026-11-20T22:00:00Z offered ho_01m7y8gjs8tmj60w6w82%06d sender → fixer sha256:%064x\n", i, i)
		fmt.Fprintf(&out, "N inline :%d\ndata %d\n%s\n", i, len(line), line)
	}
	return out.Bytes()
}

type point struct {
	name         string
	ours, theirs way
}

// points returns the commands, each beside the same work with git alone. A later one may depend on
// the state that an earlier one left.
func (c *curve) points(b *testing.B) []point {
	b.Helper()
	newest := c.repo.Must(b, append([]string{"--as", "sender", "emit", "--to", "fixer"}, goal(0)...)...)
	ref := "refs/handoffs/inbox/fixer/" + newest
	const contents = "--format=%(refname) %(contents)"
	return []point{
		{"inbox", c.ours(nil, "inbox"), c.git("for-each-ref", contents, "refs/handoffs/inbox/")},
		{"inbox --all", c.ours(nil, "inbox", "--all"), c.git("for-each-ref", contents, "refs/handoffs/")},
		{"show", c.ours(nil, "show", newest), c.git("log", "--format=%H %B", ref)},
		{"verify", c.ours(nil, "verify", newest), c.git("log", "--format=%H %B", ref)},
		{"status", c.ours(nil, "status"), c.git("for-each-ref", "refs/handoffs/inbox/")},
		{"audit", c.ours(nil, "audit"), c.git("log", "--glob=refs/handoffs/log/*", "--format=%H %B")},
		{"history", c.ours(nil, "history"), c.git("log", "--glob=refs/handoffs/log/*", "--grep=^acknowledged", "--max-count=5")},
		{"gc --dry-run", c.ours(nil, "gc", "--dry-run"), c.git("for-each-ref", contents, "refs/handoffs/")},
		{"sync", c.ours(nil, "sync"), c.git("for-each-ref", contents, "refs/handoffs/")},
		{"doctor", c.ours(nil, "doctor"), c.git("fsck", "--connectivity-only")},
		emitPoint(b, c.w, c.repo, ""),
		{"resume", c.ours(func(int) { c.finish(b) }, "resume"), c.step(b, "resume", moves)},
		{"progress", c.ours(func(int) { c.take(b) }, "progress", "-m", "half"), c.step(b, "progress", moves)},
		{"progress after 100", c.ours(func(n int) { c.takeLong(b, n, 100) }, "progress", "-m", "half"), c.step(b, "progress", moves)},
		{"release", c.ours(func(int) { c.take(b) }, "release"), c.step(b, "release", moves)},
		{"ack", c.ours(func(int) { c.take(b) }, "ack"), c.step(b, "ack", ends)},
		{"fail", c.ours(func(int) { c.take(b) }, "fail", "--reason", "no"), c.step(b, "fail", ends)},
	}
}

func (c *curve) ours(before func(int), args ...string) way {
	return way{dir: c.repo.Dir, env: c.w.Env, before: before, args: always(append([]string{c.w.bin}, args...)...)}
}

func (c *curve) git(args ...string) way {
	return way{dir: c.repo.Dir, env: c.w.Env, args: always(append([]string{"git"}, args...)...)}
}

// finish ends the handoff that fixer holds, or else the oldest one: each round has a handoff of its own, with the
// few entries that it had when it was sent.
func (c *curve) finish(b *testing.B) {
	b.Helper()
	c.repo.Must(b, "resume")
	c.repo.Must(b, "ack")
}

// take lets fixer hold a handoff of its own round.
func (c *curve) take(b *testing.B) {
	b.Helper()
	c.finish(b)
	c.repo.Must(b, "resume")
}

// takeLong is take, once, and lets fixer note its progress some times.
func (c *curve) takeLong(b *testing.B, round, times int) {
	b.Helper()
	if round > 1 {
		return
	}
	c.take(b)
	for range times {
		c.repo.Must(b, "progress")
	}
}

// These scripts take a step with git alone: a commit on top of a ref, and for the last step a commit on
// a log and the end of the ref. Arguments: the ref's commit, the ref.
const (
	moves = `c=$(git commit-tree -m step -p "$1" "$1^{tree}") && git update-ref "$2" "$c" "$1"`
	ends  = `c=$(git commit-tree -m end -p "$1" "$1^{tree}") && ` +
		`printf 'create %s-log %s\ndelete %s %s\n' "$2" "$c" "$2" "$1" | git update-ref --stdin`
)

func (c *curve) step(b *testing.B, name, script string) way {
	var commit string
	return way{
		dir: c.repo.Dir, env: c.w.Env,
		before: func(n int) {
			commit = orphan(b, c.repo, n)
			c.repo.Git(b, "update-ref", plainRef(name, n), commit)
		},
		args: func(n int) []string { return []string{"sh", "-c", script, "sh", commit, plainRef(name, n)} },
	}
}
