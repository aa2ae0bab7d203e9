package gitexec

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// packetTrace is the variable by which git writes the packets of its protocol to an open
// file descriptor (git(1), GIT_TRACE_PACKET). The pack itself is not among them.
const packetTrace = "GIT_TRACE_PACKET"

// firstExtra is the descriptor of the first of the ExtraFiles of a process.
const firstExtra = 3

// blockSize is the unit of "ulimit -f" in a POSIX shell, in bytes.
const blockSize = 512

// bounded makes a shell start the program under a bound for the files that it writes. The
// shell becomes the program, and its children inherit the bound.
func bounded(maxFile int64, name string, args []string) (string, []string) {
	script := `ulimit -f "$1" 2>/dev/null; shift; exec "$@"` // a bound that is lower already stays
	return "/bin/sh", slices.Concat([]string{"-c", script, "sh", strconv.FormatInt(maxFile/blockSize, 10), name}, args)
}

// run runs cmd. While it runs, c.Heard gets what its git hears from the other side, and
// may end it with cancel.
func run(cmd *exec.Cmd, c Cmd, cancel context.CancelFunc) error {
	if c.Heard == nil || tracesPackets(cmd.Env) { // a user who traces packets gets them all
		return cmd.Run()
	}
	heard, says, err := os.Pipe()
	if err != nil {
		return cmd.Run() // there are no descriptors left: then nobody listens
	}
	cmd.ExtraFiles = []*os.File{says}
	cmd.Env = append(cmd.Environ(), packetTrace+"="+strconv.Itoa(firstExtra))
	err = cmd.Start()
	_ = says.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		listen(heard, c.Heard, cancel)
	}()
	if err == nil {
		err = cmd.Wait()
		// A child that was left behind may hold the pipe open.
		_ = heard.SetReadDeadline(time.Now().Add(time.Second)) //nolint:forbidigo // the kernel compares it with its own clock
	}
	<-done
	_ = heard.Close()
	return err
}

// tracesPackets reports whether an environment asks git for the packets of its protocol.
func tracesPackets(env []string) bool {
	traced := false
	for _, kv := range env {
		if to, ok := strings.CutPrefix(kv, packetTrace+"="); ok {
			traced = to != "" && to != "0" && !strings.EqualFold(to, "false") // git traces nothing then
		}
	}
	return traced
}

// PastMaxFile reports whether a program was ended by the bound for the files that it
// writes: one that it started, or itself. It may be any file, such as a trace of the user's.
func PastMaxFile(err error) bool {
	var e *Error
	if !errors.As(err, &e) {
		return false
	}
	var exit *exec.ExitError
	if errors.As(e.Err, &exit) {
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() && status.Signal() == syscall.SIGXFSZ {
			return true
		}
	}
	said := strings.ToLower(e.Stderr)
	return strings.Contains(said, syscall.SIGXFSZ.String()) || // of a shell
		strings.Contains(said, syscall.EFBIG.Error()) || // where the signal is ignored
		strings.Contains(said, "died of signal "+strconv.Itoa(int(syscall.SIGXFSZ)))
}

// listen reads a trace until it had enough, or to its end. git waits while nobody reads,
// so it stops when the pipe is full.
func listen(trace *os.File, heard func(packet string) (enough bool), cancel context.CancelFunc) {
	lines := bufio.NewReader(trace)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		if _, packet, ok := strings.Cut(line, "< "); ok && heard(strings.TrimSuffix(packet, "\n")) {
			cancel()
			return
		}
	}
}
