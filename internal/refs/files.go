package refs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/objfile"

	"githandoff/internal/gitobj"
)

// fewReads is how many reads begin with git's files. A command that reads more asks git, which
// keeps packs and packed-refs open.
const fewReads = 64

// find reads an object from git's files. If they do not show it, find asks git.
func (r *Repo) find(name string, limit int64) (*Object, error) {
	if r.reads.Add(1) > fewReads {
		return r.reader.read(name, limit)
	}
	oid := name
	if strings.HasPrefix(name, "refs/") {
		tip, ok := r.tipInFiles(name)
		if ok && tip == "" {
			return nil, nil
		}
		oid = tip
	}
	if gitobj.IsID(oid) {
		if o, err := ReadLoose(r.Objects, oid, limit); err == nil {
			return o, nil
		}
	}
	return r.reader.read(name, limit)
}

// ReadLoose reads the object that has a file of its own in a directory of objects. The error is
// [fs.ErrNotExist] if there is no such file, and another one if the file holds something else,
// or an object of more than limit bytes.
func ReadLoose(objects, oid string, limit int64) (*Object, error) {
	f, err := os.Open(filepath.Join(objects, oid[:2], oid[2:]))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	in, err := objfile.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", oid, err)
	}
	defer func() { _ = in.Close() }()
	kind, size, err := in.Header()
	if err == nil && (size < 0 || size > limit) {
		err = fmt.Errorf("%d bytes, limit %d", size, limit)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", oid, err)
	}
	body := make([]byte, size)
	if _, err = io.ReadFull(in, body); err == nil && gitobj.FormatOf(oid).Hash(kind.String(), body) != oid {
		err = errors.New("another object is in its file")
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", oid, err)
	}
	return &Object{OID: oid, Type: kind.String(), Body: body}, nil
}

// keepsRefsInFiles reports whether git keeps the refs in one file each and in packed-refs.
func keepsRefsInFiles(r *Repo) bool {
	_, err := os.Stat(filepath.Join(r.CommonDir, "reftable"))
	return errors.Is(err, fs.ErrNotExist) && slices.Contains([]string{"", "files"}, r.Config.Get("extensions.refstorage"))
}

// keepsRefsInTables reports whether git keeps the refs in tables: the format reftable, which is the
// default of git 3.0.
func keepsRefsInTables(r *Repo) bool { return r.Config.Get("extensions.refstorage") == "reftable" }

// tipInFiles returns the object that a ref leads to, "" if there is no such ref. ok is false
// where git has to be asked: for a symbolic ref, a ref of one worktree, and other ways to keep
// refs.
//
// The file of the ref is read first: git removes it only after packed-refs has its value, and
// takes an ended ref out of packed-refs before it removes the file.
func (r *Repo) tipInFiles(name string) (oid string, ok bool) {
	if !isShared(name) {
		return "", false
	}
	if keepsRefsInTables(r) {
		return tipInTables(r, name)
	}
	if !keepsRefsInFiles(r) {
		return "", false
	}
	if oid, ok := looseTip(r, name); oid != "" || !ok {
		return oid, ok
	}
	oid, ok, err := packedTip(filepath.Join(r.CommonDir, "packed-refs"), name)
	return oid, ok && err == nil && (oid == "" || isTip(r, oid))
}

// looseTip is like [Repo.tipInFiles] for refs with a file of their own.
func looseTip(r *Repo, name string) (oid string, ok bool) {
	f, err := os.OpenFile(filepath.Join(r.CommonDir, filepath.FromSlash(name)), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
	}
	defer f.Close()
	b := make([]byte, r.Format.Digits()+2)
	n, err := io.ReadFull(f, b)
	if errors.Is(err, syscall.EISDIR) {
		return "", true
	}
	oid = strings.TrimSuffix(string(b[:n]), "\n")
	return oid, isTip(r, oid)
}

// isTip reports whether s is an id to which a ref of a repository can lead.
func isTip(r *Repo, s string) bool {
	return len(s) == r.Format.Digits() && gitobj.IsID(s) && gitobj.ID(s) != ""
}

