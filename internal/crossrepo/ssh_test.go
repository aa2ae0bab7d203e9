package crossrepo_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/app/finish"
	"githandoff/internal/app/hubsync"
	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/gittest"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/refs"
)

// newSSHFixture returns a hub behind a real sshd, used without any ssh settings of the user. connections returns
// how many connections were made so far.
func newSSHFixture(t *testing.T) (v *fixture, connections func() int) {
	t.Helper()
	v = newHubFixture(t, byPath())
	base, add := gittest.SSH(t, v.Dir)
	program, err := exec.LookPath("ssh")
	require.NoError(t, err)
	options := strings.TrimPrefix(add[0], "GIT_SSH_COMMAND=ssh ")
	bin := t.TempDir()
	script(t, filepath.Join(bin, "ssh"), "exec "+program+" "+options+` "$@"`)

	// git on the server's side logs the connection through which it was reached.
	log := filepath.Join(v.Dir, "connections")
	for _, git := range []string{"git-upload-pack", "git-receive-pack"} {
		script(t, filepath.Join(bin, git), `echo "$SSH_CONNECTION" >>`+fault.Arg(log)+"\nexec git "+strings.TrimPrefix(git, "git-")+` "$@"`)
	}
	run, err := os.MkdirTemp("/tmp", "r") // t.TempDir is too long for a socket
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(run) })
	path := bin + string(os.PathListSeparator) + os.Getenv("PATH")
	t.Setenv("PATH", path)
	v.URL = base + "/hub.git"
	v.Env = append(v.Env, "PATH="+path, "XDG_RUNTIME_DIR="+run,
		"GIT_CONFIG_COUNT=2",
		"GIT_CONFIG_KEY_0=remote.origin.uploadpack", "GIT_CONFIG_VALUE_0="+fault.Arg(filepath.Join(bin, "git-upload-pack")),
		"GIT_CONFIG_KEY_1=remote.origin.receivepack", "GIT_CONFIG_VALUE_1="+fault.Arg(filepath.Join(bin, "git-receive-pack")))
	return v, func() int {
		raw, err := os.ReadFile(log)
		require.NoError(t, err)
		seen := map[string]bool{}
		for line := range strings.Lines(string(raw)) {
			seen[line] = true
		}
		return len(seen)
	}
}

func script(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755))
}

// All gits of a handoff's life use one ssh connection, from one clone and from another clone of the same user.
// With handoff.sshShare=false each git makes its own.
func TestSSHConnectionIsShared(t *testing.T) {
	v, connections := newSSHFixture(t)
	source, fixer := v.agent(t, "investigator"), v.agent(t, "fixer")
	life := func() {
		v.emit(t, source, "fixer")
		g := fixer.resume(t, "")
		commit := v.Hub.Git(t, "commit-tree", "-m", "work", v.Hub.Git(t, "mktree"))
		p := lifecycle.Place{Agent: "fixer", ID: g.Claim.ID}
		v.Hub.Git(t, "update-ref", refs.LocalNamespace.Work(p.Agent, p.ID), commit)
		require.NoError(t, fixer.home.(*crossrepo.Hub).FetchWork(t.Context(), p, commit))
		_, err := v.take(fixer, g, record.Acknowledged, "")
		require.NoError(t, err)
		_, err = hubsync.New(source.Workspace, finish.New(source.Workspace)).Sync(t.Context(), nil)
		require.NoError(t, err)
	}
	life()
	assert.Equal(t, 1, connections(), "one handshake")

	for _, s := range []*agent{source, fixer} {
		s.git.Git(t, "config", "handoff.sshShare", "false")
	}
	source, fixer = v.open(t, "investigator", source.Engine.Author.Signer, source.git), v.open(t, "fixer", fixer.Engine.Author.Signer, fixer.git)
	life()
	assert.Greater(t, connections(), 5, "a handshake for each git")
}

// A socket whose process died does not prevent a new connection.
func TestStaleSSHSocket(t *testing.T) {
	v, connections := newSSHFixture(t)
	source := v.agent(t, "investigator")
	v.agent(t, "fixer")
	v.emit(t, source, "fixer")
	var run string
	for _, kv := range v.Env {
		if rest, ok := strings.CutPrefix(kv, "XDG_RUNTIME_DIR="); ok {
			run = rest
		}
	}
	sockets, err := filepath.Glob(filepath.Join(run, "githandoff", "*"))
	require.NoError(t, err)
	require.Len(t, sockets, 1)
	out, err := exec.Command("ssh", "-o", "ControlPath="+sockets[0], "-O", "check", "x").CombinedOutput()
	require.NoError(t, err, "%s", out)
	_, pid, _ := strings.Cut(string(out), "pid=")
	pid, _, _ = strings.Cut(pid, ")")
	require.NoError(t, exec.Command("kill", "-KILL", pid).Run())
	v.emit(t, source, "fixer")
	assert.Equal(t, 2, connections())
}
