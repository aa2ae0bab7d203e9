package refs

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"githandoff/internal/gitexec"
)

// ManyAsked is from how many commits on it costs less to read ahead those that
// follow, by other processes, than a question and an answer for each.
const ManyAsked = 256

// CommitReader reads commits whose ids are known beforehand, in their order: the first
// ones as Read does, and where there are many, those that follow ahead of being
// asked. Close it.
type CommitReader struct {
	repo  *Repo
	oids  []string // none twice in a row
	limit int64

	oid  string // of the last answer
	last *Object
	err  error

	asked int      // one at a time
	sizes []answer // of the next commits; nil until they are asked for
	line  *Stream  // of those that are commits, and not too large
}

// NewCommitReader reads commits by their full ids, each of at most limit bytes.
func NewCommitReader(r *Repo, oids []string, limit int64) *CommitReader {
	return &CommitReader{repo: r, oids: slices.Compact(slices.Clone(oids)), limit: limit}
}

// Next returns the next one, as Read does: a missing one is (nil, nil), one of more than
// the limit is refused with reason too_large. An object that is not a commit may be refused
// with reason malformed_object. One that comes several times in a row is read once: a flood
// of refs to a hub need not bring an object for each.
func (q *CommitReader) Next(ctx context.Context, oid string) (*Object, error) {
	if oid != q.oid {
		q.last, q.err = q.next(ctx)
		q.oid = oid
	}
	return q.last, q.err
}

func (q *CommitReader) next(ctx context.Context) (*Object, error) {
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
		if err := a.commit(q.limit); err != nil {
			return nil, err
		}
		if a.kind != "" && q.line != nil {
			if o, err := q.line.Next(); err == nil && o.OID == oid {
				return o, nil
			}
			q.Close()
		}
	}
	q.asked++
	return q.repo.Read(ctx, oid, q.limit)
}

// look asks for the sizes of the remaining objects, and begins to read those that are
// commits within the limit.
func (q *CommitReader) look(ctx context.Context) error {
	sizes, err := sizes(ctx, q.repo, q.oids)
	if err != nil {
		return err
	}
	q.sizes = sizes
	oids, limit := q.oids, q.limit
	q.line, err = ReadAhead(ctx, q.repo, func(yield func(string) bool) {
		for i, a := range sizes {
			if a.kind != "" && a.commit(limit) == nil && !yield(oids[i]) {
				return
			}
		}
	}, limit)
	return err
}

// Close ends what reads ahead.
func (q *CommitReader) Close() {
	if q.line != nil {
		q.line.Close()
		q.line = nil
	}
}

// sizes looks at objects without reading them.
func sizes(ctx context.Context, r *Repo, oids []string) ([]answer, error) {
	out, err := r.Runner.Run(ctx, gitexec.Cmd{
		Args: []string{"cat-file", "--batch-check", "--buffer"}, Stdin: strings.NewReader(strings.Join(oids, "\n") + "\n"), MaxOutput: 1 << 30,
	})
	if err != nil {
		return nil, fmt.Errorf("look at objects: %w", err)
	}
	sizes := make([]answer, 0, len(oids))
	for line := range strings.Lines(string(out)) {
		a, err := parseAnswer(line)
		if err != nil {
			return nil, fmt.Errorf("look at objects: %w", err)
		}
		sizes = append(sizes, a)
	}
	if len(sizes) != len(oids) {
		return nil, fmt.Errorf("look at objects: git cat-file says %d things of %d", len(sizes), len(oids))
	}
	return sizes, nil
}
