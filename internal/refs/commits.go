package refs

import (
	"context"
	"slices"

	"githandoff/internal/fault"
)

// maxListed limits the size of a commit that Commits shows: a record is far smaller.
const maxListed = 1 << 20

// Commits streams the commits of refs, in the order of the names. Many commits are read by one
// process. The bytes are only valid during the call. A ref to something else than a commit, or to
// one of more than a mebibyte, comes with no bytes.
func Commits(ctx context.Context, r *Repo, visit func(ref Ref, raw []byte) error, patterns ...string) error {
	list, err := r.List(ctx, patterns...)
	if err != nil {
		return err
	}
	oids := make([]string, len(list))
	for i, ref := range list {
		oids[i] = ref.OID
	}
	if len(list) <= fewCommits {
		return visitCommits(ctx, NewBatchReader(r, "commit", oids, maxListed), list, visit)
	}
	// git for-each-ref could print the commits itself, but would keep all of them in memory.
	ahead, err := ReadAhead(ctx, r, "commit", slices.Values(slices.Compact(slices.Clone(oids))), maxListed)
	if err != nil {
		return err
	}
	defer ahead.Close()
	ahead.Reuse()
	var o *Object
	for i, ref := range list {
		if i == 0 || oids[i] != oids[i-1] {
			o = ahead.Take(oids[i])
		}
		if o == nil {
			// git sends a requested object whole, or ends if it is too large. Such an object must
			// be skipped, and more may follow. So the sizes are looked at first.
			rest := NewBatchReader(r, "commit", oids[i:], maxListed)
			defer rest.Close()
			if err := rest.look(ctx); err != nil {
				return err
			}
			return visitCommits(ctx, rest, list[i:], visit)
		}
		if err := visit(ref, o.Body); err != nil {
			return err
		}
	}
	return nil
}

// fewCommits is the number of commits up to which reading them one by one costs less than another
// process.
const fewCommits = 64

func visitCommits(ctx context.Context, q *BatchReader, list []Ref, visit func(ref Ref, raw []byte) error) error {
	for _, ref := range list {
		o, err := q.Next(ctx, ref.OID)
		if err != nil && fault.CodeOf(err) != fault.Denied {
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

// ManyAsked is the number of objects from which reading ahead with other processes costs less
// than a question and an answer for each.
const ManyAsked = 256

// BatchReader reads objects of one type whose ids are known beforehand, in their order: the first
// ones as Read does, and if there are many, the rest ahead of being asked. Close it.
type BatchReader struct {
	repo  *Repo
	kind  string
	oids  []string // ids in the order of reading, without adjacent duplicates
	limit int64

	oid  string // id of the last answer
	last *Object
	err  error

	asked int     // number of objects read one at a time
	sizes []Kind  // types and sizes of the next objects; nil until they are asked for
	line  *Stream // stream of the remaining objects, without those over the limit
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
