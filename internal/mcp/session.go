package mcp

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// patience is how long the calls under way may go on after the end of the input. A script that
// wrote its requests and closed the pipe gets its answers; a client that died leaves no server
// behind.
const patience = 5 * time.Second

// transport makes connections that are sessions.
type transport struct {
	mcp.Transport

	asked     *requests
	patience  time.Duration
	interrupt func() // interrupts the calls under way
}

// Connect implements mcp.Transport.
func (t transport) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &session{Connection: conn, transport: t, closed: make(chan struct{})}, nil
}

// session is a connection whose input ends after the last answer. The SDK cancels the calls that
// are under way when the input ends, and sends no answer to them.
type session struct {
	mcp.Connection

	transport transport
	closed    chan struct{}
	once      sync.Once
}

// Read implements mcp.Connection.
func (s *session) Read(ctx context.Context) (jsonrpc.Message, error) {
	msg, err := s.Connection.Read(ctx)
	if errors.Is(err, io.EOF) {
		s.wait()
	}
	return msg, err
}

// wait returns when all requests have their answers. It interrupts those that take too long.
func (s *session) wait() {
	answered := make(chan struct{})
	go func() { s.transport.asked.all.Wait(); close(answered) }()
	defer time.AfterFunc(s.transport.patience, s.transport.interrupt).Stop()
	select {
	case <-answered:
	case <-s.closed: // a closed session sends no answers
	}
}

// Write implements mcp.Connection.
func (s *session) Write(ctx context.Context, msg jsonrpc.Message) error {
	if answer, ok := msg.(*jsonrpc.Response); ok {
		defer s.transport.asked.all.Done()
		if !s.transport.asked.answer(answer.ID) {
			return nil
		}
	}
	return s.Connection.Write(ctx, msg)
}

// Close implements mcp.Connection.
func (s *session) Close() error {
	s.once.Do(func() { close(s.closed) })
	return s.Connection.Close()
}

// untilOver cancels the calls that are under way when ctx is done. The SDK would wait for them.
func untilOver(ctx context.Context) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(call context.Context, method string, request mcp.Request) (mcp.Result, error) {
			call, cancel := context.WithCancel(call)
			defer cancel()
			defer context.AfterFunc(ctx, cancel)()
			return next(call, method, request)
		}
	}
}
