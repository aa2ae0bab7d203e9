package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
)

// A write to a full pipe that nobody reads cannot be interrupted. The first signal does not end the program, but
// the second one does.
func TestSecondSignalEnds(t *testing.T) {
	doc := filepath.Join(t.TempDir(), "doc.json")
	const most = 65536 // bytes of a detail, and of a pipe
	require.NoError(t, os.WriteFile(doc, []byte(`{"version":1,"summary":"s","detail":"`+strings.Repeat("x ", most/2)+`"}`), 0o600))
	read, write, err := os.Pipe()
	require.NoError(t, err)
	defer read.Close()
	defer write.Close()
	cmd := exec.Command(gittest.BuildBinary(t), "convert", "--to", "kelos", doc)
	cmd.Stdout = write
	require.NoError(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	defer cmd.Process.Kill() //nolint:errcheck // the program has usually ended by then
	for late := time.After(time.Minute); ; {
		select {
		case err := <-ended:
			var exit *exec.ExitError
			require.ErrorAs(t, err, &exit)
			assert.Equal(t, syscall.SIGTERM, exit.Sys().(syscall.WaitStatus).Signal())
			return
		case <-time.After(100 * time.Millisecond):
			_ = cmd.Process.Signal(syscall.SIGTERM) // the program may have ended
		case <-late:
			t.Fatal("it outlives its signals")
		}
	}
}
