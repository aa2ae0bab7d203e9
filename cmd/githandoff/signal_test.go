package main_test

import (
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
)

// Nothing can end the system call that opens a pipe without a writer: the first signal is not
// enough, the second one is.
func TestSecondSignalEnds(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	cmd := exec.Command(gittest.BuildBinary(t), "validate", pipe)
	require.NoError(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	defer cmd.Process.Kill() //nolint:errcheck // it is over, as a rule
	for late := time.After(time.Minute); ; {
		select {
		case err := <-ended:
			var exit *exec.ExitError
			require.ErrorAs(t, err, &exit)
			assert.Equal(t, syscall.SIGTERM, exit.Sys().(syscall.WaitStatus).Signal())
			return
		case <-time.After(100 * time.Millisecond):
			_ = cmd.Process.Signal(syscall.SIGTERM) // it may be over
		case <-late:
			t.Fatal("it outlives its signals")
		}
	}
}
