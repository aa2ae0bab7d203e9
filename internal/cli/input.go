package cli

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"githandoff/internal/durable"
	"githandoff/internal/fault"
	"githandoff/internal/refs"
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

// inDir returns the path of a file that the user named: relative to dir, the directory of -C.
func inDir(dir, name string) string {
	if dir == "" || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

// writeOutput writes a file that the user named.
func writeOutput(path string, content []byte, mode fs.FileMode) error {
	err := durable.WriteOutput(path, content, mode)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fault.New(fault.NotFound, fault.NoSuchFile, "%w", err)
	case errors.Is(err, syscall.EISDIR):
		return usage("%s is a directory", printable(path))
	}
	return refs.DiskFault(err)
}
