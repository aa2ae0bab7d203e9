package agenttest

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Screen starts the client as a person does, in a terminal, and returns at once. What it
// prints goes to the file "screen" in the home of the session. It ends with the test.
func (c Client) Screen(t testing.TB, s *Session, m *Model) {
	t.Helper()
	program := c.Find(t)
	require.Equal(t, "claude", c.Name, "only Claude Code was tried in a terminal")
	require.NoError(t, trusted(s))
	master, slave, err := openTerminal()
	require.NoError(t, err)
	env, _ := c.run(s, m.URL)
	cmd := exec.Command(program, append([]string{"--permission-mode", "default"}, s.Args...)...) //nolint:gosec // what the test installed
	cmd.Dir = s.Dir
	cmd.Env = append(append(s.Environ(), env...), "TERM=xterm-256color")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	require.NoError(t, cmd.Start())
	require.NoError(t, slave.Close())
	screen, err := os.Create(filepath.Join(s.Home, "screen"))
	require.NoError(t, err)
	go func() { _, _ = io.Copy(screen, master) }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		end := time.AfterFunc(5*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		end.Stop()
		_ = master.Close()
		_ = screen.Close()
	})
}

// trusted writes what Claude Code asks its user at the first start.
func trusted(s *Session) error {
	dir := filepath.Join(s.Home, ".claude")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, ".claude.json"), []byte(`{"hasCompletedOnboarding":true,"theme":"dark",`+
		`"customApiKeyResponses":{"approved":["mock"],"rejected":[]},"projects":{`+strconv.Quote(s.Dir)+
		`:{"hasTrustDialogAccepted":true,"hasCompletedProjectOnboarding":true}}}`), 0o600)
}

// openTerminal makes a pseudo-terminal of 120 columns and 40 lines.
func openTerminal() (master, slave *os.File, err error) {
	master, err = os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return nil, nil, err
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		return nil, nil, err
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	return master, slave, unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 120})
}
