package refs

import (
	"bufio"
	"context"
	"fmt"
	"slices"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
)

// maxListed bounds the commits shown by Commits: a record is far smaller.
const maxListed = 1 << 20

// Commits streams the commits of refs, in the order of the names. Many commits are read by one
// process. The bytes are only valid during the call. A ref to something else than a commit, or to
// one of more than a mebibyte, comes with no bytes.
func Commits(ctx context.Context, r *Repo, visit func(ref Ref, raw []byte) error, patterns ...string) error {
	list, err := r.List(ctx, patterns...)
	if err != nil {
		return err
	}
	if len(list) <= fewCommits {
		return commitsOneByOne(ctx, r, list, visit)
	}
	// git for-each-ref could print the commits itself, and would keep all of them.
	p, err := r.Runner.Start(ctx, gitexec.Cmd{Args: []string{"cat-file", "--batch", "--buffer"}, Env: []string{gitexec.MaxAlloc(32)}, Bulk: true})
	if err != nil {
		return err
	}
	go func() {
		w := bufio.NewWriterSize(p.In, 64<<10)
		for i, ref := range list {
			if i == 0 || ref.OID != list[i-1].OID { // one object is read once
				_, _ = w.WriteString(ref.OID + "\n") // the reader of the answers gets the error
			}
		}
		_ = w.Flush()
		_ = p.In.Close()
	}()
	seen := 0
	var refused error // by visit
	err = readCommits(bufio.NewReaderSize(newPaced(p.Out), 256<<10), list, func(ref Ref, raw []byte) error {
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
	// git sends a requested object whole, or gives up where it is too large: such an object is
	// to be passed over, and so are more of its kind.
	return commitsBySize(ctx, r, list[seen:], visit)
}

// fewCommits is how many commits cost less one by one than with another process.
const fewCommits = 64

func commitsOneByOne(ctx context.Context, r *Repo, list []Ref, visit func(ref Ref, raw []byte) error) error {
	for _, ref := range list {
		o, err := r.Read(ctx, ref.OID, maxListed)
		if err != nil && !fault.Is(err, fault.TooLarge) {
			return err
		}
		var raw []byte
		if o != nil && o.Type == "commit" {
			raw = o.Body
		}
		if err := visit(ref, raw); err != nil {
			return err
		}
	}
	return nil
}

// commitsBySize is like Commits for refs of which some lead to something else than
// commits, or to large ones. It looks at sizes first.
func commitsBySize(ctx context.Context, r *Repo, list []Ref, visit func(ref Ref, raw []byte) error) error {
	oids := make([]string, len(list))
	for i, ref := range list {
		oids[i] = ref.OID
	}
	q := NewBatchReader(r, "commit", oids, maxListed)
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

// readCommits reads the answers of git cat-file to the refs of a list, until one is not a
// commit of an allowed size.
func readCommits(in *bufio.Reader, list []Ref, visit func(ref Ref, raw []byte) error) error {
	var buf, raw []byte
	for i, ref := range list {
		if i == 0 || ref.OID != list[i-1].OID {
			a, err := readAnswer(in)
			if err == nil {
				err = a.check("commit", maxListed)
			}
			if raw = nil; err == nil && a.Type != "" {
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

// ManyAsked is the number of objects from which reading ahead with other processes costs less
// than a question and an answer for each.
const ManyAsked = 256

// BatchReader reads objects of one type whose ids are known beforehand, in their order: the first
// ones as Read does, and if there are many, the rest ahead of being asked. Close it.
type BatchReader struct {
	repo  *Repo
	kind  string
	oids  []string // none twice in a row
	limit int64

	oid  string // of the last answer
	last *Object
	err  error

	asked int     // one at a time
	sizes []Kind  // of the next objects; nil until they are asked for
	line  *Stream // of the remaining objects, without those too large
}

// NewBatchReader reads objects of a type by their full ids, each of at most limit bytes.
func NewBatchReader(r *Repo, kind string, oids []string, limit int64) *BatchReader {
	return &BatchReader{repo: r, kind: kind, oids: slices.Compact(slices.Clone(oids)), limit: limit}
}

// Next returns the next object, as Read does: a missing one is (nil, nil), one of more than the
// limit is refused with reason too_large. An object of another type may be refused with reason
// malformed_object. One repeated several times in a row is read once: a flood of refs to a
// hub need not bring an object for each.
func (q *BatchReader) Next(ctx context.Context, oid string) (*Object, error) {
	if oid != q.oid {
		q.last, q.err = q.next(ctx)
		q.oid = oid
	}
	return q.last, q.err
}

func (q *BatchReader) next(ctx context.Context) (*Object, error) {
	if q.sizes == nil && q.asked >= ManyAsked {
		if err := q.look(ctx); err != nil {
			return nil, err
		}
	}
	oid := q.oids[0]
	q.oids = q.oids[1:]
	if q.sizes != nil {
		a := q.sizes[0]
		q.sizes = q.sizes[1:]
		if err := a.check(q.kind, q.limit); err != nil {
			return &Object{OID: a.OID, Type: a.Type}, err
		}
		if a.Type != "" {
			if o := q.line.Take(oid); o != nil {
				return o, nil
			}
		}
	}
	q.asked++
	return q.repo.Read(ctx, oid, q.limit)
}

// look asks for the sizes of the remaining objects, and begins to read those within the limit.
func (q *BatchReader) look(ctx context.Context) error {
	sizes, err := Kinds(ctx, q.repo, q.oids)
	if err != nil {
		return err
	}
	q.sizes = sizes
	oids, kind, limit := q.oids, q.kind, q.limit
	q.line, err = ReadAhead(ctx, q.repo, kind, func(yield func(string) bool) {
		for i, a := range sizes {
			if a.Type != "" && a.check(kind, limit) == nil && !yield(oids[i]) {
				return
			}
		}
	}, limit)
	return err
}

// Close ends what reads ahead.
func (q *BatchReader) Close() {
	if q.line != nil {
		q.line.Close()
	}
}
