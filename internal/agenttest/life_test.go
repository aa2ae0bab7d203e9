package agenttest_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/agenttest"
)

// In a session of each client, with githandoff installed by "setup" and no input from a user, a handoff goes its
// whole way: it is announced and claimed, a write outside the scope of its token is refused and one inside is
// not, the commit names the token, a push outside the scope is refused and one inside is not, the agent is
// reminded once, and it acknowledges.
func TestLife(t *testing.T) {
	for _, c := range agenttest.Clients() {
		t.Run(c.Name, func(t *testing.T) {
			w := newWorld(t, c)
			w.fix.Must(w.t, "setup", c.Name)
			id := w.lend("LIN-423")
			short := "…" + id[len(id)-8:]
			var m *agenttest.Model
			m = agenttest.NewModel(
				t,
				w.command("githandoff resume"),
				w.file("go.mod", "module x"),
				w.file("src/auth/a.go", "package auth"),
				w.commit(func() string { return last(m) }),
				w.command("git push origin HEAD:main"),
				w.command("git push origin HEAD:refs/heads/fix/login"),
				agenttest.Step{Text: "I am done."},
				w.command("githandoff ack --summary renewed"),
				agenttest.Step{Text: "Acknowledged."},
			)
			out := w.client.Live(t, w.Session, m, 9)
			turns := m.Turns()
			require.Len(t, turns, 9, out)
			assert.Contains(t, turns[0].Body, "1 handoff waits for agent fixer: "+short+" (LIN-423)")
			assert.Contains(t, turns[1].Body, "Goal: Stop the 500 on login")
			assert.Equal(t, []int{2}, turnsWith(turns, "repo.write:go.mod"), "a write outside is refused")
			assert.NoFileExists(t, filepath.Join(w.Dir, "go.mod"))
			assert.FileExists(t, filepath.Join(w.Dir, "src/auth/a.go"))
			assert.Contains(t, turns[4].Body, "Handoff-Token: obo_")
			assert.Equal(t, []int{5}, turnsWith(turns, "repo.push:refs/heads/main"), "a push outside is refused")
			assert.Equal(t, []int{7}, turnsWith(turns, "fixer still holds"), "it is reminded once")
			refs := w.shop.Git(w.t, "ls-remote", w.hub, "refs/heads/*")
			assert.Contains(t, refs, w.fix.Git(w.t, "rev-parse", "HEAD")+"\trefs/heads/fix/login")
			assert.Contains(t, refs, w.shop.Git(w.t, "rev-parse", "main")+"\trefs/heads/main")
			log := w.shop.Must(w.t, "audit")
			assert.Regexp(t, "acknowledged "+id+" .*renewed.* ok$", log)
			assert.NoFileExists(t, filepath.Join(w.Dir, ".git/githandoff/agent.log"))
			if entries, err := os.ReadFile(w.fix.Git(w.t, "rev-parse", "--git-path", "githandoff/agent.log")); err == nil {
				assert.Empty(t, string(entries))
			}
		})
	}
}

// commit returns a call that commits the agent's files. If the client does not run git's hooks, the model names
// the handoff in the commit, as "githandoff resume" told it.
func (w *world) commit(asked func() string) agenttest.Step {
	const commit, look = "git add -A src && git commit -qm 'Renew the session'", " && git log -1 --format=%B"
	step := w.command(commit + look)
	step.Do = func() {
		if said := byHand.FindString(asked()); said != "" {
			step.Input[w.client.ShellArg] = commit + said + look
		}
	}
	return step
}

var byHand = regexp.MustCompile(` --trailer 'Handoff-Id: ho_\w+' --trailer 'Handoff-Token: obo_\w+'`)

// last returns the client's last message to the model.
func last(m *agenttest.Model) string {
	turns := m.Turns()
	return turns[len(turns)-1].Body
}
