package mcp

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A line that is not a message gets an error as its answer, wherever it is, and the server goes on.
func TestMalformedLineIsAnswered(t *testing.T) {
	ping, again := `{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":2,"method":"ping"}`
	for name, tc := range map[string]struct{ line, answer string }{
		"no JSON":          {"garbage", `{"error":{"code":-32700,"message":"the line is not JSON"},"id":null,"jsonrpc":"2.0"}`},
		"two values":       {ping + " " + ping, `{"error":{"code":-32700,"message":"the line is not JSON"},"id":null,"jsonrpc":"2.0"}`},
		"half of one":      {`{"jsonrpc":"2.0",`, `{"error":{"code":-32700,"message":"the line is not JSON"},"id":null,"jsonrpc":"2.0"}`},
		"no UTF-8":         {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", `"id":1`},
		"half a surrogate": {`{"jsonrpc":"2.0","id":1,"method":"\ud800"}`, `half a surrogate pair at line 1, column 35`},
		"no object":        {`7`, `"code":-32600`},
		"no version":       {`{"id":9,"method":"ping"}`, `"id":9`},
		"an id of no kind": {`{"id":{"a":1},"method":7}`, `"id":null`},
		"a broken id":      {`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, `neither a whole number below 2^53 nor a string"},"id":1.5,`},
		"a rounded id":     {`{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, `"id":9007199254740993,`},
		"empty batch":      {`[]`, `{"error":{"code":-32600,"message":"the batch is empty"},"id":null,"jsonrpc":"2.0"}`},
		"bad in a batch":   {`[7]`, `"code":-32600`},
		"too long":         {`"` + strings.Repeat("x", mcp.DefaultMaxLineLength) + `"`, `"code":-32700`},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			in := io.NopCloser(strings.NewReader(tc.line + "\n\n \r\n" + ping + "\r\n" + tc.line + "\n" + again))
			passed, err := io.ReadAll(newMessages(in, &out, newRequests()))
			require.NoError(t, err)
			assert.Equal(t, ping+"\n"+again+"\n", string(passed))
			assert.Equal(t, 2, strings.Count(out.String(), tc.answer), "%s", out.String())
			assert.Equal(t, 2, strings.Count(out.String(), "\n"))
		})
	}
}

// A batch is passed to the SDK as the client wrote it.
func TestBatchIsPassedOn(t *testing.T) {
	for _, batch := range []string{
		`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`,
		`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]`,
	} {
		var out bytes.Buffer
		passed, err := io.ReadAll(newMessages(io.NopCloser(strings.NewReader(batch+"\n")), &out, newRequests()))
		require.NoError(t, err)
		assert.Equal(t, batch+"\n", string(passed))
		assert.Empty(t, out.String())
	}
}

// Later versions of the protocol have no batches. A batch is answered with an error, and the server
// goes on.
func TestBatchesAreRefusedWhereThereAreNone(t *testing.T) {
	batch, ping := `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, `{"jsonrpc":"2.0","id":2,"method":"ping"}`
	for version, single := range map[string]bool{
		"2024-11-05": false, "2025-03-26": false, "2025-06-18": true, "2025-11-25": true, "2099-01-01": true, "1999-01-01": true, "": true,
	} {
		var out bytes.Buffer
		hello := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + version + `"}}`
		passed, err := io.ReadAll(newMessages(io.NopCloser(strings.NewReader(hello+"\n"+batch+"\n"+ping+"\n")), &out, newRequests()))
		require.NoError(t, err)
		assert.Equal(t, !single, strings.Contains(string(passed), batch), version)
		assert.Contains(t, string(passed), ping)
		assert.Equal(t, single, strings.Contains(out.String(), "has no batches"), version)
	}
}
