package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
)

// boardScreen runs a board and returns what it drew. Each step is a text to wait for, and what is
// typed then.
func boardScreen(t *testing.T, repo *gittest.Repo, env, args []string, steps ...[2]string) string {
	t.Helper()
	return terminalScreen(t, repo, env, append([]string{gittest.BuildBinary(t), "board"}, args...), steps...)
}

// terminalScreen runs a program in a terminal as boardScreen does the board.
func terminalScreen(t *testing.T, repo *gittest.Repo, env, argv []string, steps ...[2]string) string {
	t.Helper()
	terminal := gittest.OpenTerminal(t, 20, 100)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = repo.Dir, append(append(repo.Env, "TERM=xterm"), env...)
	require.NoError(t, terminal.Start(cmd))
	defer time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() }).Stop()
	var seen strings.Builder
	b, from := make([]byte, 4096), 0
	for n, err := terminal.Read(b); err == nil; n, err = terminal.Read(b) {
		if seen.Write(b[:n]); len(steps) > 0 && strings.Contains(seen.String()[from:], steps[0][0]) {
			from = seen.Len()
			_, err = terminal.Write([]byte(steps[0][1]))
			require.NoError(t, err)
			steps = steps[1:]
		}
	}
	require.NoError(t, cmd.Wait(), seen.String())
	assert.Empty(t, steps, seen.String())
	return seen.String()
}

// A board uses colours under the same conditions as every other command.
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
		seen := boardScreen(t, repo, []string{"NO_COLOR=" + tc.noColor}, []string{"--color", tc.flag}, [2]string{"offered", "q"})
		assert.Equal(t, tc.coloured, strings.Contains(seen, "\x1b[36"), tc.name) // cyan
	}
}

// A board names commands for a shell. It does not name the tools of an agent without a shell.
func TestBoardNamesCommands(t *testing.T) {
	f := gittest.NewFixture(t)
	repo := gittest.Clone(t, f.Env, f.URL)
	repo.Must(t, "init", "--as", "fixer")
	repo.Must(t, "emit", "--status", "needs_clarification", "--question", "red or blue?", "--goal", "paint", "--detail", "more of it")
	seen := boardScreen(t, repo, nil, nil, [2]string{"undecided", "o"}, [2]string{"--answer TEXT", "q"}, [2]string{"LEFT", "\r"}, [2]string{"Not shown", "q"}, [2]string{"LEFT", "q"})
	assert.Contains(t, seen, "Answer: githandoff route …")
	assert.NotContains(t, seen, "a person can print")
}

// A board lists a handoff below its parent, whether it is offered or claimed.
func TestBoardShowsChains(t *testing.T) {
	f := gittest.NewFixture(t)
	repo := gittest.Clone(t, f.Env, f.URL)
	repo.Must(t, "init", "--as", "fixer")
	first := strings.TrimSpace(repo.Must(t, "emit", "--to", "fixer", "--goal", "fix it", "--task", "first"))
	repo.Must(t, "emit", "--to", "fixer", "--goal", "another", "--task", "apart")
	child := strings.TrimSpace(repo.Must(t, "emit", "--to", "fixer", "--goal", "look at it", "--parent", first))
	short := child[len(child)-6:]
	seen := boardScreen(t, repo, nil, nil, [2]string{short, "q"})
	assert.Regexp(t, `└…\w*`+short, seen)
	repo.Must(t, "resume", child)
	repo.Must(t, "progress", child)
	seen = boardScreen(t, repo, nil, nil, [2]string{short, "q"})
	assert.Regexp(t, `└…\w*`+short+` +claimed`, seen)
}

// Ctrl-Z suspends the board, and fg continues it. Without a shell, Ctrl-Z does nothing, because nobody
// could continue the board.
func TestBoardSuspends(t *testing.T) {
	f := gittest.NewFixture(t)
	repo := gittest.Clone(t, f.Env, f.URL)
	repo.Must(t, "init", "--as", "fixer")
	repo.Must(t, "emit", "--to", "fixer", "--goal", "fix it")
	const suspend = "\x1a"
	terminalScreen(t, repo, nil, []string{"sh", "-mc", `"$0" board; echo aw""ay; fg`, gittest.BuildBinary(t)},
		[2]string{"offered", suspend}, [2]string{"away", ""}, [2]string{"offered", "q"})
	boardScreen(t, repo, nil, nil, [2]string{"offered", suspend + "?/"}, [2]string{"filter", "\x1b"}, [2]string{"quit", "q"})
}

// No command runs tmux. A library that chooses colours would run it in tmux and screen, to ask which
// colours it has.
func TestNobodyAsksTmux(t *testing.T) {
	f := gittest.NewFixture(t)
	repo := gittest.Clone(t, f.Env, f.URL)
	repo.Must(t, "init", "--as", "fixer")
	repo.Must(t, "emit", "--to", "fixer", "--goal", "fix it")
	bin, asked := t.TempDir(), filepath.Join(t.TempDir(), "asked")
	require.NoError(t, os.WriteFile(filepath.Join(bin, "tmux"), []byte("#!/bin/sh\n: >'"+asked+"'\n"), 0o755))
	env := []string{"TERM=tmux-256color", "TMUX=/tmp/tmux,1,0", "PATH=" + bin + ":" + os.Getenv("PATH")}
	terminalScreen(t, repo, env, []string{gittest.BuildBinary(t), "inbox"})
	boardScreen(t, repo, env, nil, [2]string{"offered", "q"})
	assert.NoFileExists(t, asked)
}

// A board ends each time that it gets a signal to end. Two handlers of one signal once waited for each
// other about every second time.
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
