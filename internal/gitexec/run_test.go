package gitexec_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gitexec"
	"githandoff/internal/gittest"
)

func runner(t *testing.T) *gitexec.Runner {
	t.Helper()
	return &gitexec.Runner{Dir: t.TempDir(), Env: gitexec.Environ(gittest.Env(t))}
}

func sh(script string) gitexec.Cmd { return gitexec.Cmd{Name: "sh", Args: []string{"-c", script}} }

func TestRunGit(t *testing.T) {
	r := runner(t)
	out, err := r.Run(t.Context(), gitexec.Cmd{Args: []string{"hash-object", "--stdin"}, Stdin: strings.NewReader("hello\n")})
	require.NoError(t, err)
	assert.Equal(t, "ce013625030ba8dba906f756967f9e9ca394464a\n", string(out))
	assert.EqualValues(t, 1, r.Started())
}

// No hook runs, whatever the repository's settings are.
func TestRunGitWithoutHooks(t *testing.T) {
	env := gittest.Env(t)
	repo := gittest.NewRepo(t, env)
	oid := repo.Commit(t, "a", "a", "first")
	mark := filepath.Join(t.TempDir(), "ran")
	hook := filepath.Join(repo.Dir, ".git/hooks/reference-transaction")
	require.NoError(t, os.WriteFile(hook, []byte("#!/bin/sh\ntouch '"+mark+"'\n"), 0o755))
	repo.Git(t, "update-ref", "refs/heads/a", oid)
	require.FileExists(t, mark, "the hook is a hook")
	require.NoError(t, os.Remove(mark))

	r := &gitexec.Runner{Dir: repo.Dir, Env: gitexec.Environ(env)}
	_, err := r.Run(t.Context(), gitexec.Cmd{Args: []string{"update-ref", "refs/heads/b", oid}})
	require.NoError(t, err)
	assert.NoFileExists(t, mark)
}

// A repository may name a program that says which files changed. git does not ask it.
func TestRunGitWithoutFileMonitor(t *testing.T) {
	env := gittest.Env(t)
	repo := gittest.NewRepo(t, env)
	repo.Commit(t, "a", "a", "first")
	mark := filepath.Join(t.TempDir(), "ran")
	repo.Git(t, "config", "core.fsmonitor", "touch '"+mark+"'; false")
	repo.Git(t, "status")
	require.FileExists(t, mark, "the program runs")
	require.NoError(t, os.Remove(mark))

	r := &gitexec.Runner{Dir: repo.Dir, Env: gitexec.Environ(env)}
	_, err := r.Run(t.Context(), gitexec.Cmd{Args: []string{"status", "--porcelain"}})
	require.NoError(t, err)
	assert.NoFileExists(t, mark)
}

// A replace ref hides the real object from git, but not from githandoff.
func TestRunGitWithoutReplaceObjects(t *testing.T) {
	env := gittest.Env(t)
	repo := gittest.NewRepo(t, env)
	one := repo.Commit(t, "a", "1", "one")
	two := repo.Commit(t, "a", "2", "two")
	repo.Git(t, "replace", two, one)
	require.Contains(t, repo.Git(t, "cat-file", "-p", two), "one")

	r := &gitexec.Runner{Dir: repo.Dir, Env: gitexec.Environ(env)}
	out, err := r.Run(t.Context(), gitexec.Cmd{Args: []string{"cat-file", "-p", two}})
	require.NoError(t, err)
	assert.Contains(t, string(out), "two")
}

func TestRunRefusesUnknownTransports(t *testing.T) {
	r := runner(t)
	mark := filepath.Join(r.Dir, "ran")
	_, err := r.Run(t.Context(), gitexec.Cmd{Args: []string{"ls-remote", "--", "ext::sh -c touch% " + mark}})
	assert.Equal(t, 128, gitexec.ExitCode(err))
	assert.NoFileExists(t, mark)
}

