package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
)

// A user without an entry in the user database, as containers have them, and without HOME:
// githandoff guesses nothing and writes nothing into the clone. With a directory that the user
// names, all works.
func TestNobodysHome(t *testing.T) {
	gittest.NeedRoot(t)
	const uid = 54321
	dir, err := os.MkdirTemp("/tmp", "gh-")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chmod(dir, 0o755))
	program, err := os.ReadFile(gittest.BuildBinary(t))
	require.NoError(t, err)
	githandoff := filepath.Join(dir, "githandoff")
	require.NoError(t, os.WriteFile(githandoff, program, 0o755))
	work := filepath.Join(dir, "work")
	require.NoError(t, os.Mkdir(work, 0o755))
	require.NoError(t, os.Chown(work, uid, uid))

	run := func(env []string, name string, args ...string) (string, int) {
		cmd := exec.Command(name, args...)
		cmd.Dir = work
		cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1", gittest.DefaultObjects(), "LC_ALL=C"}, env...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		out, _ := cmd.CombinedOutput()
		return string(out), cmd.ProcessState.ExitCode()
	}
	out, code := run(nil, "git", "init", "--quiet", "-b", "main", ".")
	require.Zero(t, code, out)
	for _, env := range [][]string{nil, {"HOME="}, {"HOME=."}, {"HOME=sub/home"}} {
		for _, args := range [][]string{{"init", "--as", "ci"}, {"key", "generate", "ci"}, {"trust", "list"}, {"key", "show"}, {"setup"}} {
			out, code := run(env, githandoff, args...)
			assert.Equal(t, 2, code, "%v %v: %s", env, args, out)
			assert.Contains(t, out, "githandoff: $HOME is not an absolute path, and the user database has no home directory of user 54321\n")
			assert.Regexp(t, "hint: # set HOME( or XDG_(DATA|CONFIG)_HOME)? to the absolute path", out)
		}
	}
	// A home that its image opened to a group is not this user's to close. Nor is the file /dev/null one.
	open := filepath.Join(dir, "open")
	require.NoError(t, os.MkdirAll(open+"/.config", 0o755))
	require.NoError(t, os.Chmod(open+"/.config", 0o775))
	out, code = run([]string{"HOME=" + open}, githandoff, "init", "--as", "ci")
	assert.Equal(t, 4, code, out)
	assert.NotContains(t, out, "chmod")
	assert.Contains(t, out, "hint: # set XDG_CONFIG_HOME to a directory that only this user can change\n")
	require.NoError(t, os.Chmod(open+"/.config", 0o755))
	require.NoError(t, os.Chown(open+"/.config", uid+1, uid+1))
	out, code = run([]string{"HOME=" + open}, githandoff, "init", "--as", "ci")
	assert.Equal(t, 4, code, out)
	assert.Contains(t, out, "hint: # set XDG_CONFIG_HOME to a directory that only this user can change\n")
	out, code = run([]string{"HOME=/dev/null"}, githandoff, "init", "--as", "ci")
	assert.Equal(t, 2, code, out)
	assert.Contains(t, out, "hint: # set HOME or XDG_CONFIG_HOME to the absolute path")
	// A keystore that may only be read has a way around it, even if it was there before.
	keys := filepath.Join(dir, "read/githandoff/keys")
	require.NoError(t, os.MkdirAll(keys, 0o755))
	for d := keys; d != dir; d = filepath.Dir(d) {
		require.NoError(t, os.Chown(d, uid, uid))
	}
	require.NoError(t, os.Chmod(keys, 0o500))
	out, code = run([]string{"HOME=" + dir, "XDG_DATA_HOME=" + dir + "/read"}, githandoff, "init", "--as", "ci")
	assert.Equal(t, 8, code, out)
	assert.Contains(t, out, "hint: # set XDG_DATA_HOME to a directory that this user may write, or give the key in GITHANDOFF_KEY\n")

	left, err := os.ReadDir(work)
	require.NoError(t, err)
	require.Len(t, left, 1, "only .git: %v", left)

	out, code = run([]string{"XDG_DATA_HOME=" + work + "/d", "XDG_CONFIG_HOME=" + work + "/c"}, githandoff, "init", "--as", "ci")
	assert.Zero(t, code, out)
	assert.FileExists(t, filepath.Join(work, "d/githandoff/keys/ci.asc"))
}
