package gittest

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/crypto/ssh/agent"
)

// ServeAgent lets an ssh-agent of the test's own answer until the test ends, several clients at once. It
// returns the socket, for $SSH_AUTH_SOCK.
func ServeAgent(t testing.TB, keys agent.Agent) (socket string) {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "gh-") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket = filepath.Join(dir, "agent")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				_ = agent.ServeAgent(keys, c)
				_ = c.Close()
			}()
		}
	}()
	return socket
}
