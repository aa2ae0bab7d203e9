package cli

import (
	"context"
	"io"
	"os"
)

// input is a stream whose reads end when the command is interrupted: a terminal or a pipe may
// never send another byte.
type input struct {
	ctx context.Context
	r   io.Reader
}

// Read implements io.Reader. The bytes of an interrupted read are lost.
func (in *input) Read(p []byte) (int, error) {
	own := make([]byte, len(p)) // p is the caller's again after an interruption
	n, err := await(in.ctx, func() (int, error) { return in.r.Read(own) })
	return copy(p, own[:n]), err
}

// await does what may take for ever, and gives it up when the command is interrupted.
func await[T any](ctx context.Context, do func() (T, error)) (value T, err error) {
	type answer struct {
		value T
		err   error
	}
	done := make(chan answer, 1)
	go func() {
		value, err := do()
		done <- answer{value, err}
	}()
	select {
	case a := <-done:
		return a.value, a.err
	case <-ctx.Done():
		return value, ctx.Err()
	}
}

// opened opens a file. A named pipe opens when somebody writes to it, or not at all.
func opened(a *app, path string) (*os.File, error) {
	open := func() (*os.File, error) { return os.Open(path) }
	if in, ok := a.input.(*input); ok {
		return await(in.ctx, open)
	}
	return open() // of a tool call
}

// stream returns a file whose reads end when the command is interrupted: it may be a pipe.
func (a *app) stream(f io.Reader) io.Reader {
	if in, ok := a.input.(*input); ok {
		return &input{in.ctx, f}
	}
	return f // of a tool call
}
