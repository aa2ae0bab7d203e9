package cli_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
)

// A guarded hub speaks to its pushers over every transport, and knows the URL by
// which they come.
func TestGuardOverEveryTransport(t *testing.T) {
	for _, tr := range gittest.Transports() {
		t.Run(tr.Name, func(t *testing.T) {
			f := gittest.NewFixture(t)
			f.Serve(t, tr)
			at := func(agent string) *gittest.Repo {
				p := f.NewRepo(t, agent)
				p.Git(t, "remote", "add", "origin", f.URL)
				p.Must(t, "init", "--as", agent)
				return p
			}
			source, target := at("investigator"), at("fixer")
			source.Must(t, "trust", "add", "fixer")
			target.Must(t, "trust", "add", "investigator")
			f.Hub.Must(t, "trust", "add", "investigator")
			f.Hub.Must(t, "trust", "add", "fixer")
			f.Hub.Must(t, "hook", "install", "--server")
			byPath := tr.Name == "path" || tr.Name == "file" // the hub knows that by itself
			early := map[bool]int{true: 0, false: 4}[byPath]
			id := source.Exits(t, early, "emit", "--to", "fixer@origin", "--goal", "one")
			if !byPath {
				f.Hub.Must(t, "hook", "install", "--server", "--url", f.URL)
				require.Contains(t, source.Must(t, "sync"), "delivered ")
			}
			target.Must(t, "resume")
			_, said, code := source.TryGit("push", "origin", ":refs/handoffs/inbox/fixer/"+id)
			require.NotZero(t, code)
			require.Contains(t, said, "remote: githandoff: refs/handoffs/inbox/fixer/"+id+": lost: handoff "+id+" would disappear without a receipt")
			target.Must(t, "ack", id)
		})
	}
}
