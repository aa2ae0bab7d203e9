package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
)

// A guard judges each step of a common push for itself: the one handoff that it refuses stays
// in the outbox, and the others, the kept steps and the notes go to the hub.
func TestGuardedHubTakesCommonPush(t *testing.T) {
	for _, tr := range gittest.Transports() {
		if !slices.Contains([]string{"path", "http"}, tr.Name) {
			continue
		}
		t.Run(tr.Name, func(t *testing.T) {
			t.Parallel()
			f := gittest.NewFixture(t)
			f.Serve(t, tr)
			source := f.Agent(t, "investigator")
			target := f.Agent(t, "fixer", "investigator")
			source.Must(t, "trust", "add", "fixer")
			alice := f.Clone(t, "alice")
			alice.Must(t, "init", "--person", "alice@example.com")
			alice.Must(t, "trust", "add", "investigator")
			root := []string{"trust", "add", "alice@example.com", "--role", "root", "--principal", "user:alice@example.com"}
			for _, r := range []*gittest.Repo{source, target, f.Hub} {
				r.Must(t, root...)
			}
			f.Hub.Must(t, "trust", "add", "investigator")
			f.Hub.Must(t, "trust", "add", "fixer")
			f.Hub.Must(t, "hook", "install", "--server", "--url", f.URL)
			pushes := countPushes(t, f)
			lent := strings.TrimSpace(alice.Must(t, "emit", "--to", "investigator@origin", "--goal", "lend",
				"--on-behalf-of", "alice@example.com", "--scope", "repo.write:src/*"))
			source.Must(t, "resume", lent)
			held := strings.TrimSpace(target.Must(t, "emit", "--to", "investigator@origin", "--goal", "zero"))
			source.Must(t, "resume", held)

			var good []string
			var bad string
			for i := range 20 {
				args := []string{"emit", "--to", "fixer@origin", "--goal", fmt.Sprint("task ", i), "--queue", "--parent"}
				if i == 7 {
					bad = strings.TrimSpace(source.Must(t, append(args, lent, "--scope", "repo.write:src/auth/*")...))
					continue
				}
				good = append(good, strings.TrimSpace(source.Must(t, append(args, held)...)))
			}
			f.Hub.Must(t, "trust", "remove", strings.TrimSpace(alice.Must(t, "--jq", ".key", "key", "show", "alice@example.com")))
			away := f.Hub.Dir + ".away"
			require.NoError(t, os.Rename(f.Hub.Dir, away))
			source.Exits(t, 8, "progress", held, "-m", "half")
			source.Exits(t, 8, "ack", held, "--result", "pr=17")
			require.NoError(t, os.Rename(away, f.Hub.Dir))

			before := pushes()
			r := source.Run(t, "sync")
			assert.Equal(t, 4, r.Code, "%v", r)
			assert.Contains(t, r.Stdout, "acknowledged "+held)
			for _, id := range good {
				assert.Contains(t, r.Stdout, "delivered "+id)
			}
			assert.NotContains(t, r.Stdout, bad)
			assert.Equal(t, 1, strings.Count(r.Stderr, "githandoff: "), r.Stderr)
			assert.Contains(t, r.Stderr, "key_revoked: origin refuses refs/handoffs/inbox/fixer/"+bad)
			assert.LessOrEqual(t, pushes()-before, 2, "pushes that the hub took")

			inbox := f.Hub.Git(t, "for-each-ref", "--format=%(refname:lstrip=4)", "refs/handoffs/inbox/fixer")
			assert.ElementsMatch(t, good, strings.Fields(inbox))
			note := f.Hub.Git(t, "notes", "--ref", "handoffs", "show", "main")
			assert.Contains(t, note, good[0])
			assert.NotContains(t, "\n"+target.Must(t, "audit"), "\n!")
		})
	}
}

// countPushes counts the pushes with handoffs that the hub takes from now on.
func countPushes(t *testing.T, f *gittest.Fixture) func() int {
	t.Helper()
	log := filepath.Join(f.Dir, "pushes")
	hooks := strings.TrimSpace(f.Hub.Git(t, "rev-parse", "--git-path", "hooks"))
	if !filepath.IsAbs(hooks) {
		hooks = filepath.Join(f.Hub.Dir, hooks)
	}
	script := fmt.Sprintf("#!/bin/sh\ngrep -q refs/handoffs/ && echo push >>'%s'\nexit 0\n", log)
	require.NoError(t, os.WriteFile(filepath.Join(hooks, "post-receive"), []byte(script), 0o755)) //nolint:gosec // git runs it
	return func() int {
		b, err := os.ReadFile(log)
		require.NoError(t, err)
		return strings.Count(string(b), "push\n")
	}
}
