package hooks

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// crashVar makes the test binary install and uninstall over and over, in the directory that it names, until it
// is killed.
const crashVar = "GITHANDOFF_TEST_HOOKS_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashVar); dir != "" {
		fmt.Println("ready")
		for {
			if _, err := Install(dir, Names(), ""); err != nil {
				panic(err)
			}
			if _, err := Uninstall(dir, Names()); err != nil {
				panic(err)
			}
		}
	}
	os.Exit(m.Run())
}

// Whenever the process is killed, the files that it leaves run the user's hook once. A new Install completes the
// step, and Uninstall restores the directory.
func TestInstall_killed(t *testing.T) {
	r := newRepo(t)
	dir := r.hooksDir()
	r.hook("post-merge")
	require.NoError(t, os.Symlink("post-merge", filepath.Join(dir, "post-checkout")))
	before := snapshot(t, dir)

	for range 25 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), crashVar+"="+dir)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		_, err = out.Read(make([]byte, 1))
		require.NoError(t, err)
		time.Sleep(rand.N(20 * time.Millisecond))
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait() // killed

		for _, name := range []string{"post-merge", "post-checkout"} {
			r.run(r.dir, filepath.Join(dir, name), "a", "b", "0")
			require.Equal(t, 1, strings.Count(r.recorded(), "before [a] [b] [0]\n"), name)
		}
		results, err := Install(dir, Names(), "")
		require.NoError(t, err)
		for _, r := range results {
			if _, had := before[r.Name]; had {
				require.Equal(t, Chained, r.After)
			} else {
				require.Equal(t, Ours, r.After)
			}
		}
		_, err = Uninstall(dir, Names())
		require.NoError(t, err)
		require.Equal(t, before, snapshot(t, dir))
	}
	assert.Empty(t, r.recorded())
}
