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
	"githandoff/internal/untrusted"
)

// input is a stream whose reads end when the command is interrupted: a terminal or a pipe may
// never send another byte.
type input struct {
	ctx   context.Context
	r     io.Reader
	named bool // a flag or an argument named it, which can be read once
}

// Read implements io.Reader. The bytes of an interrupted read are lost.
func (in *input) Read(p []byte) (int, error) {
	own := make([]byte, len(p)) // after an interruption, p belongs to the caller again
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

// stream returns a file whose reads end when the command is interrupted: it may be a pipe.
func (a *app) stream(f io.Reader) io.Reader { return &input{ctx: a.input.ctx, r: f} }

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
		return usage("%s is a directory", untrusted.Line(path))
	}
	return refs.DiskFault(err)
}

// openFile opens a file to read it as a stream. A named pipe opens when somebody writes to it, or not
// at all.
func (a *app) openFile(name string) (*os.File, error) {
	f, err := await(a.input.ctx, func() (*os.File, error) { return os.Open(inDir(a.Dir, name)) })
	if err != nil {
		return nil, absent(name, err)
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		f.Close()
		return nil, usage("%s is a directory", untrusted.Line(name))
	}
	return f, nil
}

// ofFlag names the flag whose value is a file that cannot be opened.
func ofFlag(flag string, err error) error {
	if !fault.Is(err, fault.NoSuchFile) {
		return err
	}
	told := *fault.As(err)
	told.Message = flag + " " + told.Message
	return &told
}

const maxInput = 1 << 20 // bytes of a file with one handoff

// readInput reads a file, or standard input for "-".
func (a *app) readInput(name string) ([]byte, error) {
	var r io.Reader = a.input
	if name == "-" {
		if a.input.named {
			return nil, usage("standard input is named twice, and can be read once")
		}
		a.input.named = true
	} else {
		f, err := a.openFile(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		r = a.stream(f)
	}
	return readAll(r, name)
}

// readAll reads a file that the user named.
func readAll(r io.Reader, name string) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxInput+1))
	if err == nil && len(b) > maxInput {
		return nil, fault.New(fault.Invalid, fault.TooLarge, "%s has more than %d bytes", untrusted.Line(name), maxInput)
	}
	return b, err
}
