package gittest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	startTimeout = time.Minute
	stopTimeout  = 5 * time.Second
)

// serve starts the server that command returns for a port, waits until the port accepts connections, and returns
// "127.0.0.1:port". The server ends with the test.
func serve(t testing.TB, name string, command func(port int) *exec.Cmd) string {
	t.Helper()
	log := filepath.Join(t.TempDir(), "log")
	t.Cleanup(func() {
		if text, err := os.ReadFile(log); err == nil && t.Failed() {
			t.Logf("log of %s:\n%s", name, text)
		}
	})
	// Between freePort and the server's bind another process can take the port. The server then exits at once,
	// and a new port is tried.
	for range 5 {
		port := freePort(t)
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		server := start(t, command(port), log)
		if server.accepts(addr) {
			t.Cleanup(server.stop)
			return addr
		}
		server.stop()
	}
	t.Fatalf("%s did not start", name)
	return ""
}

func freePort(t testing.TB) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, listener.Close()) }()
	return listener.Addr().(*net.TCPAddr).Port
}

// process is a running server.
type process struct {
	cmd    *exec.Cmd
	exited chan struct{} // closed when the process has ended
}

func start(t testing.TB, cmd *exec.Cmd, log string) *process {
	t.Helper()
	out, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	require.NoError(t, err)
	cmd.Stdout, cmd.Stderr = out, out
	dieWithParent(cmd)
	require.NoError(t, cmd.Start())
	p := &process{cmd: cmd, exited: make(chan struct{})}
	go func() {
		state := cmd.Wait()
		_, _ = fmt.Fprintf(out, "ended: %v\n", state)
		_ = out.Close()
		close(p.exited)
	}()
	return p
}

// accepts waits until addr accepts connections. It returns false if the server ended or took too long.
func (p *process) accepts(addr string) bool {
	for deadline := time.Now().Add(startTimeout); time.Now().Before(deadline); {
		if conn, err := net.DialTimeout("tcp", addr, time.Second); err == nil {
			_ = conn.Close()
			return p.alive()
		}
		if !p.alive() {
			return false
		}
		time.Sleep(5 * time.Millisecond)
	}
	return false
}

func (p *process) alive() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// stop asks the process to end, and then kills it. It returns when the process is gone.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.exited:
	case <-time.After(stopTimeout):
		_ = p.cmd.Process.Kill()
		<-p.exited
	}
}
