package refs

import (
	"testing"

	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
	"githandoff/internal/handoff"
)

// Each name that is made of accepted parts is checked by git itself.
func FuzzRefNames(f *testing.F) {
	for _, s := range []string{"fixer", "ci-bot.2", "a..b", "a.lock", "a.", ".a", "-a", "a@{1}", "a b", "a~1", "a/b", "a\\b", "a*", "_", "@", "\u202e", "a\x7f", ""} {
		f.Add(s, string(someID))
	}
	f.Add("fixer", "ho_01kahcp3g0000000000000000R")
	f.Add("fixer", "../../heads/main")
	f.Add("fixer", "ho_01kahcp3g0000000000000000r.lock")
	repo := &gittest.Repo{Dir: f.TempDir(), Env: gittest.Env(f)}
	hub := TrackingNamespace("git+https://example.com/acme/client")
	f.Fuzz(func(t *testing.T, agent, id string) {
		var names []string
		for _, namespace := range []Namespace{LocalNamespace, hub} {
			name := string(namespace) + "inbox/" + agent + "/" + id
			if _, ok := namespace.ParseHandoffRef(name); ok {
				names = append(names, name)
			}
		}
		if parsed, err := handoff.ParseID(id); err == nil {
			names = append(names, LocalNamespace.Lane(parsed), Archive(parsed), Checkpoint(parsed))
		}
		if handoff.CheckAgent(agent) == nil {
			names = append(names, Outbox(agent, someID), Sent(agent, someID))
		}
		if handoff.CheckAlias(agent) == nil {
			names = append(names, "refs/remotes/"+agent+"/main")
		}
		for _, name := range names {
			_, _, code := repo.TryGit("check-ref-format", name)
			require.Zero(t, code, "git refuses %q", name)
		}
	})
}
