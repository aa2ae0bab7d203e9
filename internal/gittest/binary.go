package gittest

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// built is a program that was built for this test process.
type built struct {
	path string
	// lifeline is never closed. The shell of removeAtExit sees its end when this process is gone.
	lifeline io.Closer
}

// buildOnce builds the program once in this process.
var buildOnce = sync.OnceValues(build)

// BuildBinary returns the path of a githandoff built from this source tree. It builds the program once in a test
// process. If $GITHANDOFF_TEST_BINARY is set, it returns that path instead.
func BuildBinary(t testing.TB) string {
	t.Helper()
	if path := os.Getenv("GITHANDOFF_TEST_BINARY"); path != "" {
		path, err := filepath.Abs(path)
		require.NoError(t, err)
		require.FileExists(t, path)
		return path
	}
	binary, err := buildOnce()
	require.NoError(t, err)
	return binary.path
}

// coverVariable names a directory to which the processes that tests start write their coverage, since "go test"
// uses GOCOVERDIR itself.
const coverVariable = "GITHANDOFF_COVER"

// Cover returns the variable by which a process knows where to write its coverage; none if nobody measures it. A
// process without it writes a warning.
func Cover() []string {
	if dir := os.Getenv(coverVariable); dir != "" {
		return []string{"GOCOVERDIR=" + dir}
	}
	return nil
}

func build() (*built, error) {
	if err := readSource(); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "githandoff-test-")
	if err != nil {
		return nil, err
	}
	lifeline, err := removeAtExit(dir)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "githandoff")
	args := []string{"build", "-o", path, "githandoff/cmd/githandoff"}
	if os.Getenv(coverVariable) != "" {
		args = slices.Insert(args, 1, "-cover", "-coverpkg=githandoff/...")
	}
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as in the Makefile
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build githandoff: %w\n%s", err, out)
	}
	return &built{path, lifeline}, nil
}

// readSource lists the directories of the program's source. "go test" caches a result until something changes
// that the test itself opened, and a directory counts with its files. Otherwise the cached result of a test that
// only starts the program would outlive a change of the program.
func readSource() error {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return fmt.Errorf("find the source of githandoff: %w", err)
	}
	for _, dir := range []string{"cmd", "internal", "hooks", "plugins", "extensions"} {
		err := filepath.WalkDir(filepath.Join(strings.TrimSpace(string(out)), dir), func(_ string, _ fs.DirEntry, err error) error { return err })
		if err != nil {
			return err
		}
	}
	return nil
}

// removeAtExit removes dir when this process has ended, for whatever reason. Go runs nothing at exit, so a shell
// waits for the end of its input.
func removeAtExit(dir string) (io.Closer, error) {
	cmd := exec.Command("sh", "-c", `trap "" HUP INT TERM; read -r _; rm -rf -- "$1"`, "sh", dir)
	lifeline, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	return lifeline, cmd.Start()
}
