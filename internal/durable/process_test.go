package durable_test

import (
	"os"
	"os/exec"
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
