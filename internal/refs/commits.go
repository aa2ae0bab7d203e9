package refs

import (
	"bufio"
	"context"
	"fmt"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
)

// maxListed bounds the commits that Commits shows: a record is far smaller.
const maxListed = 1 << 20

// Commits streams the commits that refs point to, in the order of the names. It
// costs two processes, however many there are: one that lists, one that reads.
// The bytes are only valid during the call. A ref to something else than a commit,
// or to one of more than a mebibyte, comes with no bytes.
func Commits(ctx context.Context, r *Repo, visit func(ref Ref, raw []byte) error, patterns ...string) error {
	// git for-each-ref could print the commits itself, and would keep all of them.
	p, err := r.Runner.Start(ctx, gitexec.Cmd{Args: []string{"cat-file", "--batch", "--buffer"}, Env: []string{gitexec.MaxAlloc(32)}})
	if err != nil {
		return err
	}
	list, err := r.List(ctx, patterns...)
	if err != nil {
		p.Kill()
		return err
	}
	go func() {
		w := bufio.NewWriterSize(p.In, 64<<10)
		for i, ref := range list {
			if i == 0 || ref.OID != list[i-1].OID { // one object is read once
				_, _ = w.WriteString(ref.OID + "\n") // who reads the answers meets the error
			}
		}
		_ = w.Flush()
		_ = p.In.Close()
	}()
	seen := 0
	var refused error // by visit
	err = readCommits(bufio.NewReaderSize(p.Out, 256<<10), list, func(ref Ref, raw []byte) error {
		refused = visit(ref, raw)
		seen++
		return refused
	})
	if err != nil {
		p.Kill()
	} else {
		err = p.Close()
	}
	if refused != nil || err == nil {
		return refused
	}
	// git sends whole what was asked for, or gives up where it is too large: that is
	// to be passed over, and so is more of its kind.
	return commitsBySize(ctx, r, list[seen:], visit)
}

// commitsBySize is Commits for refs of which some lead to something else than
// commits, or to large ones. It looks at sizes first.
func commitsBySize(ctx context.Context, r *Repo, list []Ref, visit func(ref Ref, raw []byte) error) error {
	oids := make([]string, len(list))
	for i, ref := range list {
		oids[i] = ref.OID
	}
	q := NewCommitReader(r, oids, maxListed)
	defer q.Close()
	if err := q.look(ctx); err != nil {
		return err
	}
	for _, ref := range list {
		o, err := q.Next(ctx, ref.OID)
		if err != nil && fault.CodeOf(err) != fault.Denied {
			return err
		}
		var raw []byte
		if o != nil {
			raw = o.Body
		}
		if err := visit(ref, raw); err != nil {
			return err
		}
	}
	return nil
}

// readCommits reads the answers of git cat-file to the refs of a list, up to one
// that is no commit of a size that is allowed.
func readCommits(in *bufio.Reader, list []Ref, visit func(ref Ref, raw []byte) error) error {
	var buf, raw []byte
	for i, ref := range list {
		if i == 0 || ref.OID != list[i-1].OID {
			a, err := readAnswer(in)
			if err == nil {
				err = a.commit(maxListed)
			}
			if raw = nil; err == nil && a.kind != "" {
				raw, err = a.body(in, buf)
				buf = raw
			}
			if err != nil {
				return fmt.Errorf("read %s: %w", ref.Name, err)
			}
		}
		if err := visit(ref, raw); err != nil {
			return err
		}
	}
	return nil
}
