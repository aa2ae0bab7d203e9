package cli_test

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
)

// A board has colours where everything else has them.
func TestBoardColours(t *testing.T) {
	f := gittest.NewFixture(t)
	repo := gittest.Clone(t, f.Env, f.URL)
	repo.Must(t, "init", "--as", "fixer")
	repo.Must(t, "emit", "--to", "fixer", "--goal", "fix it")
	for _, tc := range []struct {
		name, flag, noColor string
		coloured            bool
	}{
		{"auto", "auto", "", true}, {"never", "never", "", false}, {"no", "auto", "yes", false}, {"always", "always", "1", true},
	} {
		terminal := gittest.OpenTerminal(t, 10, 60)
		cmd := exec.Command(gittest.BuildBinary(t), "board", "--color", tc.flag)
		cmd.Dir, cmd.Env = repo.Dir, append(repo.Env, "TERM=xterm", "NO_COLOR="+tc.noColor)
		require.NoError(t, terminal.Start(cmd))
		var seen strings.Builder
		b, quit := make([]byte, 4096), false
		for n, err := terminal.Read(b); err == nil; n, err = terminal.Read(b) {
			if seen.Write(b[:n]); !quit && strings.Contains(seen.String(), "offered") {
				_, err = terminal.Write([]byte("q"))
				require.NoError(t, err)
				quit = true
			}
		}
		require.NoError(t, cmd.Wait(), seen.String())
		assert.Contains(t, seen.String(), "offered", tc.name)
		assert.Equal(t, tc.coloured, strings.Contains(seen.String(), "\x1b[36"), tc.name) // cyan
	}
}

// A board that is asked to end does so, each time. Two handlers of one signal once waited for
// each other about every second time.
func TestBoardEndsAtASignal(t *testing.T) {
	f := gittest.NewFixture(t)
	repo := gittest.Clone(t, f.Env, f.URL)
	repo.Must(t, "init", "--as", "fixer")
	for range 8 {
		terminal := gittest.OpenTerminal(t, 10, 60)
		cmd := exec.Command(gittest.BuildBinary(t), "board")
		cmd.Dir, cmd.Env = repo.Dir, append(repo.Env, "TERM=xterm")
		require.NoError(t, terminal.Start(cmd))
		ended, drawn := make(chan struct{}), make(chan struct{})
		go func() {
			var seen strings.Builder
			b := make([]byte, 4096)
			for n, err := terminal.Read(b); err == nil; n, err = terminal.Read(b) {
				before := strings.Contains(seen.String(), "HANDOFF")
				if seen.Write(b[:n]); !before && strings.Contains(seen.String(), "HANDOFF") {
					close(drawn)
				}
			}
		}()
		go func() {
			_ = cmd.Wait() // its exit code is looked at below
			close(ended)
		}()
		select {
		case <-drawn:
		case <-time.After(time.Minute):
			_ = cmd.Process.Kill()
			require.FailNow(t, "the board shows nothing")
		}
		require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		select {
		case <-ended:
			assert.Equal(t, 130, cmd.ProcessState.ExitCode())
		case <-time.After(time.Minute):
			_ = cmd.Process.Kill()
			require.FailNow(t, "the board goes on")
		}
	}
}
