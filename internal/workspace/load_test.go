package workspace_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/gittest"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
	"githandoff/internal/workspace"
)

// A damaged ref is reported as the fault of one item. A watch goes on with the others.
func TestDamagedRefIsTheFaultOfItsItem(t *testing.T) {
	own := gittest.NewRepo(t, gittest.Env(t))
	repo, err := refs.Open(t.Context(), &gitexec.Runner{Dir: own.Dir, Env: gitexec.Environ(own.Env)})
	require.NoError(t, err)
	t.Cleanup(repo.Close)
	it := &workspace.Item{Ref: refs.LocalNamespace.Inbox("fixer", "ho_01jd3m6z0000000000000000aa"), Kind: refs.KindInbox, Place: lifecycle.Place{Agent: "fixer"}}
	path := filepath.Join(own.Dir, ".git", it.Ref)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, make([]byte, 41), 0o600))

	require.NoError(t, (&workspace.Workspace{Homes: workspace.Homes{Repo: repo}}).Load(t.Context(), it))
	assert.True(t, fault.Is(it.Fault, fault.MissingObject), it.Fault)
}
