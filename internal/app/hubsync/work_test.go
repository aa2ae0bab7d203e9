package hubsync

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/crossrepo"
	"githandoff/internal/gitexec"
	"githandoff/internal/gittest"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
	"githandoff/internal/workspace"
)

// A sync compares only the snapshots that it fetched. Others would look lost.
func TestSyncAsksForAllSnapshotsThatItCompares(t *testing.T) {
	t.Parallel()
	own := gittest.NewRepo(t, gittest.Env(t))
	head := own.Commit(t, "a", "x", "first")
	repo, err := refs.Open(t.Context(), &gitexec.Runner{Dir: own.Dir, Env: gitexec.Environ(own.Env)})
	require.NoError(t, err)
	t.Cleanup(repo.Close)
	hub := crossrepo.NewHub(&crossrepo.Alias{Name: "origin", RepoID: "git+https://example.com/hub"}, repo, nil)
	a := &asked{hub: hub}
	r := &syncing{Handler: &Handler{Engine: &lifecycle.Engine{Repo: repo}}, asked: []*asked{a}}

	var kept []refs.Edit
	for i := range crossrepo.MostWork + 2 {
		kept = append(kept, refs.Edit{Ref: refs.WorkOut(handoff.ID(fmt.Sprintf("ho_%026d", i))), New: head})
	}
	require.NoError(t, repo.Apply(t.Context(), refs.Transaction{Edits: kept}))
	for i := range kept {
		p := lifecycle.Place{Agent: "fixer", ID: handoff.ID(fmt.Sprintf("ho_%026d", i))}
		r.wantWork(t.Context(), &workspace.Item{Home: hub, Kind: refs.KindSent, Place: p}, []lifecycle.Place{p})
	}
	assert.Len(t, a.spec.Work, crossrepo.MostWork)
	require.NoError(t, r.compareWork(t.Context(), a))
	assert.Len(t, a.lost, len(a.spec.Work))
}
