package cli_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
	"githandoff/internal/gittest"
)

// hangingHub makes a clone whose hub accepts the connection and never answers. running lists the
// processes of git and ssh that work for it. The ssh ignores SIGTERM if it is stubborn.
func hangingHub(t *testing.T, stubborn bool) (repo *gittest.Repo, running func() []string) {
	t.Helper()
	f := gittest.NewFixture(t)
	repo = gittest.Clone(t, f.Env, f.URL)
	repo.Git(t, "config", "remote.origin.url", "ssh://git@example.invalid/x.git")
	repo.Git(t, "config", "core.sshCommand", "false")
	repo.Must(t, "init", "--as", "fixer")
	repo.Exits(t, 8, "emit", "--to", "boss@origin", "--goal", "stop the 500")
	script, ignore := filepath.Join(t.TempDir(), "ssh"), ""
	if stubborn {
		ignore = "trap '' TERM\n"
	}
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\n"+ignore+"sleep 900\n"), 0o755))
	repo.Git(t, "config", "core.sshCommand", fault.Arg(script))
	repo.Git(t, "config", "ssh.variant", "ssh")
	return repo, func() (found []string) {
		files, err := filepath.Glob("/proc/[0-9]*/cmdline")
		require.NoError(t, err)
		for _, file := range files {
			line, _ := os.ReadFile(file) // it is empty if the process has ended
			if bytes.Contains(line, []byte(script)) {
				found = append(found, filepath.Base(filepath.Dir(file))+" "+strings.ReplaceAll(string(line), "\x00", " "))
			}
		}
		return found
	}
}

// No git, and no ssh, outlives the command for which it waits for a hub.
func TestHangingGitEndsWithItsCommand(t *testing.T) {
	t.Parallel()
	type end func(t *testing.T, cmd *exec.Cmd, in io.Writer)
	signalled := func(s os.Signal) end {
		return func(t *testing.T, cmd *exec.Cmd, _ io.Writer) { assert.NoError(t, cmd.Process.Signal(s)) }
	}
	typed := func(key string) end {
		return func(t *testing.T, _ *exec.Cmd, in io.Writer) {
			_, err := io.WriteString(in, key)
			assert.NoError(t, err)
		}
	}
	atItsDeadline := func(*testing.T, *exec.Cmd, io.Writer) {}
	for name, c := range map[string]struct {
		args     []string
		stubborn bool
		input    string
		end      end
	}{
		"board q":       {args: []string{"board"}, stubborn: true, end: typed("q")},
		"board Ctrl-C":  {args: []string{"board"}, stubborn: true, end: typed("\x03")},
		"board SIGTERM": {args: []string{"board"}, stubborn: true, end: signalled(syscall.SIGTERM)},
		"sync":          {args: []string{"sync"}, stubborn: true, end: signalled(os.Interrupt)},
		"watch":         {args: []string{"watch"}, stubborn: true, end: signalled(syscall.SIGTERM)},
		"mcp": {args: []string{"mcp"}, stubborn: true, end: signalled(syscall.SIGTERM), input: `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"handoff_inbox","arguments":{}}}
`},
		"hook": {args: []string{"hook", "run", "pre-push", "origin", "ssh://git@example.invalid/x.git"}, end: atItsDeadline},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo, running := hangingHub(t, c.stubborn)
			repo.Git(t, "config", "handoff.poll", "1s")
			repo.Git(t, "config", "handoff.hookTimeout", "2")
			cmd := exec.Command(gittest.BuildBinary(t), c.args...)
			cmd.Dir, cmd.Env = repo.Dir, append(repo.Env, "TERM=xterm")
			var in io.Writer
			if c.args[0] == "board" {
				terminal := gittest.OpenTerminal(t, 10, 60)
				require.NoError(t, terminal.Start(cmd))
				go func() { _, _ = io.Copy(io.Discard, terminal) }()
				in = terminal
			} else {
				pipe, err := cmd.StdinPipe()
				require.NoError(t, err)
				require.NoError(t, cmd.Start())
				_, err = io.WriteString(pipe, c.input)
				require.NoError(t, err)
				if in = pipe; c.args[0] == "hook" {
					require.NoError(t, pipe.Close())
				}
			}
			t.Cleanup(func() { _ = cmd.Process.Kill() })
			require.Eventually(t, func() bool { return len(running()) > 0 }, time.Minute, 50*time.Millisecond, "no ssh was started")
			c.end(t, cmd, in)
			_ = cmd.Wait() // whatever its exit code is
			assert.Eventually(t, func() bool { return len(running()) == 0 }, time.Second, 50*time.Millisecond, "%s", running())
		})
	}
}

// A command that waits for a silent hub names the hub on standard error, except with --quiet.
func TestHangingHubIsNamed(t *testing.T) {
	t.Parallel()
	repo, _ := hangingHub(t, false)
	for quiet, limit := range map[bool]time.Duration{false: time.Minute, true: 12 * time.Second} {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		cmd := repo.Command(t, "sync", fmt.Sprintf("--quiet=%v", quiet))
		said, err := cmd.StderrPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		context.AfterFunc(ctx, func() { _ = cmd.Process.Signal(os.Interrupt) })
		lines := bufio.NewScanner(said)
		require.True(t, lines.Scan())
		if quiet {
			assert.Equal(t, "githandoff: interrupted", lines.Text())
		} else {
			assert.Equal(t, "githandoff: waiting for origin …", lines.Text())
		}
		cancel()
		_ = cmd.Wait()
	}
}
