package refs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
)

// Object is a git object that was read or is to be written.
type Object struct {
	OID  string
	Type string // "blob", "tree", "commit"
	Body []byte
}

// Ref is a ref and the id of the object that it points to.
type Ref struct {
	Name string
	OID  string
}

// reader keeps one "git cat-file --batch" per repository: it resolves refs by
// name and reads objects, packed, loose, borrowed from alternates or
// quarantined, and notices what other processes repack meanwhile.
type reader struct {
	// begin starts the process, which outlives the read that it is started for.
	begin func() (*gitexec.Process, error)

	repo *Repo
	mu   sync.Mutex
	proc *gitexec.Process
	out  *bufio.Reader

	packed *packedPin // from before the first ref that the process was asked for
}

// Read returns the object that name, a full object id or a full ref name,
// leads to. A missing one is (nil, nil). An object of more than limit bytes is
// refused with reason too_large before its body is read.
func (r *Repo) Read(ctx context.Context, name string, limit int64) (*Object, error) {
	o, err := r.ReadTip(ctx, name, limit)
	if err != nil {
		return nil, err
	}
	return o, nil
}

// ReadTip is Read for callers that must know which object is too large: that refusal comes
// with an object that has only its id and type.
func (r *Repo) ReadTip(ctx context.Context, name string, limit int64) (*Object, error) {
	if name = r.overlaid(name); name == "" {
		return nil, nil
	}
	o, err := r.reader.locked(name, limit)
	if errors.Is(err, errEnded) || (o == nil && err == nil && r.Store.Collecting()) {
		return r.readAgain(ctx, name, limit)
	}
	return o, err
}

// ReadHead returns the first bytes of an object that Read refused as too large, at
// most so many. A missing one is (nil, nil).
func (r *Repo) ReadHead(ctx context.Context, oid string, most int64) (*Object, error) {
	rd := &r.reader
	rd.mu.Lock()
	defer rd.mu.Unlock()
	defer rd.kill() // the rest of the object is still to come
	if err := rd.start(); err != nil {
		return nil, err
	}
	if _, err := io.WriteString(rd.proc.In, oid+"\n"); err != nil {
		return nil, fmt.Errorf("read %s: %w", oid, err)
	}
	a, err := readAnswer(rd.out)
	if err != nil || a.kind == "" {
		return nil, err
	}
	body := make([]byte, min(a.size, most))
	if _, err := io.ReadFull(rd.out, body); err != nil {
		return nil, fmt.Errorf("read %s: %w", oid, err)
	}
	return &Object{OID: a.oid, Type: a.kind, Body: body}, nil
}

// readAgain looks again for an object that is missing while a gc runs, or that git was
// reading when it ended. The gc may have taken an object whose ref moved a moment ago; the
// process that moved the ref is about to write the object again.
func (r *Repo) readAgain(ctx context.Context, name string, limit int64) (*Object, error) {
	if strings.HasPrefix(name, "refs/") {
		switch _, err := r.RevParse(ctx, name); {
		case gitexec.ExitCode(err) == 1:
			return nil, nil // the ref is not there at all
		case err != nil:
			return nil, err
		}
	}
	var o *Object
	var err error
	for try := range 6 {
		if err := Pause(ctx, min(try, 3)); err != nil {
			return nil, err
		}
		if o, err = r.reader.locked(name, limit); o != nil || (err != nil && !errors.Is(err, errEnded)) {
			break
		}
	}
	return o, err
}

func (rd *reader) locked(name string, limit int64) (*Object, error) {
	rd.mu.Lock()
	defer rd.mu.Unlock()
	o, err := rd.read(name, limit)
	if err != nil {
		if rd.proc != nil && rd.proc.Err() != nil { // not its fault: it was told to end
			err = fmt.Errorf("read %s: %w", name, rd.proc.Err())
		}
		rd.kill()
	}
	return o, err
}

// warm starts the process before it is needed, so that its start-up overlaps with other
// work. A failure shows again at the first read.
func (rd *reader) warm() {
	rd.mu.Lock()
	defer rd.mu.Unlock()
	_ = rd.start()
}

func (rd *reader) start() error {
	if rd.proc != nil {
		return nil
	}
	p, err := rd.begin()
	if err != nil {
		return err
	}
	rd.proc, rd.out = p, bufio.NewReaderSize(p.Out, 64<<10)
	return nil
}

func (rd *reader) read(name string, limit int64) (*Object, error) {
	if strings.ContainsAny(name, "\n ") {
		return nil, fmt.Errorf("read object %q: not a name", name)
	}
	if err := rd.pin(name); err != nil {
		return nil, err
	}
	if err := rd.start(); err != nil {
		return nil, err
	}
	if _, err := io.WriteString(rd.proc.In, name+"\n"); err != nil {
		return nil, fmt.Errorf("read %s: %w: %w", name, errEnded, err)
	}
	a, err := readAnswer(rd.out)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if a.kind == "" {
		return nil, nil
	}
	if a.size > limit {
		return &Object{OID: a.oid, Type: a.kind}, fault.New(fault.Denied, fault.TooLarge, "%s %s has %d bytes, limit %d", a.kind, a.oid, a.size, limit)
	}
	body, err := a.body(rd.out, nil)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return &Object{OID: a.oid, Type: a.kind, Body: body}, nil
}

// pin sees to it that a process that is asked for a ref has read no other
// packed-refs than the one that is there.
func (rd *reader) pin(name string) (err error) {
	if !strings.HasPrefix(name, "refs/") {
		return nil
	}
	if rd.packed != nil && !rd.packed.holds() {
		rd.leave()
	}
	if rd.packed == nil {
		rd.packed, err = pinPacked(rd.repo.CommonDir)
	}
	return err
}

func (rd *reader) unpin() {
	rd.packed.release()
	rd.packed = nil
}

func (rd *reader) kill() {
	rd.unpin()
	if rd.proc != nil {
		rd.proc.Kill()
		rd.proc = nil
	}
}

func (rd *reader) close() {
	rd.mu.Lock()
	defer rd.mu.Unlock()
	rd.leave()
}

func (rd *reader) leave() {
	rd.unpin()
	if rd.proc != nil {
		rd.proc.Leave()
		rd.proc = nil
	}
}

// Resolve returns what a ref points to, "" where it does not exist.
func (r *Repo) Resolve(ctx context.Context, name string) (string, error) {
	o, err := r.Read(ctx, name, 1<<20)
	if err != nil || o == nil {
		return "", err
	}
	return o.OID, nil
}

// List returns the refs that match patterns, as "git for-each-ref" takes them:
// a prefix that ends in "/", a full name, or a glob. They come in the order of
// their names.
func (r *Repo) List(ctx context.Context, patterns ...string) ([]Ref, error) {
	out, err := r.Runner.Run(ctx, gitexec.Cmd{
		Args:      append([]string{"for-each-ref", "--format=%(objectname) %(refname)", "--"}, patterns...),
		MaxOutput: 1 << 30,
	})
	if err != nil {
		return nil, fmt.Errorf("list refs: %w", err)
	}
	var list []Ref
	for line := range strings.Lines(string(out)) {
		oid, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if ok {
			list = append(list, Ref{Name: name, OID: oid})
		}
	}
	return list, nil
}

// RevParse resolves a revision as people write it to a full object id.
func (r *Repo) RevParse(ctx context.Context, rev string) (string, error) {
	out, err := r.Runner.Run(ctx, gitexec.Cmd{Args: []string{"rev-parse", "--verify", "--quiet", "--end-of-options", rev}})
	return strings.TrimSpace(string(out)), err
}
