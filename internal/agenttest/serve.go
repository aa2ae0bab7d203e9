package agenttest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Live gives the client a prompt as a person at its screen does, and waits until the
// model was asked at least turns times: the session goes on after a turn. Most clients
// do so with [Client.Run]; "opencode run" ends with the first turn, so OpenCode runs as a
// server here, as below its screen.
func (c Client) Live(t testing.TB, s *Session, m *Model, turns int) string {
	t.Helper()
	if c.Name != "opencode" {
		return c.Run(t, s, m)
	}
	srv := c.Serve(t, s, m)
	srv.Prompt(prompt)
	srv.Wait(turns)
	out, err := os.ReadFile(srv.log)
	require.NoError(t, err)
	return string(out)
}

// Server is an OpenCode that serves a session.
type Server struct {
	t       testing.TB
	m       *Model
	url     string
	session string
	log     string // path of the server's output
}

// Serve starts an OpenCode with one session, in which tools run without asking. It ends
// with the test.
func (c Client) Serve(t testing.TB, s *Session, m *Model) *Server {
	t.Helper()
	program := c.Find(t)
	port := freePort(t)
	env, _ := c.run(s, m.URL)
	for i, v := range env {
		env[i] = strings.Replace(v, "OPENCODE_CONFIG_CONTENT={", `OPENCODE_CONFIG_CONTENT={"permission":"allow",`, 1)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, program, "serve", "--port", strconv.Itoa(port)) //nolint:gosec // the test installed this program
	srv := &Server{t: t, m: m, url: fmt.Sprintf("http://127.0.0.1:%d", port), log: filepath.Join(s.Home, "serve.log")}
	out, err := os.Create(srv.log)
	require.NoError(t, err)
	defer out.Close()
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.Dir, out, out
	cmd.Env = append(s.Environ(), env...)
	cmd.WaitDelay = 5 * time.Second
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait()
	})
	var made struct{ ID string }
	require.Eventually(t, func() bool {
		// A request that comes before the server is ready is never answered.
		b, err := srv.post("/session", `{}`, 3*time.Second)
		return err == nil && json.Unmarshal(b, &made) == nil && made.ID != ""
	}, time.Minute, 200*time.Millisecond, "opencode serve does not answer")
	srv.session = made.ID
	return srv
}

// Prompt says something in the session and waits for the end of the turn.
func (s *Server) Prompt(text string) {
	s.t.Helper()
	body, err := json.Marshal(object{"parts": array{object{"type": "text", "text": text}}})
	require.NoError(s.t, err)
	_, err = s.post("/session/"+s.session+"/message", string(body), 2*time.Minute)
	require.NoError(s.t, err)
}

// Wait waits until the model was asked a number of times.
func (s *Server) Wait(turns int) {
	s.t.Helper()
	require.Eventually(s.t, func() bool { return len(s.m.Turns()) >= turns }, time.Minute, 100*time.Millisecond,
		"the model was asked less than %d times", turns)
}

func (s *Server) post(path, body string, limit time.Duration) ([]byte, error) {
	client := &http.Client{Transport: &http.Transport{}, Timeout: limit} // without a proxy: the server is on loopback
	r, err := client.Post(s.url+path, "application/json", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err == nil && r.StatusCode >= http.StatusBadRequest {
		err = fmt.Errorf("%s: %s", r.Status, b)
	}
	return b, err
}

func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}
