package snapshot

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"githandoff/internal/gitobj"
	"githandoff/internal/refs"
)

const maxTree = 64 << 20 // size of one tree object in bytes

// file is the entry of a path in a tree; the zero value means it is gone.
type file struct{ mode, oid string }

// trees edits trees without an index, and keeps the new ones.
type trees struct {
	repo *refs.Repo
	made map[string]*refs.Object
}

func newTrees(repo *refs.Repo) *trees {
	return &trees{repo: repo, made: map[string]*refs.Object{}}
}

// node is a directory with changes below it.
type node struct {
	files map[string]file
	dirs  map[string]*node
}

func newNode() *node { return &node{files: map[string]file{}, dirs: map[string]*node{}} }

func (n *node) put(path string, f file) {
	dir, rest, deeper := strings.Cut(path, "/")
	if !deeper {
		n.files[path] = f
		return
	}
	if n.dirs[dir] == nil {
		n.dirs[dir] = newNode()
	}
	n.dirs[dir].put(rest, f)
}

// edit returns base with changes, by path.
func (t *trees) edit(ctx context.Context, base string, changes map[string]file) (string, error) {
	if len(changes) == 0 {
		return base, nil
	}
	root := newNode()
	for path, f := range changes {
		root.put(path, f)
	}
	oid, err := t.apply(ctx, base, root)
	if err != nil || oid != "" {
		return oid, err
	}
	return t.keep(nil)
}

// apply returns the tree of a directory, "" if nothing is in it any more.
func (t *trees) apply(ctx context.Context, base string, n *node) (string, error) {
	byName, err := t.byName(ctx, base)
	if err != nil {
		return "", err
	}
	for name, f := range n.files {
		delete(byName, name)
		if f.oid != "" {
			byName[name] = gitobj.TreeEntry{Mode: f.mode, Name: name, OID: f.oid}
		}
	}
	for name, sub := range n.dirs {
		below := ""
		switch e, there := byName[name]; {
		case there && e.Mode == gitobj.Dir:
			below = e.OID
		case there && n.files[name].oid != "":
			continue // a file has taken the place of the directory
		}
		oid, err := t.apply(ctx, below, sub)
		if err != nil {
			return "", err
		}
		delete(byName, name)
		if oid != "" {
			byName[name] = gitobj.TreeEntry{Mode: gitobj.Dir, Name: name, OID: oid}
		}
	}
	if len(byName) == 0 {
		return "", nil
	}
	return t.keep(slices.Collect(maps.Values(byName)))
}

// has reports whether a tree has a path.
func (t *trees) has(ctx context.Context, tree, path string) (bool, error) {
	name, rest, deeper := strings.Cut(path, "/")
	byName, err := t.byName(ctx, tree)
	e, there := byName[name]
	switch {
	case err != nil || !there || !deeper:
		return there, err
	case e.Mode != gitobj.Dir:
		return false, nil
	}
	return t.has(ctx, e.OID, rest)
}

// byName returns the entries of a tree by their names.
func (t *trees) byName(ctx context.Context, oid string) (map[string]gitobj.TreeEntry, error) {
	entries, err := t.read(ctx, oid)
	byName := make(map[string]gitobj.TreeEntry, len(entries))
	for _, e := range entries {
		byName[e.Name] = e
	}
	return byName, err
}

// read lists a tree; "" is the empty one.
func (t *trees) read(ctx context.Context, oid string) ([]gitobj.TreeEntry, error) {
	if oid == "" || gitobj.IsEmptyTree(oid) {
		return nil, nil
	}
	o := t.made[oid]
	if o == nil {
		var err error
		if o, err = t.repo.Read(ctx, oid, maxTree); err != nil {
			return nil, err
		}
	}
	if o == nil || o.Type != "tree" {
		return nil, fmt.Errorf("read tree %s: it is not there", oid)
	}
	entries, err := t.repo.Format.ParseOldTree(o.Body)
	if err != nil {
		return nil, cannot("tree %s is not in the form in which git would write it again: %w", oid, err)
	}
	return entries, nil
}

// keep encodes a tree.
func (t *trees) keep(entries []gitobj.TreeEntry) (string, error) {
	body, err := gitobj.EncodeTree(entries)
	if err != nil {
		return "", err
	}
	o := refs.NewObject(t.repo.Format, "tree", body)
	t.made[o.OID] = o
	return o.OID, nil
}

// list lists every file below a tree, by path.
func (t *trees) list(ctx context.Context, oid, below string, into map[string]file) error {
	entries, err := t.read(ctx, oid)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Mode != gitobj.Dir {
			into[below+e.Name] = file{e.Mode, e.OID}
			continue
		}
		if err := t.list(ctx, e.OID, below+e.Name+"/", into); err != nil {
			return err
		}
	}
	return nil
}
