package cli_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
)

// A guarded hub speaks to its pushers over every transport, and knows the URL by
// which they come.
func TestGuardOverEveryTransport(t *testing.T) {
	bin := gittest.BuildBinary(t)
	for _, tr := range gittest.Transports() {
		t.Run(tr.Name, func(t *testing.T) {
			env := gittest.Env(t)
			root := t.TempDir()
			hub := person{gittest.NewBareAt(t, env, filepath.Join(root, "hub.git")), bin}
			base, client := tr.Serve(t, env, root)
			at := func(agent string) person {
				p := person{gittest.NewRepo(t, client), bin}
				p.repo.Commit(t, "own.txt", agent, "first")
				p.repo.Git(t, "remote", "add", "origin", base+"/hub.git")
				p.run(t, 0, "init", "--as", agent)
				return p
			}
			source, target := at("investigator"), at("fixer")
			source.run(t, 0, "trust", "add", "fixer")
			target.run(t, 0, "trust", "add", "investigator")
			hub.run(t, 0, "trust", "add", "investigator")
			hub.run(t, 0, "trust", "add", "fixer")
			hub.run(t, 0, "hook", "install", "--server")
			byPath := tr.Name == "path" || tr.Name == "file" // the hub knows that by itself
			early := map[bool]int{true: 0, false: 4}[byPath]
			id := source.run(t, early, "emit", "--to", "fixer@origin", "--goal", "one")
			if !byPath {
				hub.run(t, 0, "hook", "install", "--server", "--url", base+"/hub.git")
				require.Contains(t, source.run(t, 0, "sync"), "delivered ")
			}
			target.run(t, 0, "resume")
			_, said, code := source.repo.TryGit("push", "origin", ":refs/handoffs/inbox/fixer/"+id)
			require.NotZero(t, code)
			require.Contains(t, said, "remote: githandoff: refs/handoffs/inbox/fixer/"+id+": lost: handoff "+id+" would disappear without a receipt")
			target.run(t, 0, "ack", id)
		})
	}
}
