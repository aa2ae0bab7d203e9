package bench

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
)

// plain records a handoff with git alone: a blob, a tree, an orphan commit, a ref, and a note
// on the code commit. Arguments: the file with the record, a free name, the code commit, and
// for a signed record the option of commit-tree.
const plain = `set -e
blob=$(git hash-object -w "$1")
tree=$(printf '100644 blob %s\thandoff.json\n' "$blob" | git mktree)
commit=$(git commit-tree $4 -m "offered $2" "$tree")
git update-ref "refs/plain/$2" "$commit" ''
git notes --ref=plain add -m "offered $2" "$3"
`

// BenchmarkEmit is a signed handoff in this repository (payload, log entry and
// note) beside the same by hand: without a signature, and signed by gpg with a
// key without passphrase and its agent running.
func BenchmarkEmit(b *testing.B) {
	for _, tt := range []struct{ name, sign string }{{"unsigned", ""}, {"gpg", "-S"}} {
		b.Run(tt.name, func(b *testing.B) {
			w := newFixture(b)
			if tt.sign != "" {
				signWithGPG(b, w.clone)
			}
			p := emitPoint(b, w, w.clone, tt.sign)
			compare(b, p.ours, p.theirs)
		})
	}
}

// emitPoint emits in a repository, each time from a new commit: a note goes onto
// a commit of its own, as work goes on. Sign is an option of commit-tree, or "".
func emitPoint(b *testing.B, w *fixture, repo *gittest.Repo, sign string) point {
	b.Helper()
	file := abs(b, "handoff.json")
	repo.Git(b, "config", "handoff.agent", "fixer") // it works here as well, so nothing is advised
	id := repo.Must(b, append([]string{"emit", "--to", "fixer"}, goal(0)...)...)
	envelope := repo.Git(b, "cat-file", "blob", "refs/handoffs/inbox/fixer/"+id+":handoff.json")
	require.NoError(b, os.WriteFile(file, []byte(envelope), 0o644))

	var code string
	return point{
		name: "emit",
		ours: way{
			dir: repo.Dir, env: w.Env,
			before: func(n int) { code = nextCommit(b, repo, n) },
			args: func(n int) []string {
				return append([]string{w.bin, "emit", "--to", "fixer"}, goal(n)...)
			},
		},
		theirs: way{
			dir: repo.Dir, env: w.Env,
			args: func(n int) []string {
				return []string{"sh", "-c", plain, "sh", file, strconv.Itoa(n), code, sign}
			},
		},
	}
}

// nextCommit moves HEAD to a new commit.
func nextCommit(b *testing.B, repo *gittest.Repo, n int) string {
	b.Helper()
	repo.Git(b, "-c", "commit.gpgSign=false", "commit", "--quiet", "--allow-empty", "-m", strconv.Itoa(n))
	return repo.Git(b, "rev-parse", "HEAD")
}

// signWithGPG lets git sign with a gpg key that needs no passphrase.
func signWithGPG(b *testing.B, repo *gittest.Repo) {
	b.Helper()
	gittest.Need(b, "gpg", "gpg-agent")
	gpg := way{dir: repo.Dir, env: repo.Env, args: always(strings.Fields(
		"gpg --batch --quiet --pinentry-mode loopback --passphrase= --quick-generate-key agent@example.com")...)}
	gpg.run(b, 0)
	repo.Git(b, "config", "user.signingKey", "agent@example.com")
}
