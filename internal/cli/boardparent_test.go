package cli

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gitexec"
	"githandoff/internal/gittest"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/workspace"
)

// Anybody who may push to a hub can put a handoff with any number of steps there. A refresh of a board
// does not wait for all of them, and no refresh reads a step again.
func TestBoardReadsFewSteps(t *testing.T) {
	git := gittest.NewFixture(t).NewRepo(t, "repo")
	repo, err := refs.Open(t.Context(), &gitexec.Runner{Dir: git.Dir, Env: gitexec.Environ(git.Env)})
	require.NoError(t, err)
	defer repo.Close()
	var steps []*refs.Object
	previous, event, parent := "", record.Offered, "Handoff-Parent: ho_p\n"
	for range 3*mostStepsBack - 50 {
		steps = append(steps, refs.NewObject(repo.Format, "commit", fmt.Appendf(nil, "tree %s\nauthor a <a@b.c> 1 +0000\ncommitter a <a@b.c> 1 +0000\n\n"+
			"a step\n\nHandoff-Id: ho_a\nHandoff-Event: %s\nHandoff-Previous: %s\n%s", repo.Format.EmptyTree(), event, previous, parent)))
		previous, event, parent = steps[len(steps)-1].OID, record.Claimed, ""
	}
	require.NoError(t, repo.Store.Write(steps...))
	it := &workspace.Item{Ref: "refs/handoffs/inbox/a/ho_a", Commit: previous, Record: &record.Record{Event: record.Claimed}}
	backend := &boardBackend{}
	left := len(steps)
	for range 2 {
		before := left
		assert.Empty(t, backend.parent(t.Context(), repo, it, &left))
		assert.Equal(t, mostStepsBack, before-left)
	}
	assert.EqualValues(t, "ho_p", backend.parent(t.Context(), repo, it, &left))
	assert.Zero(t, left)
	none := 0
	assert.EqualValues(t, "ho_p", backend.parent(t.Context(), repo, it, &none))
}
