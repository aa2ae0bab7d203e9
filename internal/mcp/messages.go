package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"githandoff/internal/handoff"
)

// messages reads the messages of a client, one on each line. It answers a line that is not a
// message, and goes on. The SDK would end the session, and with it the server.
type messages struct {
	in     *bufio.Reader
	body   io.Closer
	out    io.Writer
	rest   []byte // rest of a message of which a part was read
	single bool   // whether the version of the protocol has no batches
	asked  *requests
}

func newMessages(in io.ReadCloser, out io.Writer, asked *requests) *messages {
	return &messages{in: bufio.NewReader(in), body: in, out: out, asked: asked}
}

// Read implements io.Reader.
func (m *messages) Read(b []byte) (int, error) {
	for len(m.rest) == 0 {
		line, err := m.line()
		if err != nil {
			return 0, err
		}
		m.rest = line
	}
	n := copy(b, m.rest)
	m.rest = m.rest[n:]
	return n, nil
}

// Close implements io.Closer.
func (m *messages) Close() error { return m.body.Close() }

// line reads one line, and returns it if it is a message; else it is empty.
func (m *messages) line() ([]byte, error) {
	line, tooLong, err := readLine(m.in)
	trimmed := bytes.TrimSpace(line)
	if err != nil && len(trimmed) == 0 && !tooLong {
		return nil, err
	}
	if !tooLong && len(trimmed) == 0 {
		return nil, nil
	}
	all, refused := check(trimmed)
	switch {
	case tooLong:
		refused = &jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: fmt.Sprintf("the message is longer than %d bytes", mcp.DefaultMaxLineLength)}
	case refused != nil:
	case trimmed[0] == '[' && m.single:
		refused = &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "this version of the protocol has no batches: send one message on each line"}
	default:
		m.meet(trimmed)
		if !m.asked.note(all, trimmed[0] == '[') { // otherwise the answer could be taken for that of the first request
			trimmed, refused = nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "two requests have the same id, and the first has no answer yet"}
		}
	}
	if refused != nil {
		return nil, m.refuse(trimmed, refused)
	}
	return append(calls(trimmed, all), '\n'), nil
}

// calls puts the notifications of a batch into lines of their own, because the SDK waits for an answer to each
// message of a batch, and a notification has none.
func calls(line []byte, all []jsonrpc.Message) []byte {
	var parts []json.RawMessage
	if line[0] != '[' || json.Unmarshal(line, &parts) != nil {
		return line
	}
	var before, rest, after [][]byte
	for i, msg := range all {
		one, ok := msg.(*jsonrpc.Request)
		switch {
		case !ok || one.IsCall():
			rest = append(rest, parts[i])
		case len(rest) == 0:
			before = append(before, parts[i])
		default:
			after = append(after, parts[i])
		}
	}
	if len(rest) > 0 {
		before = append(before, slices.Concat([]byte("["), bytes.Join(rest, []byte(",")), []byte("]")))
	}
	return bytes.Join(append(before, after...), []byte("\n"))
}

// lastWithBatches is the newest version of the protocol with batches.
const lastWithBatches = "2025-03-26"

// meet notes whether the version that a client asks for has batches. If the SDK does not know that
// version, it answers with its newest one.
func (m *messages) meet(line []byte) {
	var first struct {
		Method string `json:"method"`
		Params struct {
			Version string `json:"protocolVersion"`
		} `json:"params"`
	}
	if json.Unmarshal(line, &first) == nil && first.Method == "initialize" {
		v := first.Params.Version
		m.single = v > lastWithBatches || !slices.Contains(mcp.SupportedProtocolVersions(), v)
	}
}

// readLine reads to the end of a line, and keeps no more of it than the library does.
func readLine(in *bufio.Reader) (line []byte, tooLong bool, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if tooLong = tooLong || len(line)+len(part) > mcp.DefaultMaxLineLength; tooLong {
			line = nil
		} else {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, tooLong, err
		}
	}
}

// check returns the JSON-RPC messages of a line, or says why it has none.
func check(line []byte) ([]jsonrpc.Message, *jsonrpc.Error) {
	if !json.Valid(line) {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: "the line is not JSON"}
	}
	if err := handoff.CheckText(line); err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: "the line would be read as another text: " + err.Error()}
	}
	all := []json.RawMessage{line}
	if line[0] == '[' {
		all = nil // a nil slice, so that Unmarshal does not overwrite the bytes of the line
		if err := json.Unmarshal(line, &all); err != nil || len(all) == 0 {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "the batch is empty"}
		}
	}
	var messages []jsonrpc.Message
	for _, one := range all {
		msg, err := jsonrpc.DecodeMessage(one)
		if err == nil {
			err = checkID(one)
		}
		if err != nil {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "the line is not a message of JSON-RPC 2.0: " + err.Error()}
		}
		messages = append(messages, msg)
	}
	return messages, nil
}

// checkID refuses a number that the SDK would round: the answer would have another id.
func checkID(message []byte) error {
	var named struct {
		ID any `json:"id"`
	}
	if err := json.Unmarshal(message, &named); err != nil {
		return err
	}
	const most = 1 << 53
	if n, ok := named.ID.(float64); ok && (n != math.Trunc(n) || math.Abs(n) >= most) {
		return errors.New("the id is neither a whole number below 2^53 nor a string")
	}
	return nil
}

// refuse answers a line, with its id if it has one.
func (m *messages) refuse(line []byte, why *jsonrpc.Error) error {
	var named struct {
		ID json.RawMessage `json:"id"`
	}
	if json.Unmarshal(line, &named) != nil || len(named.ID) == 0 || bytes.ContainsAny(named.ID[:1], "{[") {
		named.ID = json.RawMessage("null")
	}
	answer, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": named.ID, "error": why})
	if err != nil {
		return err
	}
	_, err = m.out.Write(append(answer, '\n'))
	return err
}

// lockedWriter keeps the answers of two writers apart. Each writes whole lines.
type lockedWriter struct {
	io.WriteCloser
	mu sync.Mutex
}

func (w *lockedWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.WriteCloser.Write(b)
}