// isShared reports whether a name is that of a ref which all worktrees share.
func isShared(name string) bool {
	for _, own := range []string{"refs/bisect/", "refs/rewritten/", "refs/worktree/"} {
		if strings.HasPrefix(name, own) {
			return false
		}
	}
	return strings.HasPrefix(name, "refs/") && plumbing.ReferenceName(name).Validate() == nil
}

// listInFiles is like [Repo.List] by git's files. ok is false where git has to be asked: as with
// tipInFiles, for patterns with other wildcards than "*", and where the files do not stay as they
// are for one look.
func listInFiles(r *Repo, patterns []string) (list []Ref, ok bool) {
	wanted := make([]pattern, len(patterns))
	for i, p := range patterns {
		wanted[i] = patternOf(p)
		if strings.ContainsAny(p, `?[\`) || !isShared(wanted[i].place) {
			return nil, false
		}
	}
	if keepsRefsInTables(r) {
		return listInTables(r, wanted)
	}
	if !keepsRefsInFiles(r) {
		return nil, false
	}
	loose, ok, err := atOnce(r, maps.Equal, func() (map[string]string, bool, error) {
		seen := map[string]string{}
		for _, p := range wanted {
			if !looseBelow(r, p.place, seen) {
				return nil, false, nil
			}
		}
		return seen, true, nil
	}, func(file string) (ok bool, err error) {
		list, ok, err = packedLike(file, wanted)
		return ok, err
	})
	if !ok || err != nil {
		return nil, false
	}
	if len(loose) > 0 {
		list = slices.DeleteFunc(list, func(ref Ref) bool { return loose[ref.Name] != "" })
	}
	for name, oid := range loose {
		if slices.ContainsFunc(wanted, func(p pattern) bool { return p.matches(name) }) {
			list = append(list, Ref{Name: name, OID: oid})
		}
	}
	return inOrderOnce(list), true
}

// inOrderOnce sorts refs by name, and drops duplicates.
func inOrderOnce(list []Ref) []Ref {
	slices.SortFunc(list, func(a, b Ref) int { return strings.Compare(a.Name, b.Name) })
	return slices.Compact(list)
}

// looseBelow adds the loose refs at a place and below it. It reports whether the files show all
// that git would show.
func looseBelow(r *Repo, place string, loose map[string]string) bool {
	oid, ok := looseTip(r, place)
	if oid != "" {
		loose[place] = oid
	}
	if oid != "" || !ok {
		return ok
	}
	entries, err := os.ReadDir(filepath.Join(r.CommonDir, filepath.FromSlash(place)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		return false
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".lock") {
			continue
		}
		if strings.Trim(e.Name(), usual) != "" || strings.HasPrefix(e.Name(), ".") || strings.HasSuffix(e.Name(), ".") ||
			strings.Contains(e.Name(), "..") || !looseBelow(r, place+"/"+e.Name(), loose) {
			return false
		}
	}
	return true
}

// usual are characters that git allows in the name of a ref.
const usual = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.,+%=@-"

// pattern is one of "git for-each-ref": a ref, everything below a prefix, or names with "*", which
// matches no "/".
type pattern struct {
	text  string
	place string // directory of the matching refs, without a trailing "/"
	tail  string // text after the last "*"
	wild  bool
}

func patternOf(text string) pattern {
	p := pattern{text: text, place: strings.TrimSuffix(text, "/")}
	if head, _, wild := strings.Cut(text, "*"); wild {
		p.wild, p.place = true, strings.TrimSuffix(head[:strings.LastIndexByte(head, '/')+1], "/")
		p.tail = text[strings.LastIndexByte(text, '*')+1:]
	}
	return p
}

func matchAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(text string) bool {
		p := patternOf(text)
		return p.matches(name)
	})
}

func (p *pattern) matches(name string) bool {
	if p.wild {
		if !strings.HasSuffix(name, p.tail) {
			return false
		}
		ok, err := path.Match(p.text, name)
		return ok && err == nil
	}
	rest, ok := strings.CutPrefix(name, p.place)
	return ok && (rest == "" && p.place == p.text || strings.HasPrefix(rest, "/"))
}
