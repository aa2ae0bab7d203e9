package refs

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"githandoff/internal/gitexec"
)

// Line reads a commit and what is above it, first parent by first parent, ahead
// of being asked: one process names them and another shows them, so that a long
// line costs no question and answer each. Only the bytes of a commit are git's
// word here. That one is the parent of the one before it is for the caller to
// see: git would also believe a file of grafts. Close it.
type Line struct {
	names, objects *gitexec.Process
	out            *bufio.Reader
	limit          int64
}

// Line begins at tip, a full object id. A commit of more than limit bytes ends it.
func (r *Repo) Line(ctx context.Context, tip string, limit int64) (*Line, error) {
	// Both read whole what a hub may have packed to nothing; and git would write a
	// pipe name by name.
	bound := []string{gitexec.MaxAlloc(32)}
	objects, err := r.Runner.Start(ctx, gitexec.Cmd{Args: []string{"cat-file", "--batch", "--buffer"}, Env: bound})
	if err != nil {
		return nil, err
	}
	names, err := r.Runner.Start(ctx, gitexec.Cmd{Args: []string{"rev-list", "--first-parent", tip, "--"}, Env: append(bound, "GIT_FLUSH=0")})
	if err != nil {
		objects.Kill()
		return nil, err
	}
	go func() {
		_, _ = io.Copy(objects.In, names.Out) // who reads the answers meets the error
		_ = objects.In.Close()
	}()
	return &Line{names: names, objects: objects, out: bufio.NewReaderSize(objects.Out, 256<<10), limit: limit}, nil
}

// Next returns the next commit. At the end, and where there is anything else
// than a commit of a size that is allowed, it returns an error.
func (l *Line) Next() (*Object, error) {
	a, err := readAnswer(l.out)
	if err == nil && (a.kind != "commit" || a.size > l.limit) {
		err = fmt.Errorf("a %s of %d bytes", a.kind, a.size)
	}
	if err != nil {
		return nil, fmt.Errorf("read commits: %w", err)
	}
	body, err := a.body(l.out, nil)
	if err != nil {
		return nil, fmt.Errorf("read commits: %w", err)
	}
	return &Object{OID: a.oid, Type: a.kind, Body: body}, nil
}

// Close ends both processes, wherever they are.
func (l *Line) Close() {
	l.names.Kill()
	l.objects.Kill()
}