func TestRunErrors(t *testing.T) {
	r := runner(t)
	t.Run("exit code and last line", func(t *testing.T) {
		out, err := r.Run(t.Context(), sh("echo partial; echo one >&2; echo two >&2; exit 7"))
		var e *gitexec.Error
		require.ErrorAs(t, err, &e)
		assert.Equal(t, 7, e.Code)
		assert.Equal(t, "one\ntwo", e.Stderr)
		assert.Equal(t, "sh: two", e.Error())
		assert.Equal(t, "partial\n", string(out), "what was written before is returned")
	})
	t.Run("missing program", func(t *testing.T) {
		_, err := r.Run(t.Context(), gitexec.Cmd{Name: "no-such-program"})
		assert.Equal(t, -1, gitexec.ExitCode(err))
		assert.ErrorContains(t, err, "no-such-program")
	})
	t.Run("git names its command", func(t *testing.T) {
		_, err := r.Run(t.Context(), gitexec.Cmd{Args: []string{"cat-file", "-t", "HEAD"}})
		assert.ErrorContains(t, err, "git cat-file: ")
	})
	t.Run("too much output", func(t *testing.T) {
		c := sh("head -c 4096 /dev/zero; echo done >&2")
		c.MaxOutput = 1000
		out, err := r.Run(t.Context(), c)
		require.EqualError(t, err, "sh: done")
		assert.LessOrEqual(t, len(out), 1000)
		for _, size := range []string{"1001", "9000000"} { // git ends by itself, or of its closed pipe
			gittest.WrapGit(t, "exec head -c "+size+" /dev/zero")
			_, err = runner(t).Run(t.Context(), gitexec.Cmd{Args: []string{"log"}, MaxOutput: 1000})
			require.EqualError(t, err, "git log: more than 1000 bytes of output")
			assert.False(t, gitexec.Unexplained(err), "nothing ended it: another try would not help")
		}
	})
	t.Run("the end of a long stderr", func(t *testing.T) {
		_, err := r.Run(t.Context(), sh("head -c 100000 /dev/zero | tr '\\0' x >&2; echo >&2; echo the reason >&2; exit 1"))
		var e *gitexec.Error
		require.ErrorAs(t, err, &e)
		assert.LessOrEqual(t, len(e.Stderr), 16<<10)
		assert.True(t, strings.HasSuffix(e.Stderr, "the reason"))
	})
	t.Run("a signal", func(t *testing.T) {
		_, err := r.Run(t.Context(), sh("echo 'warning: this and that' >&2; echo 'hint: so' >&2; kill -9 $$"))
		assert.EqualError(t, err, "sh: signal: killed", "a warning is no reason")
	})
	t.Run("no exit code", func(t *testing.T) {
		assert.Equal(t, -1, gitexec.ExitCode(errors.New("x")))
		assert.Equal(t, -1, gitexec.ExitCode(nil))
	})
}

// git ends each line and each field of its output. A git that was ended by another program, or lost its pipe, may
// still have exit code 0.
func TestRunOutputCutOff(t *testing.T) {
	for name, tc := range map[string]struct {
		script string
		binary bool
		cut    bool
	}{
		"nothing":    {script: `exit`},
		"lines":      {script: `printf 'a\nb\n'; exit`},
		"fields":     {script: `printf 'a\0b\0'; exit`},
		"no end":     {script: `echo 'warning: x' >&2; printf 'a\nb'; exit`, cut: true},
		"no text":    {script: `printf 'a\nb'; exit`, binary: true},
		"no process": {script: `kill -9 $$`, cut: true},
	} {
		t.Run(name, func(t *testing.T) {
			gittest.WrapGit(t, tc.script)
			_, err := runner(t).Run(t.Context(), gitexec.Cmd{Args: []string{"-c", "a.b=c", "status"}, Binary: tc.binary})
			assert.Equal(t, tc.cut, err != nil, "%v", err)
			assert.Equal(t, tc.cut, gitexec.Unexplained(err))
			assert.Equal(t, tc.cut, gitexec.Ran(err))
		})
	}
	_, err := runner(t).Run(t.Context(), sh("printf a"))
	require.NoError(t, err, "another program may end its output as it likes")
	gittest.WrapGit(t, `printf a; exit`)
	_, err = runner(t).Run(t.Context(), gitexec.Cmd{Name: "git", Args: []string{"status"}})
	assert.EqualError(t, err, "git status: its output ends in the middle")
	assert.ErrorIs(t, err, gitexec.ErrCutOff)

	gittest.WrapGit(t, `echo 'fatal: no' >&2; exit 128`)
	_, err = runner(t).Run(t.Context(), gitexec.Cmd{Args: []string{"status"}})
	assert.False(t, gitexec.Unexplained(err), "it said why: %v", err)
	assert.False(t, gitexec.Unexplained(errors.New("x")))
}

func TestRunEndsInTime(t *testing.T) {
	r := runner(t)
	c := sh("sleep 30 & wait")
	c.Timeout = 100 * time.Millisecond
	begin := time.Now()
	_, err := r.Run(t.Context(), c)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.Less(t, time.Since(begin), 10*time.Second)
}

// An ssh may ignore the signal that ends its git. It is ended nevertheless.
func TestRunEndsStubbornChildren(t *testing.T) {
	t.Parallel()
	r := runner(t)
	c := sh(`trap "" TERM; sleep 300 & echo $!; trap - TERM; wait`)
	c.Timeout = 200 * time.Millisecond
	out, err := r.Run(t.Context(), c)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	child, err := strconv.Atoi(strings.TrimSpace(string(out)))
	require.NoError(t, err)
	assert.Eventually(t, func() bool { return gone(child) }, 5*time.Second, 10*time.Millisecond)
}

