package sshshare

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/enginetest"
	"githandoff/internal/gittest"
)

func TestHostOf(t *testing.T) {
	for address, want := range map[string][2]string{
		"ssh://git@example.com/a":        {"git@example.com", ""},
		"ssh://git@example.com:2222/a":   {"git@example.com", "2222"},
		"ssh://[2001:db8::1]:2222/a":     {"2001:db8::1", "2222"},
		"git@example.com:acme/client":    {"git@example.com", ""},
		"work:acme/client":               {"work", ""},
		"[example.com:2222]:acme/client": {"example.com", "2222"},
		"git@[::1]:acme/client":          {"git@::1", ""},
		"git@[a.b:22]:acme/client":       {"git@a.b", "22"},
	} {
		target, port, ok := hostOf(address)
		require.True(t, ok, address)
		assert.Equal(t, want, [2]string{target, port}, address)
	}
	for _, address := range []string{"/srv/hub.git", "https://example.com/a", "git://example.com/a", "file:///srv/hub", "./a:b"} {
		_, _, ok := hostOf(address)
		assert.False(t, ok, address)
	}
}

// If the user has ssh settings of their own, they are kept, and the reason is returned.
func TestUsersSSHSettingsAreKept(t *testing.T) {
	assert.Empty(t, ownControl("user git\ncontrolmaster false\ncontrolpersist no\n"))
	assert.Empty(t, ownControl("controlmaster no\ncontrolpath none\n"))
	assert.Contains(t, ownControl("controlmaster auto\n"), "ControlMaster")
	assert.Contains(t, ownControl("controlmaster false\ncontrolpath /run/x\n"), "ControlPath")
	assert.Contains(t, ownControl("user git\n"), "not an OpenSSH")
}

// A socket needs a directory that only this user can use, and a short path.
func TestSocketDir(t *testing.T) {
	short, err := os.MkdirTemp("/tmp", "s")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(short) })
	env := func(vars ...string) []string { return vars }

	dir, why := socketDir(env("XDG_RUNTIME_DIR=" + short))
	assert.Empty(t, why)
	assert.Equal(t, filepath.Join(short, "githandoff"), dir)
	info, err := os.Stat(dir)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o700), info.Mode().Perm())

	long := filepath.Join(short, strings.Repeat("d", 60))
	require.NoError(t, os.Mkdir(long, 0o700))
	dir, why = socketDir(env("XDG_RUNTIME_DIR="+long, "TMPDIR="+short))
	assert.Empty(t, why)
	assert.Equal(t, short, filepath.Dir(dir), "another place where the path would be too long")
	assert.LessOrEqual(t, len(dir)+1+hashed+pending, longest)
	dir, _ = socketDir(env("XDG_RUNTIME_DIR=run", "TMPDIR="+short))
	assert.Equal(t, short, filepath.Dir(dir), "a path that is not absolute is none")

	require.NoError(t, os.Chmod(short, 0o777))
	_, why = socketDir(env("XDG_RUNTIME_DIR=" + short))
	assert.Contains(t, why, "others could exchange", "in a directory where anybody could put another one in its place")
	require.NoError(t, os.Chmod(short, 0o777|os.ModeSticky))
	_, why = socketDir(env("XDG_RUNTIME_DIR=" + short))
	assert.Empty(t, why)
	open := filepath.Join(short, "open")
	require.NoError(t, os.Mkdir(open, 0o700))
	require.NoError(t, os.Chmod(short, 0o777))
	_, why = socketDir(env("XDG_RUNTIME_DIR=" + open))
	assert.Contains(t, why, "others could exchange", "nor above it")
	require.NoError(t, os.Chmod(short, 0o700))
	if os.Getuid() == 0 {
		require.NoError(t, os.Chown(open, 65533, 65533))
		_, why = socketDir(env("XDG_RUNTIME_DIR=" + open))
		assert.Contains(t, why, "others could exchange", "of another user, after su")
	}

	require.NoError(t, os.Chmod(filepath.Join(short, "githandoff"), 0o755))
	_, why = socketDir(env("XDG_RUNTIME_DIR=" + short))
	assert.Contains(t, why, "not a directory of this user alone")
	require.NoError(t, os.Remove(filepath.Join(short, "githandoff")))
	require.NoError(t, os.Symlink(long, filepath.Join(short, "githandoff")))
	_, why = socketDir(env("XDG_RUNTIME_DIR=" + short))
	assert.Contains(t, why, "not a directory of this user alone")
}

// Any of these settings of the user keeps ssh unchanged.
func TestFor(t *testing.T) {
	bin := t.TempDir()
	write := func(text string) {
		require.NoError(t, os.WriteFile(filepath.Join(bin, "ssh"), []byte("#!/bin/sh\n"+text), 0o755))
	}
	run, err := os.MkdirTemp("/tmp", "s")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(run) })
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	base := append(gittest.Env(t), "PATH="+os.Getenv("PATH"), "XDG_RUNTIME_DIR="+run)
	share := func(env []string, config ...string) Sharing {
		git := gittest.NewRepo(t, base)
		for i := 0; i < len(config); i += 2 {
			git.Git(t, "config", config[i], config[i+1])
		}
		repo := enginetest.Open(t, &gittest.Repo{Dir: git.Dir, Env: append(base, env...)})
		return For(t.Context(), repo, "ssh://git@example.com:2222/hub.git")
	}
	write(`test "$*" = "-G -p 2222 -- git@example.com" && echo controlmaster false`)
	got := share(nil)
	assert.Empty(t, got.Why)
	require.Len(t, got.Env, 1)
	assert.Equal(t, "GIT_SSH_COMMAND=ssh -o ControlMaster=auto -o ControlPersist=10 -o ControlPath="+run+"/githandoff/%C", strings.ReplaceAll(got.Env[0], "'", ""))

	for want, s := range map[string]Sharing{
		"handoff.sshShare is false": share(nil, "handoff.sshShare", "false"),
		"core.sshCommand is set":    share(nil, "core.sshCommand", ""),
		"ssh.variant is set":        share(nil, "ssh.variant", "plink"),
		"GIT_SSH is set":            share([]string{"GIT_SSH=/usr/bin/plink"}),
		"GIT_SSH_COMMAND is set":    share([]string{"GIT_SSH_COMMAND=ssh -4"}),
		"GIT_SSH_VARIANT is set":    share([]string{"GIT_SSH_VARIANT=simple"}),
	} {
		assert.Equal(t, want, s.Why)
		assert.Empty(t, s.Env)
	}
	write("exit 1")
	assert.Contains(t, share(nil).Why, "not an OpenSSH")
	write("echo controlmaster false; echo controlpath /home/me/.ssh/%C")
	assert.Contains(t, share(nil).Why, "ControlPath")
}
