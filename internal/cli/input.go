package cli

import (
	"context"
	"io"
)

// input is a stream whose reads end when the command is interrupted: a terminal or a pipe may
// never send another byte.
type input struct {
	ctx context.Context
	r   io.Reader
}

// Read implements io.Reader. The bytes of an interrupted read are lost.
func (in *input) Read(p []byte) (int, error) {
	type answer struct {
		n   int
		err error
	}
	own, done := make([]byte, len(p)), make(chan answer, 1) // p is the caller's again after an interruption
	go func() {
		n, err := in.r.Read(own)
		done <- answer{n, err}
	}()
	select {
	case a := <-done:
		return copy(p, own[:a.n]), a.err
	case <-in.ctx.Done():
		return 0, in.ctx.Err()
	}
}

// stream returns a file whose reads end when the command is interrupted: it may be a pipe.
func (a *app) stream(f io.Reader) io.Reader {
	if in, ok := a.input.(*input); ok {
		return &input{in.ctx, f}
	}
	return f // of a tool call
}
