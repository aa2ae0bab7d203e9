package durable_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/durable"
)

func TestAbandoned(t *testing.T) {
	gone := exec.Command("true")
	require.NoError(t, gone.Run())
	dead := strconv.Itoa(gone.Process.Pid)
	for name, abandoned := range map[string]bool{
		dead + "-0123.json":                      true,
		dead:                                     true,
		strconv.Itoa(os.Getpid()) + "-0123.json": false,
		"1-0123.json":                            false, // of another user, perhaps
		"-1-0123.json":                           false,
		"0-0123.json":                            false,
		"README":                                 false,
	} {
		assert.Equal(t, abandoned, durable.Abandoned(name), name)
	}
}

// The directory of a killed process goes, and no other one.
func TestTempDir(t *testing.T) {
	top := filepath.Join(t.TempDir(), "top")
	gone := exec.Command("true")
	require.NoError(t, gone.Run())
	dead := filepath.Join(top, strconv.Itoa(gone.Process.Pid)+"-1")
	require.NoError(t, os.MkdirAll(filepath.Join(dead, "objects"), 0o700))
	first, err := durable.TempDir(top)
	require.NoError(t, err)
	assert.NoDirExists(t, dead)
	second, err := durable.TempDir(top)
	require.NoError(t, err)
	assert.NotEqual(t, first, second)
	assert.DirExists(t, first)
	info, err := os.Stat(second)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o700), info.Mode().Perm())
}
