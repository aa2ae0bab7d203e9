package refs

import (
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/gitobj"
)

// A gc moves objects from one file to another and removes some, while this process looks for one.
// It may even take an object whose ref moved a moment ago; the process behind the move then writes
// the object again. So a missing object proves nothing about the name that leads to it. Only the
// ref itself, or the tree of a path, tells that the name does not exist.

const (
	// looks is how often an object is looked for while a gc runs, or git ends at it.
	looks = 7

	// settles is how long after the move of a ref its object may still be missing. On a busy
	// machine the process behind the move writes it again later than a few looks, when the gc that
	// took it may have ended.
	settles = 3 * time.Second
)

const (
	// maxTip bounds an object read to learn its id alone. A larger one is not read, but ends the
	// process that was asked for it.
	maxTip = 1 << 20

	// maxTop bounds an object read to learn what it leads to: a tree has a few bytes for each file.
	maxTop = 64 << 20
)

// look is like Read for the name under which this repository keeps a ref.
func look(ctx context.Context, r *Repo, name string, limit int64) (*Object, error) {
	o, err := r.find(name, limit)
	for n := 1; err == nil && o == nil || errors.Is(err, errEnded); n++ {
		if err == nil && !gitobj.IsID(name) {
			if there, terr := isThere(ctx, r, name); terr != nil || !there {
				return nil, terr
			}
		}
		settled := n >= looks || n > 1 && err == nil && r.Store.collecting().IsZero()
		if settled && (err != nil || !movedLately(r, name)) {
			return nil, errUnseen(name, err)
		}
		if n > 1 {
			if perr := Pause(ctx, min(n-2, 3)); perr != nil {
				return nil, perr
			}
		}
		o, err = r.find(name, limit)
	}
	if err != nil && o != nil {
		return readAlone(ctx, r, o, limit, err)
	}
	return o, err
}

// movedLately reports whether the ref that a name begins with moved a moment ago, by the times of
// git's files. It does not know about reftables.
func movedLately(r *Repo, name string) bool {
	ref, _, _ := strings.Cut(name, ":")
	ref, _, _ = strings.Cut(ref, "^{")
	if !isShared(ref) {
		return false
	}
	info, err := os.Stat(filepath.Join(r.CommonDir, filepath.FromSlash(ref)))
	if err != nil {
		info, err = os.Stat(filepath.Join(r.CommonDir, "packed-refs"))
	}
	return err == nil && time.Since(info.ModTime()).Abs() < settles
}

// errUnseen returns the error of a name whose object was not found; nil for the id of a missing
// object.
func errUnseen(name string, ended error) error {
	switch {
	case ended != nil:
		return fault.New(fault.Unavailable, fault.MissingObject, "read %s: %w", name, ended).WithHints(BringsObjects())
	case gitobj.IsID(name):
		return nil
	}
	return Missing("the object of " + name)
}

// Missing returns the refusal of something whose object this repository lost: git brings a ref only
// with all of its objects.
func Missing(what string) error {
	return fault.New(fault.Unavailable, fault.MissingObject, "%s is lost here, or its file is damaged", what).WithHints(BringsObjects())
}

// ReadNamed is like [Repo.Read] for the id of an object that another object, or a ref, names. It is here for
// that reason: if it is not, it was lost, and the refusal calls it what.
func ReadNamed(ctx context.Context, r *Repo, oid string, limit int64, what string) (*Object, error) {
	o, err := r.Read(ctx, oid, limit)
	if err == nil && o == nil {
		err = Missing(what)
	}
	return o, err
}

// BringsObjects returns the hint for an object that is lost or damaged here.
func BringsObjects() fault.Hint {
	return fault.Run("githandoff", "doctor", "--fix").Because("fetches the object again, if a hub has it")
}

// resolve returns what a ref or a revision leads to, whether or not the object is here; "" where it
// does not exist.
func resolve(ctx context.Context, r *Repo, name string) (string, error) {
	if gitobj.IsID(name) {
		return name, nil
	}
	if oid, ok := r.tipInFiles(name); ok {
		return oid, ctx.Err()
	}
	if isRevision(name) {
		o, err := look(ctx, r, name, maxTip)
		if o == nil {
			return "", err
		}
		return o.OID, nil
	}
	o, err := r.reader.read(name, maxTip)
	if o != nil {
		return o.OID, nil
	}
	if err != nil && !errors.Is(err, errEnded) {
		return "", err
	}
	// git cat-file answers for a ref without its object as for no ref.
	oid, err := r.RevParse(ctx, name)
	if gitexec.ExitCode(err) == 1 { // exit code 1 means that there is no such ref
		oid, err = "", nil
	}
	if err == nil && !isTip(r, oid) && isDamagedRef(r, name) {
		return "", Missing(name)
	}
	return oid, err
}

// isListed is like isThere for a name in a tree that git reads, and this package does not.
func isListed(ctx context.Context, r *Repo, tree, name string) (bool, error) {
	out, err := r.Runner.Run(ctx, gitexec.Cmd{Args: []string{"ls-tree", "-z", tree}})
	if err != nil && gitexec.ExitCode(err) <= 0 {
		return false, err
	}
	for line := range strings.SplitSeq(string(out), "\x00") {
		mode, entry, _ := strings.Cut(line, "\t")
		if entry == name && !strings.Contains(mode, " commit ") {
			return true, nil
		}
	}
	return false, nil
}

// isRevision reports whether a name is that of a path in a commit, or of an object behind another one.
func isRevision(name string) bool { return strings.Contains(name, ":") || strings.Contains(name, "^{") }

// isThere reports whether a name, which is no object id, leads to an object that may not be here.
func isThere(ctx context.Context, r *Repo, name string) (bool, error) {
	if base, file, ok := strings.Cut(name, ":"); ok {
		dir := base + "^{tree}"
		if above := path.Dir(file); above != "." {
			dir = base + ":" + above
		}
		tree, err := look(ctx, r, dir, maxTop)
		if err != nil || tree == nil {
			return false, err
		}
		entries, err := r.Format.ParseTree(tree.Body)
		if err != nil { // git reads trees that ParseTree refuses
			return isListed(ctx, r, tree.OID, path.Base(file))
		}
		return slices.ContainsFunc(entries, func(e gitobj.TreeEntry) bool { // a submodule's commit is elsewhere
			return e.Name == path.Base(file) && e.Mode != gitobj.Gitlink
		}), nil
	}
	base, kind, ok := strings.Cut(name, "^{")
	if !ok {
		oid, err := resolve(ctx, r, name)
		return oid != "", err
	}
	o, err := look(ctx, r, base, maxTop)
	switch {
	case err != nil:
		return false, err
	case o == nil: // a ref or an object that is here named this id
		return gitobj.IsID(base), nil
	case o.Type == "tag":
		target := gitobj.Header(o.Body, "object")
		if len(target) == 0 {
			return false, nil // git does not accept it as a tag
		}
		return isThere(ctx, r, target[0]+"^{"+kind)
	}
	return o.Type == "commit" && kind == "tree}", nil
}
