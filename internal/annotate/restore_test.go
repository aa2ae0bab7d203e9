package annotate

import (
	"context"
	"crypto/rand"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/crossrepo"
	"githandoff/internal/enginetest"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
	"githandoff/internal/workspace"
)

// verifying counts the handoffs that were verified: only then is their home asked for.
type verifying struct {
	*workspace.Workspace
	homes int
}

func (v *verifying) Home(ctx context.Context, repoID string) (lifecycle.Home, error) {
	v.homes++
	return v.Workspace.Home(ctx, repoID)
}

// Each sync restores missing lines of notes. It verifies only the handoffs that lack one: thousands may wait.
func TestRestoreVerifiesWhatLacksALine(t *testing.T) {
	f := enginetest.NewLocal(t)
	repo := enginetest.Open(t, f.Hub)
	home := &lifecycle.LocalHome{Repo: repo, RepoID: "local:000102030405060708090a0b0c0d0e0f"}
	key := enginetest.NewKey(t)
	f.Pin(t, enginetest.Entry(key, "investigator", sign.RoleSender, sign.RoleRecipient))
	engine := lifecycle.New(lifecycle.Setup{
		Repo: repo, Trust: f.Trust(t), Signer: key, Actor: "investigator", Now: f.Now, Random: rand.Reader,
		Intents: lifecycle.Intents{Dir: repo.Own("intents")},
	})
	commits := []string{f.Hub.Git(t, "commit-tree", "-m", "one", f.Hub.Git(t, "mktree")), f.Hub.Git(t, "commit-tree", "-m", "two", f.Hub.Git(t, "mktree"))}
	offer := func(commit string) {
		t.Helper()
		env := f.Envelope(t, "investigator", "fixer")
		env.Source.Commit = commit
		p, err := engine.Author.Prepare(t.Context(), home, env, "")
		require.NoError(t, err)
		_, err = engine.Offer(t.Context(), home, p)
		require.NoError(t, err)
	}
	w := &verifying{Workspace: &workspace.Workspace{
		Homes: workspace.Homes{Repo: repo, Aliases: crossrepo.Aliases{Repo: repo}, Local: home, Engine: engine, OnWarn: func(error) {}},
		Agent: "investigator",
	}}
	restore := func(verified int) {
		t.Helper()
		w.homes = 0
		n := New(w.Workspace)
		n.Workspace = w
		require.NoError(t, n.Restore(t.Context()))
		assert.Equal(t, verified, w.homes)
	}
	for _, commit := range []string{commits[0], commits[0], commits[1], ""} {
		offer(commit)
	}
	restore(3)
	restore(0)
	offer(commits[1])
	restore(1)
	f.Hub.Git(t, "notes", "--ref=handoffs", "remove", commits[0])
	restore(2)
	f.Hub.Git(t, "update-ref", "-d", refs.NotesRef)
	restore(4)
	restore(0)
}
