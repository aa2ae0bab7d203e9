package notes

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/gitobj"
)

// Reader reads one object by its full hex id. A missing one is kind "" and no
// error.
type Reader interface {
	Object(ctx context.Context, oid string) (kind string, body []byte, err error)
}

// Writer takes an object and returns its hex id. No object is read back in the same call, so a
// Writer may collect them.
type Writer interface {
	Put(kind string, body []byte) (oid string, err error)
}

// Root returns the tree of a notes commit, "" if there is none.
func Root(ctx context.Context, r Reader, tip string) (string, error) {
	return newWalk(r, nil, tip).root(ctx, tip)
}

// ReadIn returns the well-formed lines of target's note in a tree ("" for no notes at all),
// sorted, each once. Without a note there are none.
func ReadIn(ctx context.Context, r Reader, tree, target string) ([]string, error) {
	t := newWalk(r, nil, cmp.Or(tree, target))
	if err := checkOID(t.format, target); err != nil {
		return nil, err
	}
	return t.lines(ctx, tree, target)
}

// Each calls visit with the lines of each target's note, as ReadIn returns them, at a tip of the notes ref ("" for
// none). It reads each tree once.
func Each(ctx context.Context, r Reader, tip string, targets []string, visit func(target string, lines []string)) error {
	if len(targets) == 0 {
		return nil
	}
	t := newWalk(r, nil, targets[0])
	root, err := t.root(ctx, tip)
	for _, target := range targets {
		if err != nil {
			return err
		}
		var lines []string
		if lines, err = t.lines(ctx, root, target); err == nil {
			visit(target, lines)
		}
	}
	return err
}

// AddTo adds lines to the notes of commits in a tree ("" for none) and returns the resulting
// tree. It reads and writes only the directories on the way to those commits. If every line
// exists already, it writes nothing and returns root. A written note is well-formed; other lines
// in it are dropped.
func AddTo(ctx context.Context, r Reader, w Writer, root string, lines map[string][]string) (tree string, err error) {
	t := newWalk(r, w, anID(root, lines))
	want := make(map[string][]string)
	for _, target := range slices.Sorted(maps.Keys(lines)) {
		if err := checkOID(t.format, target); err != nil {
			return "", err
		}
		for _, l := range lines[target] {
			if _, err := ParseLine(l); err != nil {
				return "", err
			}
		}
		have, err := t.lines(ctx, root, target)
		if err != nil {
			return "", err
		}
		all := Union(lines[target], have)
		if !slices.Equal(all, have) {
			want[target] = all
		}
	}
	return t.set(ctx, root, want)
}

// Set replaces the notes of commits in a tree ("" for none) with these lines, unchecked; a note
// without lines is removed. It returns the resulting tree, "" if no notes are left.
func Set(ctx context.Context, r Reader, w Writer, root string, notes map[string][]string) (tree string, err error) {
	return newWalk(r, w, anID(root, notes)).set(ctx, root, notes)
}

// anID returns the id of some object of the repository: a tree, or else a commit with notes.
func anID(root string, notes map[string][]string) string {
	for target := range notes {
		root = cmp.Or(root, target)
	}
	return root
}

func (t *walk) set(ctx context.Context, root string, notes map[string][]string) (string, error) {
	if len(notes) == 0 {
		return root, nil
	}
	var extra []*note
	for _, target := range slices.Sorted(maps.Keys(notes)) {
		if err := checkOID(t.format, target); err != nil {
			return "", err
		}
		extra = append(extra, &note{name: target, lines: notes[target], set: true})
	}
	return t.place(ctx, 0, []string{root}, extra)
}

// Snapshot renders the shared notes commit, without a history, a real author or a time: so one
// tree has one commit, without anybody's words. parent is "" except for a hub which takes no
// other update of a ref.
func Snapshot(tree, parent string) []byte {
	return gitobj.OwnCommit(tree, parent, "Notes of handoffs")
}

// Commit renders an unsigned commit of files that others can see, such as notes: the same arguments
// always give the same bytes. who is author and committer, "Name <mail>"; the time is written in UTC,
// whole seconds. The message has no line end.
func Commit(tree string, parents []string, who string, when time.Time, message string) ([]byte, error) {
	if !isIdentity(who) {
		return nil, fault.New(fault.Invalid, fault.Malformed, "notes commit: %q is not an identity, Name <mail>", who)
	}
	return gitobj.EncodeCommit(tree, parents, who, when, message+"\n"), nil
}

// isIdentity accepts "Name <mail>", without a character which would end either.
func isIdentity(s string) bool {
	name, mail, ok := strings.Cut(strings.TrimSuffix(s, ">"), " <")
	bad := func(s string, from rune) bool {
		return strings.ContainsFunc(s, func(r rune) bool { return r < from || r == 0x7f || r == '<' || r == '>' })
	}
	return ok && strings.HasSuffix(s, ">") && name != "" && name[0] != ' ' && !bad(name, ' ') && !bad(mail, '!')
}

func checkOID(format gitobj.Format, s string) error {
	if !gitobj.IsID(s) || len(s) != format.Digits() {
		return fault.New(fault.Invalid, fault.Malformed, "%.80q is not a full object id", s)
	}
	return nil
}
