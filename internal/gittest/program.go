package gittest

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Result is the outcome of one run of githandoff.
type Result struct {
	Stdout, Stderr string
	Code           int // exit code; -1 if killed
	Took           time.Duration
}

func (r Result) String() string {
	return fmt.Sprintf("exit %d\n%s%s", r.Code, r.Stdout, r.Stderr)
}

// Command returns a command that runs githandoff in the repository. It is not started.
func (r *Repo) Command(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(BuildBinary(t), args...)
	cmd.Dir, cmd.Env = r.Dir, r.Env
	cmd.WaitDelay = 2 * time.Minute // children of the program may hold the pipes
	return cmd
}

// Run runs githandoff in the repository to its end. It may be called from any goroutine.
func (r *Repo) Run(t testing.TB, args ...string) Result {
	t.Helper()
	return Finish(t, r.Command(t, args...))
}

// Must runs githandoff, which must succeed, and returns its standard output without surrounding space.
func (r *Repo) Must(t testing.TB, args ...string) string {
	t.Helper()
	return r.Exits(t, 0, args...)
}

// Exits runs githandoff, which must exit with this code, and returns its standard output without surrounding
// space.
func (r *Repo) Exits(t testing.TB, code int, args ...string) string {
	t.Helper()
	result := r.Run(t, args...)
	require.Equal(t, code, result.Code, "githandoff %s: %s", strings.Join(args, " "), result)
	return strings.TrimSpace(result.Stdout)
}

// Refuses runs githandoff, which must exit with this code and print these words on standard error. The test goes
// on if it does not.
func (r *Repo) Refuses(t testing.TB, code int, words []string, args ...string) Result {
	t.Helper()
	result := r.Run(t, args...)
	assert.Equal(t, code, result.Code, "githandoff %s: %s", strings.Join(args, " "), result)
	for _, w := range words {
		assert.Contains(t, result.Stderr, w, "githandoff %s", strings.Join(args, " "))
	}
	return result
}

// Finish starts a command, calls the functions of started, and waits for the end of the command, whatever its
// outcome.
func Finish(t testing.TB, cmd *exec.Cmd, started ...func()) Result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		t.Errorf("start %s: %v", cmd.Args, err)
		return Result{Code: -1}
	}
	for _, f := range started {
		f()
	}
	err := cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Errorf("run %s: %v", cmd.Args, err)
	}
	return Result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode(), time.Since(begin)}
}
