package notes

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/gitobj"
)

// walk is one operation on notes trees. depth counts the directories on the way; the name of a note
// is the remaining digits of its target.
type walk struct {
	r      Reader
	w      Writer
	format gitobj.Format
	read   map[string]rawTree // trees read so far, by id
}

// rawTree is a tree as git keeps it.
type rawTree struct {
	body    []byte
	entries []gitobj.TreeEntry
}

// newWalk begins an operation in the repository of an object, by its id.
func newWalk(r Reader, w Writer, oid string) *walk {
	return &walk{r: r, w: w, format: gitobj.FormatOf(oid), read: make(map[string]rawTree)}
}

// root returns the tree of a notes commit, "" for none.
func (t *walk) root(ctx context.Context, tip string) (string, error) {
	if tip == "" {
		return "", nil
	}
	if err := checkOID(t.format, tip); err != nil {
		return "", err
	}
	body, err := t.object(ctx, tip, "commit")
	if err != nil {
		return "", err
	}
	tree := gitobj.Tree(body)
	if tree == "" {
		return "", fault.New(fault.Invalid, fault.MalformedObject, "notes commit %s names no tree", tip)
	}
	return tree, nil
}

func (t *walk) object(ctx context.Context, oid, want string) ([]byte, error) {
	kind, body, err := t.r.Object(ctx, oid)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read notes %s %s: %w", want, oid, err)
	case kind == "":
		return nil, fault.New(fault.Unavailable, fault.MissingObject, "notes %s %s is missing", want, oid).
			WithHints(fault.Run("githandoff", "doctor", "--fix").Because("fetches the object again, if a hub has it"))
	case kind != want:
		return nil, fault.New(fault.Invalid, fault.MalformedObject, "notes %s %s is a %s", want, oid, kind)
	}
	return body, nil
}

// note is the state of one target's note in one directory.
type note struct {
	name  string   // remaining digits of the target, lower case
	blobs []string // blobs of the note; several if the tree has several notes of one target
	lines []string // lines of the new note
	set   bool     // the note is replaced by lines, or removed without any
}

// content reads a note: its well-formed lines, sorted, each once. A blob that is too large for a
// note is ignored.
func (t *walk) content(ctx context.Context, n *note) ([]string, error) {
	lines := slices.Clone(n.lines)
	for _, oid := range n.blobs {
		body, err := t.object(ctx, oid, "blob")
		if fault.Is(err, fault.TooLarge) {
			continue
		}
		if err != nil {
			return nil, err
		}
		lines = append(lines, parsed(body)...)
	}
	return union(lines), nil
}

// directory is one directory of notes, or several directories of the same name that count as one.
type directory struct {
	trees    [][]byte                    // raw trees
	notes    map[string]*note            // notes by the remaining digits
	subtrees map[string][]string         // ids of subtrees, by two lower-case digits
	others   map[string]gitobj.TreeEntry // entries that are not notes, by name
}

// load reads the directory consisting of trees ("" is an empty one).
func (t *walk) load(ctx context.Context, depth int, trees []string) (*directory, error) {
	d := &directory{
		notes:    make(map[string]*note),
		subtrees: make(map[string][]string),
		others:   make(map[string]gitobj.TreeEntry),
	}
	for _, oid := range trees {
		if oid == "" {
			continue
		}
		read, err := t.tree(ctx, oid)
		if err != nil {
			return nil, err
		}
		d.trees = append(d.trees, read.body)
		for _, e := range read.entries {
			d.insert(t.format.Digits()-2*depth, e)
		}
	}
	return d, nil
}

// tree reads a tree once.
func (t *walk) tree(ctx context.Context, oid string) (rawTree, error) {
	if known, ok := t.read[oid]; ok {
		return known, nil
	}
	body, err := t.object(ctx, oid, "tree")
	if err != nil {
		return rawTree{}, err
	}
	entries, err := t.format.ParseTree(body)
	if err != nil {
		return rawTree{}, fault.New(fault.Invalid, fault.MalformedObject, "notes tree %s: %w", oid, err)
	}
	t.read[oid] = rawTree{body, entries}
	return t.read[oid], nil
}

// insert tells notes, directories of notes and other entries apart as git does
// (load_subtree in notes.c), which also takes upper-case digits. Left is how many digits are.
func (d *directory) insert(left int, e gitobj.TreeEntry) {
	name := strings.ToLower(e.Name)
	switch {
	case !isHex(name):
		d.other(e)
	case len(name) == left && (e.Mode == gitobj.File || e.Mode == gitobj.Exec):
		n := d.note(name)
		n.blobs = addNew(n.blobs, e.OID)
	case len(name) == 2 && left > 2 && e.Mode == gitobj.Dir:
		d.subtrees[name] = addNew(d.subtrees[name], e.OID)
	default:
		d.other(e)
	}
}

func (d *directory) note(name string) *note {
	if d.notes[name] == nil {
		d.notes[name] = &note{name: name}
	}
	return d.notes[name]
}

// other keeps the first entry of a name.
func (d *directory) other(e gitobj.TreeEntry) {
	if _, ok := d.others[e.Name]; !ok {
		d.others[e.Name] = e
	}
}

// crowded applies git's rule for cutting a directory into subdirectories.
func (d *directory) crowded(left int) bool {
	if left <= 2 {
		return false
	}
	below := make(map[byte]int)
	for name := range d.subtrees {
		below[name[0]] = 2
	}
	for name := range d.notes {
		below[name[0]]++
	}
	for _, digit := range []byte("0123456789abcdef") {
		if below[digit] < 2 {
			return false
		}
	}
	return true
}

// lines follows the digits of target from root down through every possible directory of its note.
func (t *walk) lines(ctx context.Context, root, target string) ([]string, error) {
	var found note
	trees := []string{root}
	for depth := 0; len(trees) > 0; depth++ {
		d, err := t.load(ctx, depth, trees)
		if err != nil {
			return nil, err
		}
		left := target[2*depth:]
		if n := d.notes[left]; n != nil {
			found.blobs = addNew(found.blobs, n.blobs...)
		}
		trees = d.subtrees[left[:2]]
	}
	return t.content(ctx, &found)
}

func isHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

// addNew appends those elements of more that list lacks.
func addNew(list []string, more ...string) []string {
	for _, s := range more {
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}
