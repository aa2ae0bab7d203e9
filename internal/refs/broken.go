package refs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"githandoff/internal/fault"
)

// Broken lists the refs of githandoff leading nowhere: a file left empty or without an object
// id by a power cut, or a missing object. git passes over the first kind, as if the ref did not
// exist.
func Broken(ctx context.Context, r *Repo) ([]string, error) {
	names, err := looseAndListed(ctx, r)
	if err != nil {
		return nil, err
	}
	var broken []string
	for _, name := range names {
		leads, err := leadsSomewhere(ctx, r, name)
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

// leadsSomewhere reports whether a ref can be followed to an object.
func leadsSomewhere(ctx context.Context, r *Repo, name string) (bool, error) {
	if strings.ContainsAny(name, " \n") { // no ref has such a name
		return false, nil
	}
	o, err := r.ReadTip(ctx, name, maxTip)
	switch {
	case fault.Is(err, fault.TooLarge):
		return true, nil
	case fault.Is(err, fault.MissingObject) && !errors.Is(err, errEnded):
		return false, nil
	}
	return o != nil, err
}

// looseAndListed lists the refs of githandoff: those listed by git, and the loose files.
func looseAndListed(ctx context.Context, r *Repo) ([]string, error) {
	list, err := r.List(ctx, Root, NotesRef)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, ref := range list {
		names = append(names, ref.Name)
	}
	add := func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && !d.IsDir() && !strings.HasSuffix(path, ".lock") {
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
	slices.Sort(names)
	return slices.Compact(names), nil
}
