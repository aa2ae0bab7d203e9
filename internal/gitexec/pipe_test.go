package gitexec_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gitexec"
)

// A signal that is sent only to this process is passed on, and the program decides what to do.
func TestPipe_signal(t *testing.T) {
	dir := t.TempDir()
	ready := filepath.Join(dir, "ready")
	go func() {
		for {
			if _, err := os.Stat(ready); err == nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		assert.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGUSR1))
	}()
	env := []string{"PATH=" + os.Getenv("PATH")}
	code, err := gitexec.Pipe(t.Context(), dir, env, []string{"sh", "-c", "trap 'exit 9' USR1; : >ready; while :; do sleep 0.02; done"}, nil, nil, nil)
	require.NoError(t, err)
	assert.Equal(t, 9, code)
}

// A program that is run for a user does not get the private key.
func TestPipe_key(t *testing.T) {
	var out bytes.Buffer
	env := []string{"PATH=" + os.Getenv("PATH"), gitexec.KeyVariable + "=secret", gitexec.KeyVariable + "S=shown"}
	_, err := gitexec.Pipe(t.Context(), "", env, []string{"env"}, nil, &out, nil)
	require.NoError(t, err)
	assert.NotContains(t, out.String(), "secret")
	assert.Contains(t, out.String(), "shown")

	t.Setenv(gitexec.KeyVariable, "secret")
	out.Reset()
	program, err := exec.LookPath("env")
	require.NoError(t, err)
	_, err = gitexec.Pipe(t.Context(), "", nil, []string{program}, nil, &out, nil)
	require.NoError(t, err)
	assert.NotContains(t, out.String(), "secret")
}

func TestPipe_cannotRun(t *testing.T) {
	plain := filepath.Join(t.TempDir(), "plain")
	require.NoError(t, os.WriteFile(plain, nil, 0o600))
	for program, want := range map[string]int{"no-such-program": 127, "/no/such/program": 127, plain: 126} {
		code, err := gitexec.Pipe(t.Context(), "", nil, []string{program}, nil, nil, nil)
		assert.ErrorContains(t, err, "run "+program)
		assert.Equal(t, want, code, program)
	}
}
