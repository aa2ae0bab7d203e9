package notes

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
)

// Reader reads one object by its full hex id. A missing one is kind "" and no
// error.
type Reader interface {
	Object(ctx context.Context, name string) (kind, oid string, body []byte, err error)
}

// Writer takes an object and returns its hex id. Nothing here reads an object
// back that it put in the same call, so a Writer may collect them.
type Writer interface {
	Put(kind string, body []byte) (oid string, err error)
}

// Read returns the lines of target's note in the notes commit tip ("" for no
// notes at all): sorted, each once, none empty, whoever wrote them. No note is
// no lines.
func Read(ctx context.Context, r Reader, tip, target string) ([]string, error) {
	if err := checkOID(target); err != nil {
		return nil, err
	}
	t := newWalk(r, nil)
	root, err := t.root(ctx, tip)
	if err != nil {
		return nil, err
	}
	return t.lines(ctx, root, target)
}

// Add is [AddAll] for one commit.
func Add(ctx context.Context, r Reader, w Writer, tip, target string, lines []string) (tree string, changed bool, err error) {
	return AddAll(ctx, r, w, tip, map[string][]string{target: lines})
}

// AddAll adds lines to the notes of commits in the notes commit tip ("" for no
// notes yet) and returns the tree that results. It reads and writes only the
// directories that lead to those commits. When every line is there already it
// writes nothing and returns tip's own tree ("" if there is none).
func AddAll(ctx context.Context, r Reader, w Writer, tip string, lines map[string][]string) (tree string, changed bool, err error) {
	t := newWalk(r, w)
	root, err := t.root(ctx, tip)
	if err != nil {
		return "", false, err
	}
	var missing []*note
	for _, target := range slices.Sorted(maps.Keys(lines)) {
		news, err := t.missing(ctx, root, target, lines[target])
		if err != nil {
			return "", false, err
		}
		if len(news) > 0 {
			missing = append(missing, &note{name: target, lines: news})
		}
	}
	if len(missing) == 0 {
		return root, false, nil
	}
	tree, err = t.place(ctx, 0, []string{root}, missing)
	return tree, err == nil, err
}

// missing returns those of lines that target's note does not hold yet.
func (t *walk) missing(ctx context.Context, root, target string, lines []string) ([]string, error) {
	if err := checkOID(target); err != nil {
		return nil, err
	}
	for _, l := range lines {
		if _, err := ParseLine(l); err != nil {
			return nil, err
		}
	}
	have, err := t.lines(ctx, root, target)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(lines), func(l string) bool {
		_, found := slices.BinarySearch(have, l)
		return found
	}), nil
}

// Merge returns the tree of the union of two notes commits (either may be ""):
// for each target the lines of both, sorted, each once. Directories that are
// equal on both sides, or on one side only, are taken as they are, unread.
//
// A note that one side removed comes back. Of two different entries that are
// no notes ours stays.
func Merge(ctx context.Context, r Reader, w Writer, ours, theirs string) (tree string, err error) {
	t := newWalk(r, w)
	a, err := t.root(ctx, ours)
	if err != nil {
		return "", err
	}
	b, err := t.root(ctx, theirs)
	if err != nil {
		return "", err
	}
	return t.place(ctx, 0, []string{a, b}, nil)
}

// Commit renders an unsigned notes commit: the same arguments always give the
// same bytes. who is author and committer, "Name <mail>"; the time is written
// in UTC, whole seconds. A merge has two parents, ours first; the first commit
// has none.
func Commit(tree string, parents []string, who string, when time.Time, message string) ([]byte, error) {
	if !isIdentity(who) {
		return nil, fault.New(fault.Invalid, "malformed", "notes commit: %q is not an identity, Name <mail>", who)
	}
	if strings.Contains(message, "\x00") {
		return nil, fault.New(fault.Invalid, "malformed", "notes commit: the message holds a NUL")
	}
	for _, oid := range append([]string{tree}, parents...) {
		if err := checkOID(oid); err != nil {
			return nil, err
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "tree %s\n", tree)
	for _, p := range parents {
		fmt.Fprintf(&b, "parent %s\n", p)
	}
	fmt.Fprintf(&b, "author %s %d +0000\ncommitter %s %d +0000\n", who, when.Unix(), who, when.Unix())
	fmt.Fprintf(&b, "\n%s\n", strings.TrimRight(message, "\n"))
	return []byte(b.String()), nil
}

// isIdentity takes "Name <mail>", with nothing in it that would end either.
func isIdentity(s string) bool {
	name, mail, ok := strings.Cut(strings.TrimSuffix(s, ">"), " <")
	bad := func(s string, from rune) bool {
		return strings.ContainsFunc(s, func(r rune) bool { return r < from || r == 0x7f || r == '<' || r == '>' })
	}
	return ok && strings.HasSuffix(s, ">") && name != "" && name[0] != ' ' && !bad(name, ' ') && !bad(mail, '!')
}

func checkOID(s string) error {
	if !handoff.IsHex(s, 40) {
		return fault.New(fault.Invalid, "malformed", "%.80q is not a full object id", s)
	}
	return nil
}
