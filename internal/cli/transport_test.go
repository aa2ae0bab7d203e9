package cli_test

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
)

// person runs the real program as one agent in one repository.
type person struct {
	repo *gittest.Repo
	bin  string
}

func (p person) run(t *testing.T, code int, args ...string) string {
	t.Helper()
	var out, diag bytes.Buffer
	cmd := exec.Command(p.bin, args...)
	cmd.Dir, cmd.Env = p.repo.Dir, p.repo.Env
	cmd.Stdout, cmd.Stderr = &out, &diag
	err := cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatalf("githandoff %s: %v", strings.Join(args, " "), err)
	}
	require.Equal(t, code, cmd.ProcessState.ExitCode(), "githandoff %s\n%s%s", strings.Join(args, " "), &out, &diag)
	return strings.TrimSpace(out.String())
}

// The main job over every transport: offered in one repository, taken in
// another with an unrelated history, acknowledged, and gone on both sides.
func TestFlowOverEveryTransport(t *testing.T) {
	bin := gittest.BuildBinary(t)
	for _, tr := range gittest.Transports() {
		t.Run(tr.Name, func(t *testing.T) {
			env := gittest.Env(t)
			root := t.TempDir()
			hub := gittest.NewBareAt(t, env, filepath.Join(root, "hub.git"))
			base, client := tr.Serve(t, env, root)

			at := func(agent, remote string) person {
				p := person{gittest.NewRepo(t, client), bin}
				p.repo.Commit(t, "own.txt", agent, "history of "+agent)
				p.repo.Git(t, "remote", "add", remote, base+"/hub.git")
				p.run(t, 0, "init", "--as", agent, "--notes")
				return p
			}
			source, target := at("investigator", "client"), at("fixer", "origin")
			// One keystore serves both: each pins the other's key by name.
			source.run(t, 0, "trust", "add", "fixer", "--role", "recipient")
			target.run(t, 0, "trust", "add", "investigator", "--role", "sender")
			before := state(t, source.repo) + state(t, target.repo)

			id := source.run(t, 0, "emit", "--to", "fixer@client", "--task", "LIN-423", "--goal", "nil session",
				"--summary", "root cause in auth.go:142", "--data", "issue_key=LIN-423")
			payload := hub.Git(t, "rev-parse", "refs/handoffs/inbox/fixer/"+id+":handoff.json")
			require.Contains(t, target.run(t, 0, "resume"), "root cause in auth.go:142")
			require.Contains(t, target.run(t, 0, "resume", id), "root cause in auth.go:142", "shown again to its holder")
			target.run(t, 3, "resume", "--next")
			target.run(t, 0, "progress", "-m", "half")
			target.run(t, 0, "ack", "--result", "pr=12")
			require.Contains(t, target.run(t, 0, "ack", id), "already acknowledged")
			require.Contains(t, source.run(t, 0, "sync"), "acknowledged "+id)

			require.Equal(t, before, state(t, source.repo)+state(t, target.repo), "HEAD, branches, index and work tree")
			for _, r := range []*gittest.Repo{hub, source.repo, target.repo} {
				require.Empty(t, openRefs(t, r))
				r.Git(t, "gc", "--quiet", "--prune=now")
				_, _, code := r.TryGit("cat-file", "-e", payload)
				require.NotZero(t, code, "the payload is erased")
				require.Empty(t, r.Git(t, "fsck", "--strict", "--no-dangling"))
			}
			for _, p := range []person{source, target} {
				require.Contains(t, p.run(t, 0, "audit"), "acknowledged "+id)
			}
			require.Contains(t, source.repo.Git(t, "log", "-1"), "acknowledged …"+id[len(id)-8:])
			require.Equal(t, 4, strings.Count(source.repo.Git(t, "log", "--glob=refs/handoffs/*log/*", "--format=%s"), id))
		})
	}
}

// state is what githandoff must leave alone.
func state(t *testing.T, r *gittest.Repo) string {
	t.Helper()
	return r.Git(t, "status", "--porcelain") + r.Git(t, "rev-parse", "--symbolic-full-name", "HEAD") +
		r.Git(t, "for-each-ref", "refs/heads", "refs/tags", "refs/remotes") + r.Git(t, "ls-files", "--stage")
}

func openRefs(t *testing.T, r *gittest.Repo) string {
	t.Helper()
	var open []string
	for _, name := range strings.Fields(r.Git(t, "for-each-ref", "--format=%(refname)", "refs/handoffs")) {
		for _, kind := range []string{"/inbox/", "/outbox/", "/sent/"} {
			if strings.Contains(name, kind) {
				open = append(open, name)
			}
		}
	}
	return strings.Join(open, "\n")
}
