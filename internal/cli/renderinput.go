package cli

import (
	"bytes"
	"context"
	"io"

	"githandoff/internal/app/document"
	"githandoff/internal/app/quote"
	"githandoff/internal/app/render"
	"githandoff/internal/handoff"
	"githandoff/internal/workspace"
)

// renderInput gives a prompt its parts. It opens the repository for the first part that
// needs it: a prompt of files needs none.
type renderInput struct {
	*app
	opened *workspace.Workspace
}

func (in *renderInput) desk(ctx context.Context) (*workspace.Workspace, error) {
	if in.opened != nil {
		return in.opened, nil
	}
	d, err := in.app.desk(ctx, reads)
	in.opened = d
	return d, err
}

func (in *renderInput) history(ctx context.Context, h *historyFlags) (string, error) {
	if err := h.check(); err != nil {
		return "", err
	}
	d, err := in.desk(ctx)
	if err != nil {
		return "", err
	}
	list, err := h.past(ctx, d)
	return historyText(list, h.keys, in.Now()), err
}

// Find implements render.Handoffs.
func (in *renderInput) Find(ctx context.Context, arg string) (*render.Found, error) {
	d, err := in.desk(ctx)
	if err != nil {
		return nil, err
	}
	found, err := quote.New(d).Find(ctx, arg)
	return (*render.Found)(found), err
}

// Read implements render.Documents.
func (in *renderInput) Read(format string, b []byte) (*handoff.Envelope, error) {
	return in.documents().Draft(document.Source{Format: format}, b)
}

// Open implements render.Files. A pipe is read into memory.
func (in *renderInput) Open(name string) (io.ReadSeekCloser, error) {
	if name == "-" {
		b, err := in.readInput(name)
		return inMemory{bytes.NewReader(b)}, err
	}
	f, err := in.openFile(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Mode().IsRegular() {
		return f, nil
	}
	f.Close()
	if err != nil {
		return nil, err
	}
	b, err := in.readInput(name)
	return inMemory{bytes.NewReader(b)}, err
}

type inMemory struct{ *bytes.Reader }

func (inMemory) Close() error { return nil }
