package gittest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Terminal is a pseudo-terminal. A test writes a person's input to it and reads the output for the screen from
// it. Reading ends when no program has it open.
type Terminal struct {
	person, program *os.File
}

// OpenTerminal makes a terminal, which is closed at the end of the test.
func OpenTerminal(t testing.TB, rows, columns uint16) *Terminal {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = person.Close() })
	fd := int(person.Fd())
	require.NoError(t, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	require.NoError(t, err)
	program, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = program.Close() })
	require.NoError(t, unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns}))
	return &Terminal{person, program}
}

// Start runs a program in the terminal, as the leader of its own session. From then on only the program has the
// terminal open.
func (t *Terminal) Start(cmd *exec.Cmd) error {
	cmd.Stdin, cmd.Stdout, cmd.Stderr = t.program, t.program, t.program
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	return t.program.Close()
}

// Read reads the output for the screen.
func (t *Terminal) Read(b []byte) (int, error) {
	n, err := t.person.Read(b)
	if errors.Is(err, syscall.EIO) { // Linux reports EIO when no program has the terminal open
		err = io.EOF
	}
	return n, err
}

// Write writes a person's input.
func (t *Terminal) Write(b []byte) (int, error) { return t.person.Write(b) }
