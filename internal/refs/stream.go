package refs

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"strings"

	"githandoff/internal/gitexec"
)

// Kinds looks at objects by their full ids without reading them. It costs one
// process, however many there are.
func Kinds(ctx context.Context, r *Repo, oids []string) ([]Kind, error) {
	if len(oids) == 0 {
		return nil, nil
	}
	out, err := r.Runner.Run(ctx, gitexec.Cmd{
		Args: []string{"cat-file", "--batch-check", "--buffer"}, Stdin: strings.NewReader(strings.Join(oids, "\n") + "\n"), MaxOutput: 1 << 30,
	})
	if err != nil {
		return nil, fmt.Errorf("look at objects: %w", err)
	}
	kinds := make([]Kind, 0, len(oids))
	answers := bufio.NewReader(bytes.NewReader(out))
	for range oids {
		a, err := readAnswer(answers)
		if err != nil {
			return nil, fmt.Errorf("look at objects: %w", err)
		}
		kinds = append(kinds, a)
	}
	return kinds, nil
}

// SizeOf adds up the sizes of objects, given by their full ids, in bytes.
func SizeOf(ctx context.Context, r *Repo, oids []string) (size int64, err error) {
	kinds, err := Kinds(ctx, r, oids)
	for i, a := range kinds {
		if a.Type == "" {
			return 0, fmt.Errorf("look at objects: %s is gone", oids[i])
		}
		size += a.Size
	}
	return size, err
}

// Stream reads objects of one type ahead of being asked, so many objects do not cost a question
// and an answer each. Close it.
type Stream struct {
	kind    string
	names   *gitexec.Process // git process that names the objects; nil if the caller names them
	objects *gitexec.Process
	out     *bufio.Reader
	limit   int64
	buf     []byte // buffer for the next object, if Reuse was called
	reuse   bool
	closed  bool
}

// Reuse lets the bytes of an object be valid only until the next one is read.
func (l *Stream) Reuse() { l.reuse = true }

// bound limits git's memory: a hub may pack a huge object into a few bytes, and git reads it
// whole.
func bound() []string { return []string{gitexec.MaxAlloc(32)} }

// FirstParents reads tip, a full object id, and its ancestors, first parent by first parent:
// one process names them and another prints them. Only the bytes of a commit are reliable here.
// The caller checks each to be the parent of the one before it, because git also believes a
// file of grafts. A commit of more than limit bytes ends it.
func FirstParents(ctx context.Context, r *Repo, tip string, limit int64) (*Stream, error) {
	l, err := newStream(ctx, r, "commit", limit)
	if err != nil {
		return nil, err
	}
	// With GIT_FLUSH=0, git does not flush the pipe after each name.
	l.names, err = r.Runner.Start(ctx, gitexec.Cmd{Args: []string{"rev-list", "--first-parent", tip, "--"}, Env: append(bound(), "GIT_FLUSH=0")})
	if err != nil {
		l.objects.Kill()
		return nil, err
	}
	go func() {
		_, _ = io.Copy(l.objects.In, l.names.Out) // the reader of the answers sees the error
		_ = l.objects.In.Close()
	}()
	return l, nil
}

// ReadAhead reads objects of a type by their full ids, in this order. One of more than limit
// bytes ends it, and so does a missing one.
func ReadAhead(ctx context.Context, r *Repo, kind string, oids iter.Seq[string], limit int64) (*Stream, error) {
	l, err := newStream(ctx, r, kind, limit)
	if err != nil {
		return nil, err
	}
	widen(l.objects.In) // room to write all names at once
	go func() {
		w := bufio.NewWriterSize(l.objects.In, 64<<10)
		for oid := range oids {
			if _, err := w.WriteString(oid + "\n"); err != nil {
				break // the reader of the answers sees the error
			}
		}
		_ = w.Flush()
		_ = l.objects.In.Close()
	}()
	return l, nil
}

func newStream(ctx context.Context, r *Repo, kind string, limit int64) (*Stream, error) {
	objects, err := r.Runner.Start(ctx, gitexec.Cmd{Args: []string{"cat-file", "--batch", "--buffer"}, Env: bound(), Bulk: true})
	if err != nil {
		return nil, err
	}
	return &Stream{kind: kind, objects: objects, out: bufio.NewReaderSize(newPaced(objects.Out), 256<<10), limit: limit}, nil
}

// Take returns the next object, if it has this id, its type and no more bytes than allowed. If not,
// it returns nil and closes the stream: the caller reads the object by its id, and that answer
// counts. It returns nil as well where there is no stream, or a closed one.
func (l *Stream) Take(oid string) *Object {
	if l.Closed() {
		return nil
	}
	if a, err := readAnswer(l.out); err == nil && a.OID == oid && a.Type == l.kind && a.Size <= l.limit {
		if body, err := a.body(l.out, l.buf); err == nil {
			if l.reuse {
				l.buf = body
			}
			return &Object{OID: a.OID, Type: a.Type, Body: body}
		}
	}
	l.Close()
	return nil
}

// Closed reports whether there is no stream, or a closed one.
func (l *Stream) Closed() bool { return l == nil || l.closed }

// Close ends its processes, wherever they are.
func (l *Stream) Close() {
	if l.Closed() {
		return
	}
	l.closed = true
	if l.names != nil {
		l.names.Kill()
	}
	l.objects.Kill()
}
