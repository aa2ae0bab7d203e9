package gitexec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// The exit codes of shells for a program which could not be started.
const (
	cannotRun = 126
	NotFound  = 127
)

// Pipe runs a program in the foreground with the given standard streams and returns its exit
// code, 128 and the number of the signal if one ended it: how "capture -- CMD" runs an agent.
// While it runs, signals are left to the program: those sent to this process alone are passed on
// to it, and end neither. A program which cannot be started gives 126 or 127, as in shells, and
// an error. It is killed when ctx ends, and never gets $GITHANDOFF_KEY.
func Pipe(ctx context.Context, dir string, env, argv []string, in io.Reader, out, errw io.Writer) (int, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, withoutKey(env)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, errw

	signals := make(chan os.Signal, 16)
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2} {
		if !signal.Ignored(s) { // an ignored signal stays ignored in children: nohup keeps its effect
			signal.Notify(signals, s)
		}
	}
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		code := cannotRun
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
			code = NotFound
		}
		return code, fmt.Errorf("run %s: %w", argv[0], err)
	}
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		for {
			select {
			case <-ended:
				return
			case s := <-signals:
				if fromTerminal(s) {
					continue // the child has it from the terminal
				}
				_ = cmd.Process.Signal(s) // an error means that the process has ended
			}
		}
	}()
	err := cmd.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		if s, ok := exit.Sys().(syscall.WaitStatus); ok && s.Signaled() {
			return 128 + int(s.Signal()), nil
		}
		return exit.ExitCode(), nil
	}
	if err != nil {
		return cannotRun, fmt.Errorf("run %s: %w", argv[0], err)
	}
	return 0, nil
}

// fromTerminal reports whether a terminal sends the signal to its whole foreground process group,
// and the group is ours and the program's.
func fromTerminal(s os.Signal) bool {
	if s != syscall.SIGINT && s != syscall.SIGQUIT {
		return false
	}
	tty, err := os.OpenFile("/dev/tty", os.O_RDONLY|syscall.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
