package gittest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
)

func TestEnvLetsNothingIn(t *testing.T) {
	t.Setenv("GIT_DIR", "/nonexistent")
	t.Setenv("GIT_CONFIG_PARAMETERS", "'user.name=Mallory'")
	t.Setenv("SSH_AUTH_SOCK", "/nonexistent/agent")
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	env := gittest.Env(t)

	for _, name := range []string{"GIT_DIR", "GIT_CONFIG_PARAMETERS", "SSH_AUTH_SOCK", "HTTP_PROXY"} {
		assert.Empty(t, gittest.Getenv(env, name), name)
	}
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "GNUPGHOME"} {
		dir := gittest.Getenv(env, name)
		assert.DirExists(t, dir, name)
		assert.NotEqual(t, os.Getenv(name), dir, name)
	}
	repo := gittest.NewRepo(t, env)
	assert.Equal(t, "agent@example.com", repo.Git(t, "config", "user.email"))
	assert.Equal(t, "Agent", repo.Git(t, "config", "user.name"))
	assert.Equal(t, "refs/heads/main", repo.Git(t, "symbolic-ref", "HEAD"))
	for line := range strings.SplitSeq(repo.Git(t, "config", "--list", "--show-scope"), "\n") {
		assert.Regexp(t, `^(global|local)\t`, line)
	}
}

// An installed githandoff is hidden from the tests. All other programs in its directory stay.
func TestEnvHasNoInstalledProgram(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"githandoff", "git-handoff", "another"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), 0o755))
	}
	before := os.Getenv("PATH")
	t.Setenv("PATH", before+":"+dir)
	path := gittest.Getenv(gittest.Env(t), "PATH")
	assert.Equal(t, strings.Count(before, ":")+1, strings.Count(path, ":"))
	t.Setenv("PATH", path)
	for name, found := range map[string]bool{"githandoff": false, "git-handoff": false, "another": true, "git": true} {
		_, err := exec.LookPath(name)
		assert.Equal(t, found, err == nil, "%s: %v", name, err)
	}
}

func TestEnvIsOneUserEach(t *testing.T) {
	a, b := gittest.Env(t), gittest.Env(t)
	for _, name := range []string{"HOME", "GNUPGHOME", "GIT_CONFIG_GLOBAL"} {
		assert.NotEqual(t, gittest.Getenv(a, name), gittest.Getenv(b, name), name)
	}
}

func TestEnvEndsWithItsTest(t *testing.T) {
	gittest.Need(t, "gpg", "gpgconf", "gpg-agent", "gpg-connect-agent")
	var home string
	var agent int
	t.Run("user", func(t *testing.T) {
		env := gittest.Env(t)
		home = gittest.Getenv(env, "GNUPGHOME")
		gpg(t, env, "gpg", "--batch", "--passphrase", "", "--quick-gen-key", "alice@example.com", "ed25519")
		assert.Less(t, len(filepath.Join(home, "S.gpg-agent.browser")), 108)

		for line := range strings.SplitSeq(gpg(t, env, "gpg-connect-agent", "getinfo pid", "/bye"), "\n") {
			if pid, ok := strings.CutPrefix(line, "D "); ok {
				agent, _ = strconv.Atoi(pid)
			}
		}
		require.Positive(t, agent)
		require.NoError(t, syscall.Kill(agent, 0), "the agent runs")
	})
	assert.NoDirExists(t, filepath.Dir(home))
	assert.Eventually(t, func() bool { return gone(agent) }, 5*time.Second, 10*time.Millisecond, "the agent is gone")
}

func gpg(t *testing.T, env []string, args ...string) string {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = env
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

// gone reports whether a process has ended. A zombie counts as ended, because not every container has an init
// that waits for it.
func gone(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return syscall.Kill(pid, 0) == syscall.ESRCH
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(state, "Z")
}

func TestFixedDatesMakeEqualCommits(t *testing.T) {
	env := gittest.FixedDates(gittest.Env(t))
	one := gittest.NewRepo(t, env).Commit(t, "a", "1\n", "first")
	two := gittest.NewRepo(t, env).Commit(t, "a", "1\n", "first")
	assert.Equal(t, one, two)
}

func TestGetenv(t *testing.T) {
	env := []string{"A=1", "AB=2", "A=3=4", "EMPTY="}
	for name, want := range map[string]string{"A": "3=4", "AB": "2", "EMPTY": "", "B": ""} {
		assert.Equal(t, want, gittest.Getenv(env, name), name)
	}
}
