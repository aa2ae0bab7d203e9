package annotate

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/gitobj"
	"githandoff/internal/notes"
	"githandoff/internal/refs"
)

const (
	// notesMark ends the message of a notes commit whose whole tree is in form.
	notesMark = "Notes-Form: 2"
	// notesOf begins the line with the source in a commit of shown notes.
	notesOf = "Notes-Of: "

	maxUnmarked = 64       // commits without our mark, such as git's own, among which our newest is searched
	fewUnmarked = 16       // commits without our mark after which a new commit of ours pays
	maxTidied   = 32 << 20 // bytes of others' notes to keep
)

// tidied is the tree of our notes in form.
type tidied struct {
	tree string
	ours string // our newest commit; "" if none was found
	was  string // tree of the tip before it was tidied
	far  bool   // our newest commit is missing or far behind: write a new one even if no note changes
}

// tidy brings the notes at tip into form: git writes notes when commits are rewritten, people
// write some, and earlier versions merged the notes of anyone. A tip descending from a commit of
// ours is compared with the commit; any other is read whole.
func (n *Notes) tidy(ctx context.Context, tip string, w *collector) (tidied, error) {
	if tip == "" {
		return tidied{}, nil
	}
	var t tidied
	oid, behind := tip, 0
	for ; oid != "" && behind < maxUnmarked; behind++ {
		kind, raw, err := w.Object(ctx, oid)
		if err == nil && kind == "" {
			err = refs.Missing("notes commit " + oid)
		}
		if err != nil && (fault.As(err) == nil || fault.Is(err, fault.MissingObject)) {
			return tidied{}, err
		}
		if err != nil || kind != "commit" {
			break
		}
		if bytes.HasSuffix(bytes.TrimRight(raw, "\n"), []byte("\n\n"+notesMark)) {
			t.ours = oid
			break
		}
		oid = gitobj.FirstParent(raw)
	}
	t.was, _ = notes.Root(ctx, w, tip) // a tip that is not a commit has no notes
	if t.ours == "" {
		t.far = true
	} else {
		var err error
		if t.tree, err = notes.Root(ctx, w, t.ours); err != nil || t.ours == tip {
			return t, err
		}
		t.far = behind > fewUnmarked
	}
	set, err := n.tidyLines(ctx, w, t)
	if err != nil {
		if fault.As(err) == nil || fault.CodeOf(err) == fault.Unavailable {
			return tidied{}, err
		}
		n.Workspace.Warn(fmt.Errorf("%s is started again from scratch: %w", refs.NotesRef, err))
		t.far = true
		return t, nil
	}
	t.tree, err = notes.Set(ctx, w, w, t.tree, set)
	return t, err
}

// tidyLines returns the notes changed since our newest commit, well-formed. Without such a commit,
// an earlier version wrote the notes, and merged those of anybody: then only lines confirmed by a
// lane stay. sync restores our own.
func (n *Notes) tidyLines(ctx context.Context, r notes.Reader, t tidied) (map[string][]string, error) {
	set := map[string][]string{}
	size := 0
	lanes := newConfirmer(n)
	err := notes.Changes(ctx, r, t.tree, t.was, func(c notes.Change) error {
		lines, err := notes.ReadIn(ctx, r, t.was, c.Target)
		if err == nil && t.ours == "" {
			lines, err = lanes.confirmed(ctx, lines)
		}
		if err != nil {
			return err
		}
		for _, l := range lines {
			if size += len(l); size > maxTidied {
				return fault.New(fault.Invalid, fault.TooLarge, "more than %d bytes of notes", maxTidied)
			}
		}
		set[c.Target] = lines
		return nil
	})
	return set, err
}

// areShown reports whether git log shows notes here: "init --notes" asks for it.
func (n *Notes) areShown() bool {
	return slices.Contains(n.Engine.Repo.Config["notes.displayref"], refs.ShownRef)
}

// Show updates the notes shown by git log. git complains of a missing ref, so this one is made
// even without notes.
func (n *Notes) Show(ctx context.Context) error {
	return n.update(ctx, "Notes tidied by githandoff", func(tree string, _ *collector) (string, error) { return tree, nil })
}

// shownEdit moves the ref of shown notes to the short form of a tree of notes.
func (n *Notes) shownEdit(ctx context.Context, tree string, w *collector) ([]refs.Edit, error) {
	if !n.areShown() {
		return nil, nil
	}
	tip, err := n.Engine.Repo.Resolve(ctx, refs.ShownRef)
	if err != nil {
		return nil, err
	}
	of, shown := n.shownOf(ctx, w, tip)
	if gitobj.IsEmptyTree(of) && tree == "" {
		of = ""
		if gitobj.IsEmptyTree(shown) {
			return nil, nil
		}
	}
	if tip != "" && shown != "" && of == tree {
		return nil, nil
	}
	next, err := n.bring(ctx, w, of, tree, shown)
	if err != nil && of != "" { // the tree from which the shown notes were made may be gone
		next, err = n.bring(ctx, w, "", tree, "")
	}
	if err != nil {
		return nil, err
	}
	oid, err := n.commit(w, next, "Notes shown by githandoff\n\n"+notesOf+cmp.Or(tree, n.Engine.Repo.Format.EmptyTree()))
	if err != nil || oid == tip {
		return nil, err
	}
	return []refs.Edit{{Ref: refs.ShownRef, Old: tip, New: oid}}, nil
}

// shownOf returns the tree of notes from which the shown notes at tip were made, and the tree of the
// shown notes. Both are "" if tip does not say so.
func (n *Notes) shownOf(ctx context.Context, r notes.Reader, tip string) (of, shown string) {
	if tip == "" {
		return "", ""
	}
	kind, raw, err := r.Object(ctx, tip)
	if err != nil || kind != "commit" {
		return "", ""
	}
	i := bytes.LastIndex(raw, []byte("\n"+notesOf))
	if i < 0 {
		return "", ""
	}
	of = strings.TrimSpace(string(raw[i+1+len(notesOf):]))
	if shown, err = notes.Root(ctx, r, tip); err != nil || !gitobj.IsID(of) {
		return "", ""
	}
	return of, shown
}

// bring brings shown notes from one tree of notes to another.
func (n *Notes) bring(ctx context.Context, w *collector, of, tree, shown string) (string, error) {
	set := map[string][]string{}
	err := notes.Changes(ctx, w, of, tree, func(c notes.Change) error {
		lines, err := notes.ReadIn(ctx, w, tree, c.Target)
		set[c.Target] = notes.Shown(lines)
		return err
	})
	if err != nil {
		return "", err
	}
	return notes.Set(ctx, w, w, shown, set)
}
