package initrepo

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/refs"
)

// If the id of the repository cannot be written, no part of the file stays: the next init would take it for that of
// another process.
func TestRepoIDUnwritten(t *testing.T) {
	if dir := os.Getenv("COMMON_DIR"); dir != "" {
		signal.Ignore(syscall.SIGXFSZ)
		require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{}))
		assert.ErrorIs(t, setRepoID(t.Context(), &refs.Repo{CommonDir: dir}, "local:1"), syscall.EFBIG)
		return
	}
	repo := &refs.Repo{CommonDir: t.TempDir()}
	require.NoError(t, os.Mkdir(repo.Own(""), 0o700))
	other := exec.Command(os.Args[0], "-test.run=^TestRepoIDUnwritten$")
	other.Env = append(os.Environ(), "COMMON_DIR="+repo.CommonDir)
	out, err := other.CombinedOutput()
	require.NoError(t, err, string(out))
	left, err := os.ReadDir(repo.Own(""))
	require.NoError(t, err)
	assert.Empty(t, left)
}
