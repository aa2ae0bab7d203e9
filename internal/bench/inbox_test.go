package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
)

// bigVar adds the repositories with 100,000 handoffs, which take minutes to
// make.
const bigVar = "GITHANDOFF_BENCH_BIG"

// sizes returns the numbers of handoffs that curves are drawn over.
func sizes() []int {
	if os.Getenv(bigVar) != "" {
		return []int{1_000, 10_000, 100_000}
	}
	return []int{1_000, 10_000}
}

// full returns a repository of its own with n open handoffs in the inbox of fixer.
func full(b *testing.B, n int) (w *fixture, repo *gittest.Repo) {
	b.Helper()
	w = newFixture(b)
	repo = gittest.NewRepo(b, w.Env)
	w.setUp(b, repo, "sender", "fixer")
	fill(b, w, repo, repo.Git(b, "config", "handoff.repoid"), n, func(int) string { return "fixer" })
	return w, repo
}

// BenchmarkInbox lists all handoffs that are open, beside git's own listing of
// the same refs with their messages.
func BenchmarkInbox(b *testing.B) {
	for _, n := range sizes() {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w, repo := full(b, n)
			ours := way{dir: repo.Dir, env: w.Env, args: always(w.bin, "inbox")}
			theirs := way{dir: repo.Dir, env: w.Env, args: always(
				"git", "for-each-ref", "--format=%(refname) %(contents)", "refs/handoffs/inbox/")}
			compare(b, ours, theirs)
		})
	}
}

// BenchmarkAudit lists every entry of every lane after an earlier audit checked them, beside git's
// listing of them.
func BenchmarkAudit(b *testing.B) {
	for _, n := range sizes() {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w, repo := full(b, n)
			ours := way{dir: repo.Dir, env: w.Env, args: always(w.bin, "audit")}
			theirs := way{dir: repo.Dir, env: w.Env, args: always(
				"git", "log", "--glob=refs/handoffs/log/*", "--format=%H %B")}
			compare(b, ours, theirs)
		})
	}
}

// BenchmarkAuditAgain is BenchmarkAudit of handoffs that went their whole way: three entries each, and
// no inbox refs. The first run of a comparison is not measured, so what an earlier audit checked is
// known, as in BenchmarkAudit.
func BenchmarkAuditAgain(b *testing.B) { auditLives(b, nil) }

// BenchmarkAuditFirst is BenchmarkAuditAgain with nothing known of an earlier audit.
func BenchmarkAuditFirst(b *testing.B) {
	auditLives(b, func(repo *gittest.Repo) {
		require.NoError(b, os.RemoveAll(filepath.Join(repo.Dir, ".git/githandoff/audited")))
	})
}

// auditLives compares an audit of handoffs that went their whole way with git log. Before each audit
// it calls before, which may be nil.
func auditLives(b *testing.B, before func(*gittest.Repo)) {
	for _, n := range sizes() {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w := newFixture(b)
			repo := gittest.NewRepo(b, w.Env)
			w.setUp(b, repo, "sender", "fixer")
			fillLives(b, w, repo, repo.Git(b, "config", "handoff.repoid"), n)
			ours := way{dir: repo.Dir, env: w.Env, args: always(w.bin, "audit")}
			if before != nil {
				ours.before = func(int) { before(repo) }
			}
			theirs := way{dir: repo.Dir, env: w.Env, args: always(
				"git", "log", "--glob=refs/handoffs/log/*", "--format=%H %B")}
			compareFor(b, haste, ours, theirs)
		})
	}
}

// BenchmarkLane audits a log whose entries all stand in one lane. Otherwise a lane has about a
// thousandth of the log.
func BenchmarkLane(b *testing.B) {
	for _, n := range sizes() {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w := newFixture(b)
			repo := gittest.NewRepo(b, w.Env)
			w.setUp(b, repo, "sender", "fixer")
			fillLane(b, w, repo, repo.Git(b, "config", "handoff.repoid"), n, func(int) string { return "fixer" }, "00")
			ours := way{dir: repo.Dir, env: w.Env, args: always(w.bin, "audit")}
			theirs := way{dir: repo.Dir, env: w.Env, args: always("git", "log", "refs/handoffs/log/00", "--format=%H %B")}
			compareFor(b, haste, ours, theirs)
		})
	}
}
