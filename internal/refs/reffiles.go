package refs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"githandoff/internal/gitobj"
)

// Named lists the names of the refs directly below some prefixes, each with a trailing "/",
// sorted. It reads git's files itself, so an inbox of ten thousand costs a millisecond: loose
// refs are names in a directory, and packed-refs is sorted, so a prefix is found by halving.
// Where git keeps refs in another way, Named asks git.
//
// No existing ref is missed, see [atOnce]. A name may be of a ref just ended, or unreadable: only
// reading it tells.
func Named(ctx context.Context, r *Repo, prefixes ...string) ([]string, error) {
	if keepsRefsInFiles(r) {
		if names, ok, err := namedByFiles(r, prefixes); ok || err != nil {
			return names, err
		}
	}
	list, err := r.List(ctx, prefixes...)
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(list))
	for _, ref := range list {
		names = append(names, ref.Name)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// namedByFiles is like Named for refs in one file each and in packed-refs; ok is false where
// packed-refs is not marked as sorted, or the files do not stay as they are for one look.
func namedByFiles(r *Repo, prefixes []string) (names []string, ok bool, err error) {
	var packed []string
	names, ok, err = atOnce(r, slices.Equal[[]string], func() ([]string, bool, error) {
		names, err := looseNames(r, prefixes)
		return names, err == nil, err
	}, func(path string) (ok bool, err error) {
		packed, ok, err = packedBelow(path, prefixes)
		return ok, err
	})
	names = append(names, packed...)
	slices.Sort(names)
	return slices.Compact(names), ok, err
}

// looseNames returns the names of refs with files of their own, directly below some prefixes.
func looseNames(r *Repo, prefixes []string) (names []string, err error) {
	for _, prefix := range prefixes {
		entries, err := os.ReadDir(filepath.Join(r.CommonDir, filepath.FromSlash(prefix)))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("list refs: %w", err)
		}
		for _, e := range entries {
			if !e.IsDir() && !strings.HasSuffix(e.Name(), ".lock") {
				names = append(names, prefix+e.Name())
			}
		}
	}
	return names, nil
}

// packedHead begins the first line of packed-refs; packedSorted in it marks the file as sorted.
const (
	packedHead   = "# pack-refs with:"
	packedSorted = " sorted"
)

// packedBelow lists the names of packed-refs below some prefixes; ok is false where the file is
// not marked as sorted.
func packedBelow(path string, prefixes []string) (names []string, ok bool, err error) {
	ok, err = withPacked(path, func(p packedFile, start int64) error {
		for _, prefix := range prefixes {
			text, err := p.below(start, prefix)
			if err != nil {
				return err
			}
			names = slices.Grow(names, strings.Count(text, "\n")) // at most one name for each line
			for line := range strings.SplitSeq(text, "\n") {
				if _, name, ok := strings.Cut(line, " "); ok && strings.HasPrefix(name, prefix) {
					names = append(names, name)
				}
			}
		}
		return nil
	})
	return names, ok, err
}

// packedLike lists the refs of packed-refs that match patterns, by pattern; ok is false where the
// file is not marked as sorted.
func packedLike(path string, patterns []pattern) (list []Ref, ok bool, err error) {
	ok, err = withPacked(path, func(p packedFile, start int64) error {
		for _, like := range patterns {
			text, err := p.below(start, like.place)
			if err != nil {
				return err
			}
			for line := range strings.SplitSeq(text, "\n") {
				oid, name, ok := strings.Cut(line, " ")
				if !ok || !like.matches(name) {
					continue
				}
				if !gitobj.IsID(oid) {
					return fmt.Errorf("%q has no object id", line)
				}
				list = append(list, Ref{Name: name, OID: oid})
			}
		}
		return nil
	})
	return list, ok, err
}