func TestRunCancelled(t *testing.T) {
	r := runner(t)
	mark := filepath.Join(r.Dir, "finished")
	for _, finish := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(50*time.Millisecond, cancel)
		c := sh("sleep 0.3; touch '" + mark + "'")
		c.Finish = finish
		_, err := r.Run(ctx, c)
		if finish {
			require.NoError(t, err)
			assert.FileExists(t, mark)
			continue
		}
		require.ErrorIs(t, err, context.Canceled)
		assert.NoFileExists(t, mark)
	}
}

// A program that is allowed to finish is ended after a time limit if the command was interrupted.
func TestFinishHasAnEnd(t *testing.T) {
	t.Parallel()
	r := runner(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := sh("exec sleep 60")
	c.Finish = true
	start := time.Now()
	_, err := r.Run(ctx, c)
	require.ErrorIs(t, err, context.Canceled)
	assert.Less(t, time.Since(start), 30*time.Second)
}

// A signal to this process group, such as that of Ctrl-C, does not reach a child.
func TestChildrenHaveASessionOfTheirOwn(t *testing.T) {
	r := runner(t)
	out, err := r.Run(t.Context(), sh("cut -d' ' -f5,6 /proc/$$/stat; echo $$"))
	require.NoError(t, err)
	f := strings.Fields(string(out))
	require.Len(t, f, 3)
	assert.Equal(t, f[2], f[0], "leads its process group")
	assert.Equal(t, f[2], f[1], "leads its session")
}

func TestStart(t *testing.T) {
	r := runner(t)
	p, err := r.Start(t.Context(), sh("while read -r line; do echo \"got $line\"; done; exit 3"))
	require.NoError(t, err)
	out := bufio.NewReader(p.Out)
	for _, word := range []string{"one", "two"} {
		_, err := io.WriteString(p.In, word+"\n")
		require.NoError(t, err)
		answer, err := out.ReadString('\n')
		require.NoError(t, err)
		assert.Equal(t, "got "+word+"\n", answer)
	}
	assert.Equal(t, 3, gitexec.ExitCode(p.Close()))
}

// The error of a process that cannot be started states the reason.
func TestStartFails(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	_, err := runner(t).Start(t.Context(), gitexec.Cmd{Name: none})
	require.ErrorIs(t, err, fs.ErrNotExist)

	r := runner(t)
	r.Dir = none
	_, err = r.Start(t.Context(), gitexec.Cmd{Args: []string{"-c", "a.b=c", "--config-env=d.e=HOME", "config", "--list"}})
	require.ErrorIs(t, err, fs.ErrNotExist)
	assert.ErrorContains(t, err, "git config: ")
}

func TestLeaveReaps(t *testing.T) {
	p, err := runner(t).Start(t.Context(), sh("echo $$; read -r line"))
	require.NoError(t, err)
	line, err := bufio.NewReader(p.Out).ReadString('\n')
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err)
	p.Leave()
	assert.Eventually(t, func() bool { return syscall.Kill(pid, 0) != nil }, 5*time.Second, 10*time.Millisecond,
		"a zombie can still be sent a signal")
}

func TestKillEndsTheWholeSession(t *testing.T) {
	r := runner(t)
	p, err := r.Start(t.Context(), sh("sleep 300 & echo $!; wait"))
	require.NoError(t, err)
	line, err := bufio.NewReader(p.Out).ReadString('\n')
	require.NoError(t, err)
	child, err := strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err)
	p.Kill()
	assert.Eventually(t, func() bool { return gone(child) }, 5*time.Second, 10*time.Millisecond)
}

// gone reports whether a process has ended. A zombie that nobody waits for counts as ended.
func gone(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return true
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err != nil || bytes.Contains(stat, []byte(") Z "))
}

func TestPipe(t *testing.T) {
	env := gittest.Env(t)
	for _, tc := range []struct {
		script string
		code   int
	}{{"exit 0", 0}, {"exit 42", 42}, {"kill -TERM $$", 128 + 15}, {"kill -KILL $$", 128 + 9}} {
		code, err := gitexec.Pipe(t.Context(), t.TempDir(), env, []string{"sh", "-c", tc.script}, nil, nil, nil)
		require.NoError(t, err)
		assert.Equal(t, tc.code, code, tc.script)
	}
	var out, errw bytes.Buffer
	dir := t.TempDir()
	code, err := gitexec.Pipe(t.Context(), dir, append(env, "WORD=hello"), []string{"sh", "-c", "cat; echo $WORD; pwd; echo no >&2"},
		strings.NewReader("in\n"), &out, &errw)
	require.NoError(t, err)
	assert.Zero(t, code)
	assert.Equal(t, "in\nhello\n"+dir+"\n", out.String())
	assert.Equal(t, "no\n", errw.String())

	_, err = gitexec.Pipe(t.Context(), dir, env, []string{"no-such-program"}, nil, nil, nil)
	assert.ErrorContains(t, err, "run no-such-program")
}
