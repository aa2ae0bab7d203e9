package cli_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
)

// A handoff goes its whole way over every transport: it is offered in one repository, taken in another
// with an unrelated history, acknowledged, and gone on both sides.
func TestFlowOverEveryTransport(t *testing.T) {
	for _, tr := range gittest.Transports() {
		t.Run(tr.Name, func(t *testing.T) {
			f := gittest.NewFixture(t)
			f.Serve(t, tr)
			at := func(agent, remote string) *gittest.Repo {
				p := f.NewRepo(t, agent)
				p.Commit(t, "own.txt", agent, "history of "+agent)
				p.Git(t, "remote", "add", remote, f.URL)
				p.Must(t, "init", "--as", agent, "--notes")
				return p
			}
			source, target := at("investigator", "client"), at("fixer", "origin")
			// One keystore serves both: each pins the other's key by name.
			source.Must(t, "trust", "add", "fixer", "--role", "recipient")
			target.Must(t, "trust", "add", "investigator", "--role", "sender")
			before := state(t, source) + state(t, target)

			id := source.Must(t, "emit", "--to", "fixer@client", "--task", "LIN-423", "--goal", "nil session",
				"--summary", "root cause in auth.go:142", "--data", "issue_key=LIN-423")
			payload := f.Hub.Git(t, "rev-parse", "refs/handoffs/inbox/fixer/"+id+":handoff.json")
			require.Contains(t, target.Must(t, "resume"), "root cause in auth.go:142")
			require.Contains(t, target.Must(t, "resume", id), "root cause in auth.go:142", "shown again to its holder")
			target.Exits(t, 3, "resume", "--next")
			target.Must(t, "progress", "-m", "half")
			target.Must(t, "ack", "--result", "pr=12")
			require.Contains(t, target.Must(t, "ack", id), "already acknowledged")
			require.Contains(t, source.Must(t, "sync"), "acknowledged "+id)

			require.Equal(t, before, state(t, source)+state(t, target), "HEAD, branches, index and work tree")
			for _, r := range []*gittest.Repo{f.Hub, source, target} {
				require.Empty(t, openRefs(t, r))
				r.Git(t, "gc", "--quiet", "--prune=now")
				_, _, code := r.TryGit("cat-file", "-e", payload)
				require.NotZero(t, code, "the payload is erased")
				require.Empty(t, r.Git(t, "fsck", "--strict", "--no-dangling"))
			}
			for _, p := range []*gittest.Repo{source, target} {
				require.Contains(t, p.Must(t, "audit"), "acknowledged "+id)
			}
			require.Contains(t, source.Git(t, "log", "-1"), "acknowledged …"+id[len(id)-8:])
			require.Equal(t, 4, strings.Count(source.Git(t, "log", "--glob=refs/handoffs/*log/*", "--format=%s"), id))
		})
	}
}

// state returns the state that githandoff must leave alone.
func state(t *testing.T, r *gittest.Repo) string {
	t.Helper()
	return r.Git(t, "status", "--porcelain") + r.Git(t, "rev-parse", "--symbolic-full-name", "HEAD") +
		r.Git(t, "for-each-ref", "refs/heads", "refs/tags", "refs/remotes") + r.Git(t, "ls-files", "--stage")
}

func openRefs(t *testing.T, r *gittest.Repo) string {
	t.Helper()
	var open []string
	for name := range strings.FieldsSeq(r.Git(t, "for-each-ref", "--format=%(refname)", "refs/handoffs")) {
		for _, kind := range []string{"/inbox/", "/outbox/", "/sent/"} {
			if strings.Contains(name, kind) {
				open = append(open, name)
			}
		}
	}
	return strings.Join(open, "\n")
}
