package refs

import (
	"cmp"
	"context"
	"encoding/hex"
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
	Object string // id of the first lost object found
}

// Connected reports whether git finds all objects of refs. It is quick, and does not look into
// the files of blobs. A commit-graph would keep git from reading the commits. Exclude has arguments of
// "git rev-list" for the history that is not looked at, such as "--not" and "--branches".
func Connected(ctx context.Context, r *Repo, list []Ref, exclude ...string) (bool, error) {
	var tips strings.Builder
	for _, ref := range list {
		tips.WriteString(ref.OID + "\n")
	}
	_, err := r.Runner.Run(ctx, gitexec.Cmd{Args: append([]string{"-c", "core.commitGraph=false", "rev-list", "--objects", "--quiet", "--stdin"}, exclude...), Stdin: strings.NewReader(tips.String())})
	if gitexec.ExitCode(err) > 0 {
		return false, nil
	}
	return err == nil, err
}

// FindLost reads the objects of refs one after the other, commits with their parents, trees and
// files, and returns the refs with a lost one.
func FindLost(ctx context.Context, r *Repo, list []Ref) ([]Lost, error) {
	return findLost(list, func(oid string) (*Object, error) { return readWhole(ctx, r, oid) })
}

// readWhole returns an object, nil if it is lost or damaged, and a large one without its body.
func readWhole(ctx context.Context, r *Repo, oid string) (*Object, error) {
	o, err := r.Read(ctx, oid, maxTip)
	switch {
	case fault.Is(err, fault.TooLarge):
		return o, nil
	case fault.Is(err, fault.MissingObject): // also for a damaged object in a pack, at which git exits
		return nil, nil
	}
	return o, err
}

// findLost is FindLost with a function that reads an object, and returns nil for a lost one.
func findLost(list []Ref, read func(oid string) (*Object, error)) ([]Lost, error) {
	var found []Lost
	sound := map[string]bool{gitobj.SHA1.EmptyTree(): true, gitobj.SHA256.EmptyTree(): true} // built into git
	for _, ref := range list {
		oid, err := firstLost(ref.OID, read, sound)
		if err != nil {
			return nil, err
		}
		if oid != "" {
			found = append(found, Lost{ref, oid})
		}
	}
	return found, nil
}

// firstLost reads all objects below tip, and returns the first lost one; "" if there is none. Then
// it adds all that it read to sound.
func firstLost(tip string, read func(oid string) (*Object, error), sound map[string]bool) (lost string, err error) {
	seen := map[string]bool{}
	for todo := []string{tip}; len(todo) > 0; {
		oid := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if sound[oid] || seen[oid] {
			continue
		}
		seen[oid] = true
		o, err := read(oid)
		if err != nil {
			return "", err
		}
		if o == nil {
			lost = cmp.Or(lost, oid)
			continue
		}
		todo = append(todo, namedBy(o)...)
	}
	if lost == "" {
		maps.Copy(sound, seen)
	}
	return lost, nil
}

// namedBy lists the objects that a commit or a tree names. A tree that nobody can read names none.
func namedBy(o *Object) []string {
	switch o.Type {
	case "commit":
		names := gitobj.Parents(o.Body)
		if tree := gitobj.Tree(o.Body); tree != "" {
			names = append(names, tree)
		}
		return names
	case "tree":
		entries, _ := gitobj.FormatOf(o.OID).ParseTree(o.Body)
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

// DropDamaged removes the file of a loose object that does not hold the object: git neither reads
// such a file nor writes it again.
func (st *Store) DropDamaged(oid string) error {
	path := st.loosePath(oid)
	damaged, err := isDamaged(path, oid)
	if !damaged || err != nil {
		return err
	}
	return os.Remove(path)
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
	holds, err := hashLoose(f, gitobj.FormatOf(oid))
	if errors.As(err, new(*fs.PathError)) {
		return false, fmt.Errorf("read object %s: %w", oid, err)
	}
	return err != nil || holds != oid, nil
}

// hashLoose returns the id of the object in a file of a loose object.
func hashLoose(f io.Reader, format gitobj.Format) (oid string, err error) {
	in, err := objfile.NewReader(f)
	if err != nil {
		return "", err
	}
	defer func() { _ = in.Close() }()
	kind, size, err := in.Header()
	if err != nil {
		return "", err
	}
	h := format.Hasher(kind.String(), size)
	_, err = io.Copy(h, in)
	return hex.EncodeToString(h.Sum(nil)), err
}
