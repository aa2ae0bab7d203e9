package refs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Damaged lists the refs of githandoff whose file holds neither an object id nor the name of
// another ref. A power cut leaves such files, empty or full of NULs: git writes refs to disk only
// where core.fsync says so.
func Damaged(r *Repo) ([]string, error) {
	names, err := looseFiles(r)
	return slices.DeleteFunc(names, func(name string) bool { return !isDamagedRef(r, name) }), err
}

func isDamagedRef(r *Repo, name string) bool {
	path := filepath.Join(r.CommonDir, filepath.FromSlash(name))
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || !isShared(name) || !isOwn(name) || !keepsRefsInFiles(r) {
		return false
	}
	b, err := ReadFile(path, "")
	if err != nil || strings.HasPrefix(b, "ref:") {
		return false
	}
	end := min(len(b), r.Format.Digits())
	id, rest := b[:end], b[end:]
	return !isTip(r, id) || rest != "" && strings.TrimLeft(rest[:1], " \t\r\n") != ""
}

// isOwn reports whether a ref is one of githandoff.
func isOwn(name string) bool {
	return strings.HasPrefix(name, Root) || name == NotesRef || strings.HasPrefix(name, NotesRef+"/")
}

// DropDamagedRef removes the file of a damaged ref, and no other file. From then on the ref has the
// value that packed-refs has, if any.
func DropDamagedRef(r *Repo, name string) error {
	path := filepath.Join(r.CommonDir, filepath.FromSlash(name))
	lock, err := os.OpenFile(path+".lock", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666) // taken as git takes it
	if errors.Is(err, fs.ErrExist) {
		return Locked(path + ".lock")
	}
	if err != nil {
		return fmt.Errorf("lock %s: %w", name, err)
	}
	defer func() { _ = os.Remove(path + ".lock") }()
	_ = lock.Close()
	if !isDamagedRef(r, name) {
		return nil
	}
	return os.Remove(path)
}

// Broken lists the refs of githandoff that lead to a missing object. It refuses to list if the
// file of a ref is damaged, see [Damaged].
func Broken(ctx context.Context, r *Repo) ([]string, error) {
	names, err := looseAndListed(ctx, r)
	if err != nil {
		return nil, err
	}
	var broken []string
	for _, name := range names {
		leads, err := Leads(ctx, r, name)
		if err != nil {
			return nil, err
		}
		if !leads {
			broken = append(broken, name)
		}
	}
	if len(broken) == 0 {
		return nil, nil
	}
	// Somebody may have deleted it since it was listed.
	if names, err = looseAndListed(ctx, r); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(broken, func(name string) bool { return !slices.Contains(names, name) }), nil
}

// Leads reports whether the object that a ref or an id leads to is here, and not damaged.
func Leads(ctx context.Context, r *Repo, name string) (bool, error) {
	if strings.ContainsAny(name, " \n") { // no name of a ref has these characters
		return false, nil
	}
	o, err := readWhole(ctx, r, name)
	return o != nil, err
}

// looseAndListed lists the refs of githandoff: those listed by git, and the loose files.
func looseAndListed(ctx context.Context, r *Repo) ([]string, error) {
	list, err := r.List(ctx, Root, NotesRef)
	if err != nil {
		return nil, err
	}
	names, err := looseFiles(r)
	for _, ref := range list {
		names = append(names, ref.Name)
	}
	slices.Sort(names)
	return slices.Compact(names), err
}

// looseFiles lists the names of files where git keeps the refs of githandoff.
func looseFiles(r *Repo) (names []string, err error) {
	add := func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && !d.IsDir() && !strings.HasSuffix(path, ".lock") && !leadsToDir(path, d) {
			name, _ := filepath.Rel(r.CommonDir, path)
			names = append(names, filepath.ToSlash(name))
		}
		return err
	}
	for _, top := range []string{Root, NotesRef} {
		if err := filepath.WalkDir(filepath.Join(r.CommonDir, top), add); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("look at loose refs: %w", err)
		}
	}
	return names, nil
}

// leadsToDir reports whether an entry is a link to a directory, which git follows: it is no ref.
func leadsToDir(path string, d fs.DirEntry) bool {
	if d.Type()&fs.ModeSymlink == 0 {
		return false
	}
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
