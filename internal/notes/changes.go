package notes

import (
	"cmp"
	"context"

	"githandoff/internal/fault"
	"githandoff/internal/gitobj"
)

// Limits of a foreign tree of notes.
const (
	maxTrees = 64 << 20 // limit of all tree objects in bytes, about 400,000 notes
	treeCost = 512      // bytes added for each tree, for the request to git
)

// Change is a note with different content in two trees.
type Change struct {
	Target string
	Blob   string // blob of the note now, at one of its places; "" if the note is gone
}

// Changes visits the notes in which the tree after ("" for none) differs from the tree before, in
// the order of their names, directory by directory. It reads no equal subtrees, and keeps one path
// from the root in memory. A tree with entries in another form is refused with reason
// malformed_object, and so is one that names a subtree twice: a few objects could nest into a tree
// of astronomic size, and no two directories of notes are equal, as no two commits have an id with
// the same end. Trees of more than 64 MiB are refused with reason too_large. Valid notes before the
// bad entry are visited first; the bad entry is never visited.
func Changes(ctx context.Context, r Reader, before, after string, visit func(Change) error) error {
	c := &changes{t: newWalk(r, nil, cmp.Or(before, after)), visit: visit, before: make(map[string]bool), after: make(map[string]bool)}
	return c.walk(ctx, "", before, after)
}

// Batches is like Changes for up to n changes at a time. The last batch may be empty.
func Batches(ctx context.Context, r Reader, before, after string, n int, visit func([]Change) error) error {
	var batch []Change
	err := Changes(ctx, r, before, after, func(c Change) error {
		if batch = append(batch, c); len(batch) < n {
			return nil
		}
		defer func() { batch = batch[:0] }()
		return visit(batch)
	})
	if err != nil {
		return err
	}
	return visit(batch)
}

type changes struct {
	t             *walk
	visit         func(Change) error
	before, after map[string]bool // ids of the trees read on each side
	size          int             // size of these trees in bytes, with treeCost for each
}

func (c *changes) walk(ctx context.Context, prefix, before, after string) error {
	if before == after {
		return nil
	}
	was, err := c.list(ctx, c.before, prefix, before)
	if err != nil {
		return err
	}
	old := make(map[string]gitobj.TreeEntry, len(was))
	for _, e := range was {
		old[e.Name] = e
	}
	is, err := c.list(ctx, c.after, prefix, after)
	if err != nil {
		return err
	}
	for _, e := range is {
		o := old[e.Name]
		delete(old, e.Name)
		if o == e {
			continue
		}
		if err := c.entry(ctx, prefix, o, e); err != nil {
			return err
		}
	}
	for _, o := range was {
		if _, gone := old[o.Name]; gone {
			if err := c.entry(ctx, prefix, o, gitobj.TreeEntry{}); err != nil {
				return err
			}
		}
	}
	return nil
}

// entry compares two entries of one name. One of them may be missing.
func (c *changes) entry(ctx context.Context, prefix string, was, is gitobj.TreeEntry) error {
	name := prefix + was.Name
	if is.Name != "" {
		name = prefix + is.Name
	}
	if len(name) < c.t.format.Digits() {
		return c.walk(ctx, name, was.OID, is.OID)
	}
	return c.visit(Change{name, is.OID})
}

// list reads one directory of notes, strictly. known has the trees that were read before.
func (c *changes) list(ctx context.Context, known map[string]bool, prefix, tree string) ([]gitobj.TreeEntry, error) {
	if tree == "" {
		return nil, nil
	}
	if known[tree] {
		return nil, fault.New(fault.Invalid, fault.MalformedObject, "notes tree %s stands at two places", tree)
	}
	known[tree] = true
	body, err := c.t.object(ctx, tree, "tree")
	if err != nil {
		return nil, err
	}
	if c.size += len(body) + treeCost; c.size > maxTrees {
		return nil, fault.New(fault.Invalid, fault.TooLarge, "more than %d bytes of notes trees", maxTrees)
	}
	entries, err := c.t.format.ParseTree(body)
	if err != nil {
		return nil, fault.New(fault.Invalid, fault.MalformedObject, "notes tree %s: %w", tree, err)
	}
	for _, e := range entries {
		left := c.t.format.Digits() - len(prefix)
		file := len(e.Name) == left && e.Mode == gitobj.File
		down := len(e.Name) == 2 && left > 2 && e.Mode == gitobj.Dir
		if !isHex(e.Name) || !file && !down {
			return nil, fault.New(fault.Invalid, fault.MalformedObject, "notes tree %s: the entry %.60q is not a note", tree, e.Name)
		}
	}
	return entries, nil
}
