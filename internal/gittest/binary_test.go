package gittest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
)

func TestBuildBinary(t *testing.T) {
	t.Setenv("GITHANDOFF_TEST_BINARY", "")
	path := gittest.BuildBinary(t)
	out, err := exec.Command(path, "version").CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Equal(t, path, gittest.BuildBinary(t), "built once")
}

func TestBuildBinaryTakesTheGivenOne(t *testing.T) {
	given := filepath.Join(t.TempDir(), "given")
	require.NoError(t, os.WriteFile(given, nil, 0o700))
	t.Setenv("GITHANDOFF_TEST_BINARY", given)
	assert.Equal(t, given, gittest.BuildBinary(t))
}
