package notes

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"githandoff/internal/gitobj"
)

// place sets the notes of extra in one directory, and returns the resulting tree ("" for
// nothing). If nothing changes below, it returns the tree unread.
func (t *walk) place(ctx context.Context, depth int, trees []string, extra []*note) (string, error) {
	trees = slices.DeleteFunc(addNew(nil, trees...), func(oid string) bool { return oid == "" })
	if len(extra) == 0 && len(trees) < 2 {
		return strings.Join(trees, ""), nil
	}
	d, err := t.load(ctx, depth, trees)
	if err != nil {
		return "", err
	}
	touched := make(map[string]bool)
	for _, x := range extra {
		n := d.note(x.name)
		if x.set {
			n.blobs, n.lines, n.set = nil, x.lines, true
		} else {
			n.blobs = addNew(n.blobs, x.blobs...)
		}
		touched[x.name[:2]] = true
	}
	out := d.others
	here, down := d.sort(t.format.Digits()-2*depth, touched)
	for _, n := range here {
		oid, err := t.store(ctx, n)
		if err != nil {
			return "", err
		}
		out[n.name] = gitobj.TreeEntry{Mode: gitobj.File, Name: n.name, OID: oid}
	}
	for _, dir := range slices.Sorted(maps.Keys(down)) {
		oid, err := t.place(ctx, depth+1, d.subtrees[dir], down[dir])
		if err != nil {
			return "", err
		}
		if oid != "" {
			out[dir] = gitobj.TreeEntry{Mode: gitobj.Dir, Name: dir, OID: oid}
		}
	}
	if len(out) == 0 {
		return "", nil
	}
	body, err := gitobj.EncodeTree(slices.Collect(maps.Values(out)))
	if err != nil {
		return "", err
	}
	if i := slices.IndexFunc(d.trees, func(raw []byte) bool { return bytes.Equal(raw, body) }); i >= 0 {
		return trees[i], nil
	}
	return t.put("tree", body)
}

// sort divides the notes of d, in order, into those that stay and those that go down into a
// subdirectory, which may be new. Every subdirectory is a key of down; touched are the
// subdirectories that get notes from above.
func (d *directory) sort(left int, touched map[string]bool) (here []*note, down map[string][]*note) {
	down = make(map[string][]*note)
	for dir := range d.subtrees {
		down[dir] = nil
	}
	var gone []*note
	for name, n := range d.notes {
		if n.set && len(n.lines) == 0 {
			gone = append(gone, n)
			delete(d.notes, name)
		}
	}
	crowded := d.crowded(left)
	for _, name := range slices.Sorted(maps.Keys(d.notes)) {
		n, dir := d.notes[name], name[:2]
		// A note stays where it is if its subdirectory does not change otherwise: to move the note
		// down, the subdirectory would have to be read.
		alone := len(d.trees) == 1 && len(d.subtrees[dir]) == 1 && !touched[dir]
		if alone || !crowded && len(d.subtrees[dir]) == 0 {
			here = append(here, n)
			continue
		}
		down[dir] = append(down[dir], &note{name: name[2:], blobs: n.blobs, lines: n.lines, set: n.set})
	}
	for _, n := range gone { // a removed note may also be in a subdirectory
		if dir := n.name[:2]; len(d.subtrees[dir]) > 0 {
			down[dir] = append(down[dir], &note{name: n.name[2:], set: true})
		}
	}
	return here, down
}

// store returns the one blob of a note, written if need be. An unchanged note is not read.
func (t *walk) store(ctx context.Context, n *note) (string, error) {
	if len(n.blobs) == 1 && !n.set {
		return n.blobs[0], nil
	}
	lines, err := t.content(ctx, n)
	if err != nil {
		return "", err
	}
	return t.put("blob", join(newest(lines)))
}

func (t *walk) put(kind string, body []byte) (string, error) {
	oid, err := t.w.Put(kind, body)
	if err != nil {
		return "", fmt.Errorf("write notes %s: %w", kind, err)
	}
	return oid, nil
}
