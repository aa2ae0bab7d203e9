package stress

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
)

// Two containers with one clone do not see each other's processes. "doctor --fix" in one leaves a lock alone that a
// git in the other holds.
func TestLockOfAnotherContainer(t *testing.T) {
	t.Parallel()
	gittest.Need(t, "unshare")
	container := []string{"--user", "--map-root-user", "--pid", "--fork", "--mount-proc"}
	if out, err := exec.Command("unshare", append(slices.Clip(container), "true")...).CombinedOutput(); err != nil {
		gittest.Missing(t, "no namespaces here: %v: %s", err, out)
	}
	w := gittest.NewFixture(t)
	boss := w.Agent(t, "boss")
	path := filepath.Join(boss.Dir, ".git/packed-refs.lock")
	lock, err := os.Create(path) // git holds one as this process does
	require.NoError(t, err)
	t.Cleanup(func() { _ = lock.Close() })
	old := time.Now().Add(-time.Minute)
	require.NoError(t, os.Chtimes(path, old, old))
	fix := func() string {
		cmd := exec.Command("unshare", append(slices.Clip(container), gittest.BuildBinary(t), "doctor", "--fix")...)
		cmd.Dir, cmd.Env = boss.Dir, boss.Env
		out, _ := cmd.CombinedOutput()
		return string(out)
	}
	assert.Contains(t, fix(), "is held by a process that does not show here")
	assert.FileExists(t, path)
	require.NoError(t, lock.Close())
	assert.Contains(t, fix(), "no process has it open")
	assert.NoFileExists(t, path)
}
