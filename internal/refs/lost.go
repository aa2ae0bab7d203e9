package refs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/objfile"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/gitobj"
)

// Lost is a ref with an object in its history that is not here, or whose file is damaged: a power
// cut leaves empty files, unless core.fsync says otherwise.
type Lost struct {
	Ref
	Object string // the first lost one that was met
}

// Connected reports whether git finds all objects of refs. It is quick, and does not look into
// the files of blobs.
func Connected(ctx context.Context, r *Repo, list []Ref) (bool, error) {
	var tips strings.Builder
	for _, ref := range list {
		tips.WriteString(ref.OID + "\n")
	}
	_, err := r.Runner.Run(ctx, gitexec.Cmd{Args: []string{"rev-list", "--objects", "--quiet", "--stdin"}, Stdin: strings.NewReader(tips.String())})
	if gitexec.ExitCode(err) > 0 {
		return false, nil
	}
	return err == nil, err
}

// FindLost reads the objects of refs one after the other, commits with their parents, trees and
// files, and returns the refs with a lost one.
func FindLost(ctx context.Context, r *Repo, list []Ref) ([]Lost, error) {
	var found []Lost
	sound := map[string]bool{EmptyTree: true} // git knows the empty tree without its file
	for _, ref := range list {
		oid, err := firstLost(ctx, r, ref.OID, sound)
		if err != nil {
			return nil, err
		}
		if oid != "" {
			found = append(found, Lost{ref, oid})
		}
	}
	return found, nil
}

// firstLost returns the first lost object below tip, "" if there is none. It adds to sound what it
// has read then.
func firstLost(ctx context.Context, r *Repo, tip string, sound map[string]bool) (string, error) {
	seen := map[string]bool{}
	for todo := []string{tip}; len(todo) > 0; {
		oid := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if sound[oid] || seen[oid] {
			continue
		}
		seen[oid] = true
		o, err := r.Read(ctx, oid, 1<<20)
		switch {
		case fault.Is(err, fault.TooLarge):
			continue
		case fault.Is(err, fault.MissingObject), o == nil && err == nil: // git dies of a damaged one in a pack
			return oid, nil
		case err != nil:
			return "", err
		}
		todo = append(todo, namedBy(o)...)
	}
	maps.Copy(sound, seen)
	return "", nil
}

// namedBy lists the objects that a commit or a tree names. A tree that nobody can read names none.
func namedBy(o *Object) []string {
	switch o.Type {
	case "commit":
		return append(gitobj.Parents(o.Body), gitobj.Header(o.Body, "tree")...)
	case "tree":
		entries, _ := gitobj.ParseTree(o.Body)
		var names []string
		for _, e := range entries {
			if e.Mode != gitobj.Gitlink {
				names = append(names, e.OID)
			}
		}
		return names
	}
	return nil
}

// DropDamaged removes the file of a loose object that does not hold the object, and reports
// whether it did: git neither reads such a file nor writes it again.
func (st *Store) DropDamaged(oid string) (bool, error) {
	path := st.loosePath(oid)
	damaged, err := isDamaged(path, oid)
	if !damaged || err != nil {
		return false, err
	}
	return true, os.Remove(path)
}

// isDamaged reports whether a file does not hold an object. One that cannot be read now may hold it.
func isDamaged(path, oid string) (bool, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	in, err := objfile.NewReader(f)
	if err == nil {
		defer func() { _ = in.Close() }()
		_, _, err = in.Header()
	}
	if err == nil {
		_, err = io.Copy(io.Discard, in)
	}
	if errors.As(err, new(*fs.PathError)) {
		return false, fmt.Errorf("read object %s: %w", oid, err)
	}
	return err != nil || in.Hash().String() != oid, nil
}
