package bench

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"githandoff/hooks"
)

// BenchmarkCommit makes a commit that hands nothing over, with the post-commit
// hook and with one that is an empty shell script.
func BenchmarkCommit(b *testing.B) {
	w := newFixture(b)
	empty, ours := b.TempDir(), b.TempDir()
	require.NoError(b, os.WriteFile(filepath.Join(empty, "post-commit"), []byte("#!/bin/sh\n"), 0o755))
	_, err := hooks.Install(ours, []string{"post-commit"}, w.bin)
	require.NoError(b, err)
	commit := func(hooks string) way {
		return way{dir: w.clone.Dir, env: w.Env, args: always(
			"git", "-c", "core.hooksPath="+hooks, "commit", "--quiet", "--allow-empty",
			"-m", "Open the store for writing", "-m", "After a crash it was opened read-only,\nand sessions were lost.", "-m", "Task: LIN-423")}
	}
	compare(b, commit(ours), commit(empty))
}
