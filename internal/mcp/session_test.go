package mcp

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const hello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
`

// slow takes some time to answer.
type slow struct {
	worker
	took  time.Duration
	began chan struct{} // closed when the request arrives; nil if no test waits for it
}

func (s *slow) Inbox(ctx context.Context) (Inbox, error) {
	if s.began != nil {
		close(s.began)
	}
	select {
	case <-ctx.Done():
		return Inbox{}, ctx.Err()
	case <-time.After(s.took):
		return s.worker.Inbox(ctx)
	}
}

type output struct{ bytes.Buffer }

func (*output) Close() error { return nil }

// The server answers every request that a script wrote before it closed the pipe, including a call that is still
// running.
func TestEndOfInputWaitsForAnswers(t *testing.T) {
	call := `{"jsonrpc":"2.0","id":"last","method":"tools/call","params":{"name":"handoff_inbox","arguments":{}}}`
	for _, end := range []string{"", "\n"} {
		var out output
		in := io.NopCloser(strings.NewReader(hello + `{"jsonrpc":"2.0","id":1,"method":"tools/list"}` + "\n" + call + end))
		require.NoError(t, Serve(t.Context(), &slow{took: 100 * time.Millisecond}, "1", in, &out))
		assert.Equal(t, 3, strings.Count(out.String(), "\n"), "%s", out.String())
		assert.Contains(t, out.String(), `"id":"last","result":{"content":[{"type":"text","text":"{\"agent\":\"fixer\"`)
	}
}

// A call that still runs after the end of the input is interrupted and answered, so that a client that died
// leaves no server behind.
func TestEndOfInputInterruptsALongCall(t *testing.T) {
	call := `{"jsonrpc":"2.0","id":"last","method":"tools/call","params":{"name":"handoff_inbox","arguments":{}}}`
	var out output
	begun := time.Now()
	require.NoError(t, serve(t.Context(), &slow{took: 20 * time.Second}, "1", io.NopCloser(strings.NewReader(hello+call)), &out, 50*time.Millisecond))
	assert.Less(t, time.Since(begun), 10*time.Second)
	assert.Contains(t, out.String(), `"id":"last"`)
	assert.Contains(t, out.String(), `"isError":true`)
}

// A server that gets a signal interrupts the running calls, whether or not its input has ended.
func TestInterruptEndsCalls(t *testing.T) {
	call := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"handoff_inbox","arguments":{}}}` + "\n"
	for _, ended := range []bool{false, true} {
		ctx, interrupt := context.WithCancel(t.Context())
		in, client := io.Pipe()
		go func() {
			_, _ = io.WriteString(client, hello+call)
			if ended {
				_ = client.Close()
			}
		}()
		var out output
		w := &slow{took: time.Hour, began: make(chan struct{})}
		done := make(chan error, 1)
		go func() { done <- Serve(ctx, w, "1", in, &out) }()
		<-w.began
		interrupt()
		select {
		case err := <-done:
			require.ErrorIs(t, err, context.Canceled)
		case <-time.After(20 * time.Second):
			require.Fail(t, "the call goes on")
		}
	}
}

// A request with the id of a running one is refused, and the first one is answered. The server goes on, and ends
// with its input.
func TestTwoRequestsOfOneID(t *testing.T) {
	call := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"handoff_inbox","arguments":{}}}`
	older := strings.Replace(hello, "2025-06-18", "2025-03-26", 1)
	for name, second := range map[string]string{
		"a line": call, "a batch": "[" + call + "]", "both in a batch": "[" + strings.ReplaceAll(call+","+call, `"id":7`, `"id":8`) + "]",
	} {
		t.Run(name, func(t *testing.T) {
			var out output
			in := io.NopCloser(strings.NewReader(older + call + "\n" + second + "\n" + `{"jsonrpc":"2.0","id":9,"method":"ping"}`))
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			require.NoError(t, Serve(ctx, &slow{took: 100 * time.Millisecond}, "1", in, &out), "it ends with its input")
			assert.Equal(t, 1, strings.Count(out.String(), `"id":7,"result"`), "%s", out.String())
			assert.Contains(t, out.String(), `the first has no answer yet"},"id":null`)
			assert.Contains(t, out.String(), `"id":9,"result"`)
		})
	}
}

// A notification gets no answer, but the requests beside it in a batch do.
func TestBatchWithNotifications(t *testing.T) {
	ping, note := `{"jsonrpc":"2.0","id":7,"method":"ping"}`, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}`
	older := strings.ReplaceAll(hello, "2025-06-18", "2025-03-26")
	require.NotEqual(t, hello, older)
	for _, batch := range []string{note + "," + ping, ping + "," + note, note + "," + note + "," + ping + "," + note} {
		var out output
		require.NoError(t, Serve(t.Context(), &slow{}, "1", io.NopCloser(strings.NewReader(older+"["+note+"]\n["+batch+"]\n")), &out))
		assert.True(t, strings.HasSuffix(out.String(), "\n"+`[{"jsonrpc":"2.0","id":7,"result":{}}]`+"\n"), "%s", out.String())
	}
}

// A cancelled call gets no answer. In a batch it is answered, because the answers of the other requests would
// otherwise wait for it.
func TestCancelledCallIsNotAnswered(t *testing.T) {
	call := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"handoff_inbox","arguments":{}}}`
	for line, answers := range map[string]int{call: 0, "[" + call + "]": 1} {
		in, client := io.Pipe()
		w := &slow{took: time.Hour, began: make(chan struct{})}
		go func() {
			_, _ = io.WriteString(client, strings.Replace(hello, "2025-06-18", "2025-03-26", 1)+line+"\n")
			<-w.began
			_, _ = io.WriteString(client, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`+"\n"+
				`{"jsonrpc":"2.0","id":3,"method":"ping"}`)
			_ = client.Close()
		}()
		var out output
		require.NoError(t, Serve(t.Context(), w, "1", in, &out))
		assert.Equal(t, answers, strings.Count(out.String(), `"id":2`), "%s", out.String())
		assert.Contains(t, out.String(), `"id":3,"result"`)
	}
}
