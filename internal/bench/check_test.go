package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
)

// stockCheck answers the question of obo check with git and gpg: does the expected agent hold
// the claim, did a known key offer it, and does the token, signed as well, name this scope? It
// does not look at the log, where the end of a claim stands, nor at places, times and
// narrowing. Arguments: the claim, a directory.
const stockCheck = `set -e
exec 2>"$2/said"
git verify-commit "$1" "$1^"
git cat-file blob "$1:obo/0.json" >"$2/token"
git cat-file blob "$1:obo/0.sig" >"$2/token.sig"
gpg --batch --quiet --verify "$2/token.sig" "$2/token"
grep -qF '"repo.write:src/*"' "$2/token"
`

// stockPush lists in addition what a push brings. Further argument: its commit.
const stockPush = stockCheck + `grep -qF '"repo.push:refs/heads/fix/*"' "$2/token"
! git log --format= --name-only "$3" --not --remotes | grep -v '^src/'
`

// BenchmarkCheck asks whether a held token allows to write a file, and whether it
// allows a push of one commit, beside the same with stock tools. This is for hooks
// of agents, which ask before each step: it must take less than 15 ms.
func BenchmarkCheck(b *testing.B) {
	gittest.Need(b, "gpg")
	w := newFixture(b)
	claim := w.authority(b)
	commit := w.clone.Commit(b, "src/store.go", "package src\n", "open the store for writing")
	push := abs(b, "push")
	line := fmt.Sprintf("refs/heads/fix/1 %s refs/heads/fix/1 %s\n", commit, strings.Repeat("0", gittest.Objects().Digits()))
	require.NoError(b, os.WriteFile(push, []byte(line), 0o644))
	for _, tt := range []struct {
		name         string
		ours, theirs []string
	}{
		{
			"scope",
			[]string{w.bin, "obo", "check", "--scope", "repo.write:src/store.go"},
			[]string{"sh", "-c", stockCheck, "sh", claim, b.TempDir()},
		},
		{
			"push",
			[]string{"sh", "-c", `exec "$0" obo check --push <"$1"`, w.bin, push},
			[]string{"sh", "-c", stockPush, "sh", claim, b.TempDir(), commit},
		},
	} {
		b.Run(tt.name, func(b *testing.B) {
			compare(b, way{dir: w.clone.Dir, env: w.Env, args: always(tt.ours...)},
				way{dir: w.clone.Dir, env: w.Env, args: always(tt.theirs...)})
		})
	}
}

// authority lets the agent of the clone hold what a person gave it, and gpg know
// everybody's key. It returns the commit of the claim.
func (w *fixture) authority(b *testing.B) string {
	b.Helper()
	w.clone.Must(b, "init", "--person", "alice@example.com", "--force")
	w.setUp(b, w.clone, "fixer")
	id := w.clone.Must(b, append([]string{
		"emit", "--as", "alice@example.com", "--to", "fixer", "--on-behalf-of", "alice@example.com",
		"--scope", "repo.write:src/*", "--scope", "repo.push:refs/heads/fix/*",
	}, goal(0)...)...)
	w.clone.Must(b, "resume")
	known := b.TempDir()
	w.clone.Must(b, "trust", "export", known)
	way{dir: known, env: w.Env, args: always("gpg", "--batch", "--quiet", "--import", filepath.Join(known, "pubring.gpg"))}.run(b, 0)
	return w.clone.Git(b, "rev-parse", "refs/handoffs/inbox/fixer/"+id)
}