// packedTip returns the object that a ref leads to by packed-refs, "" if the ref is not there; ok
// is false where the file is not marked as sorted.
func packedTip(path, name string) (oid string, ok bool, err error) {
	ok, err = withPacked(path, func(p packedFile, start int64) error {
		at, err := p.seek(start, name)
		if err != nil || at == p.size {
			return err
		}
		line, _, err := p.line(at)
		if errors.Is(err, io.EOF) {
			err = nil
		}
		if id, rest, _ := strings.Cut(line, " "); rest == name {
			oid = id
		}
		return err
	})
	return oid, ok, err
}

// withPacked reads a file packed-refs, if it exists and is not empty. The first ref comes at
// start or later. ok is false where the file is not marked as sorted.
func withPacked(path string, read func(p packedFile, start int64) error) (ok bool, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("list refs: %w", err)
	}
	defer f.Close() // git replaces packed-refs by a new file, so an open one does not change
	info, err := f.Stat()
	if err != nil {
		return false, fmt.Errorf("list refs: %w", err)
	}
	p := packedFile{f, info.Size()}
	head, start, err := p.line(0)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("list refs: %w", err)
	}
	if len(head) == 0 {
		return true, nil
	}
	if !strings.HasPrefix(head, packedHead) || !strings.Contains(head+" ", packedSorted+" ") {
		return false, nil
	}
	if err := read(p, start); err != nil {
		return false, fmt.Errorf("list refs: %w", err)
	}
	return true, nil
}

// packedFile is a sorted file of lines "<id> <name>", some followed by "^<id>".
type packedFile struct {
	f    *os.File
	size int64
}

// below returns the lines of a place and of all names below it, with some between them. The place
// may end with "/".
func (p packedFile) below(start int64, place string) (string, error) {
	first, err := p.seek(start, place)
	if err != nil {
		return "", err
	}
	end, err := p.seek(first, strings.TrimSuffix(place, "/")+"0") // "0" follows "/" in ASCII
	if err != nil {
		return "", err
	}
	var lines strings.Builder
	lines.Grow(int(end - first))
	_, err = io.Copy(&lines, io.NewSectionReader(p.f, first, end-first))
	return lines.String(), err
}

// seek finds the first line of a ref whose name is not before limit, by halving the file from
// start. It is the end of the file if there is none.
func (p packedFile) seek(start int64, limit string) (int64, error) {
	low, high := start, p.size // the line begins in [low, high]
	for low < high {
		middle := low + (high-low)/2
		at, name, next, err := p.refAfter(start, middle)
		if err != nil {
			return 0, err
		}
		if at >= high || name >= limit {
			high = middle
			continue
		}
		low = next
	}
	at, _, _, err := p.refAfter(start, low)
	return at, err
}

// refAfter returns the first line of a ref beginning at or after offset: its offset, its name, and
// the offset of the next line. At the end of the file there is none, and at is the size.
func (p packedFile) refAfter(start, offset int64) (at int64, name string, next int64, err error) {
	at = offset
	if offset > start { // offset may be in the middle of a line
		if _, at, err = p.line(offset - 1); err != nil && !errors.Is(err, io.EOF) {
			return 0, "", 0, err
		}
	}
	for at < p.size {
		line, end, err := p.line(at)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, "", 0, err
		}
		if _, name, ok := strings.Cut(line, " "); ok { // a line "^<id>" belongs to the ref above it
			return at, name, end, nil
		}
		at = end
	}
	return p.size, "", p.size, nil
}

// line returns the line from offset on, without its end, and where the next one begins.
func (p packedFile) line(offset int64) (string, int64, error) {
	var line []byte
	buf := make([]byte, 256)
	for at := offset; ; {
		n, err := p.f.ReadAt(buf, at)
		if i := bytes.IndexByte(buf[:n], '\n'); i >= 0 {
			return string(append(line, buf[:i]...)), at + int64(i) + 1, nil
		}
		line, at = append(line, buf[:n]...), at+int64(n)
		if err != nil {
			return string(line), at, err
		}
	}
}
