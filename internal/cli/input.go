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
	own := make([]byte, len(p)) // p is the caller's again after an interruption
	n, err := untilDone(in.ctx, func() (int, error) { return in.r.Read(own) })
	return copy(p, own[:n]), err
}

// untilDone waits for do, or for the end of ctx, whichever comes first.
func untilDone[T any](ctx context.Context, do func() (T, error)) (result T, err error) {
	type answer struct {
		result T
		err    error
	}
	done := make(chan answer, 1)
	go func() {
		got, err := do()
		done <- answer{got, err}
	}()
	select {
	case a := <-done:
		return a.result, a.err
	case <-ctx.Done():
		return result, ctx.Err()
	}
}

// inputCtx returns the context whose end interrupts the reads of this command.
func (a *app) inputCtx() context.Context {
	if in, ok := a.input.(*input); ok {
		return in.ctx
	}
	return context.Background() // a tool call reads no file
}
