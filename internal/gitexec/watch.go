package gitexec

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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

// bounded makes a shell start the program under the bounds of c. The shell becomes the program, and
// its children inherit the bounds. A lower hard limit of the user stays. A write beyond the bound for files
// fails, and no signal ends the process: a git writing a larger pack gives up, while another program,
// such as the user's own ssh command with a long log, may go on.
func bounded(c Cmd, name string, args []string) (string, []string) {
	script := ""
	if c.MaxFile > 0 {
		script += fmt.Sprintf(`trap "" XFSZ; ulimit -f %d 2>/dev/null; `, c.MaxFile/blockSize)
	}
	if c.MaxMemory > 0 {
		script += fmt.Sprintf("ulimit -d %d 2>/dev/null; ", c.MaxMemory>>10)
	}
	return "/bin/sh", slices.Concat([]string{"-c", script + `exec "$@"`, "sh", name}, args)
}

// run runs cmd. While it runs, c.OnPacket gets what its git hears from the other side, and may
// end it. A user who traces packets to a file gets a copy of them there.
//
// git is ended by closing the pipe of its trace: it dies of SIGPIPE at its next packet. A signal
// could come while it has just created packed-refs.lock to prune refs, before it knows that the
// file is to be removed, and the lock would stay. A git that has no more packets is ended with
// cancel.
func run(cmd *exec.Cmd, c Cmd, cancel context.CancelFunc) error {
	if c.OnPacket == nil {
		return cmd.Run()
	}
	heard, says, err := os.Pipe()
	if err != nil {
		return cmd.Run() // no file descriptors are left to read packets
	}
	file := packetFile(cmd.Environ())
	cmd.ExtraFiles = []*os.File{says}
	cmd.Env = append(cmd.Environ(), packetTrace+"="+strconv.Itoa(firstExtra))
	err = cmd.Start()
	_ = says.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if listen(heard, file, c.OnPacket) {
			_ = heard.Close()
			time.AfterFunc(killTime, cancel)
		}
	}()
	if err == nil {
		err = cmd.Wait()
		// A child left behind may hold the pipe open.
		_ = heard.SetReadDeadline(time.Now().Add(time.Second)) //nolint:forbidigo // compared by the kernel with its own clock
	}
	<-done
	_ = heard.Close()
	if file != nil {
		_ = file.Close()
	}
	return err
}

// packetFile opens the file to which an environment asks git to append the packets; nil without
// one. Packets for standard error are left out: they would only hide git's last words, which an
// error repeats.
func packetFile(env []string) *os.File {
	path, _ := Lookup(env, packetTrace)
	if !filepath.IsAbs(path) {
		return nil // git too takes only an absolute path as a file
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666) // same flags and mode as git
	if err != nil {
		return nil
	}
	return f
}

// listen reads a trace until it had enough, or to its end, and copies it to a file, which
// may be nil. git waits while nobody reads, so it stops when the pipe is full.
func listen(trace, file *os.File, heard func(packet string) (enough bool)) (enough bool) {
	lines := bufio.NewReaderSize(&seldom{from: trace}, 64<<10)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return false
		}
		if file != nil {
			_, _ = file.WriteString(line) // a trace file that cannot be written must not stop the command
		}
		if _, packet, ok := strings.Cut(line, "< "); ok && heard(strings.TrimSuffix(packet, "\n")) {
			return true
		}
	}
}

// betweenReads is the pause after each read of a trace. git writes each line by itself, and would
// wake a waiting reader for each.
const betweenReads = 500 * time.Microsecond

// seldom reads from a file with pauses, so one read gets many lines.
type seldom struct {
	from  *os.File
	begun bool
}

func (s *seldom) Read(b []byte) (int, error) {
	if s.begun {
		time.Sleep(betweenReads)
	}
	s.begun = true
	return s.from.Read(b)
}

// PastMaxFile reports whether a program, or one started by it, failed because of the bound for
// its files. It may be any file, such as a log of the user's.
func PastMaxFile(err error) bool {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return false
	}
	if exit, ok := errors.AsType[*exec.ExitError](e.Err); ok {
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() && status.Signal() == syscall.SIGXFSZ {
			return true
		}
	}
	said := strings.ToLower(e.Stderr)
	return strings.Contains(said, syscall.SIGXFSZ.String()) || // a shell reports the signal by name
		strings.Contains(said, syscall.EFBIG.Error()) || // a write fails with EFBIG if the signal is ignored
		strings.Contains(said, "died of signal "+strconv.Itoa(int(syscall.SIGXFSZ)))
}
