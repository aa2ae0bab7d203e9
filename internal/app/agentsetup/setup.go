package agentsetup

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/rogpeppe/go-internal/diff"

	"githandoff/internal/durable"
	"githandoff/internal/fault"
)

// Request says what is to be set up, and where.
type Request struct {
	Clients []string // names from Clients()
	Without []string // parts from Parts() to leave out
	With    []string // extras to set up: MCP, Wake, Approve
	Project bool     // set up for everybody who works in Root, otherwise for this user
	Root    string   // top of the work tree; set with Project

	Home       string // absolute directories of this user
	ConfigHome string
	StateHome  string
	Binary     string // absolute path of this program
	Getenv     func(string) string
}

// Change describes the change, or the planned change, of one file.
type Change struct {
	Client string
	Path   string
	State  State
	Diff   string // unified diff; empty if nothing changes
	Why    string // why the file is left alone; empty for other states

	before, after []byte
	inserted      []string
	existed       bool
	own           bool
	with          []string
}

// State says what became of a file.
type State string

// The states of a file.
const (
	Write  State = "write"  // the file is written, or would be
	Same   State = "same"   // the file is as it should be
	Edited State = "edited" // somebody changed what setup wrote: the file is left alone
	Delete State = "delete" // the file is removed, or would be

	Foreign State = "foreign" // setup wrote the file in another work tree: it is left alone
)

// maxFile bounds a client's file, in bytes.
const maxFile = 4 << 20

// Plan lists the effects of Apply. It refuses a shared file which is no JSON or TOML with "malformed",
// and an unreadable one with "unreadable".
func (r *Request) Plan() ([]*Change, error) {
	rec, err := r.record()
	if err != nil {
		return nil, err
	}
	want, err := r.files()
	if err != nil {
		return nil, err
	}
	var changes []*Change
	for _, w := range want {
		c, err := plan(w, rec.find(w.path))
		if err != nil {
			return nil, err
		}
		c.with = r.with(w.client)
		changes = append(changes, c)
	}
	return changes, nil
}

// plan says what becomes of one file. known is the record of an earlier run; nil if there is none.
func plan(w wanted, known *written) (*Change, error) {
	path, err := followed(w.path)
	if err != nil {
		return nil, err
	}
	if err := w.stays(path); err != nil {
		return nil, err
	}
	before, existed, err := read(path)
	if err != nil {
		return nil, err
	}
	c := &Change{Client: w.client, Path: path, before: before, existed: existed, own: w.own != nil}
	if w.own == nil {
		if err := c.add(w, known); err != nil {
			return nil, err
		}
	} else {
		c.after = w.own
		if existed && !bytes.Equal(before, w.own) && (known == nil || known.Digest != digest(before)) {
			c.State, c.Why = Edited, "it was changed by hand, or is not from githandoff"
		}
	}
	if c.State == "" {
		c.settle()
	}
	return c, nil
}

// settle sets the state by whether anything changes.
func (c *Change) settle() {
	if c.existed && bytes.Equal(c.before, c.after) {
		c.State = Same
		return
	}
	old := c.Path
	if !c.existed {
		old = "/dev/null"
	}
	c.State, c.Diff = Write, unified(old, c.before, c.Path, c.after)
}

func unified(old string, before []byte, path string, after []byte) string {
	// The first line, "diff old new", is no part of the unified format.
	_, d, _ := strings.Cut(string(diff.Diff(old, before, path, after)), "\n")
	return d
}

// add puts our entries into a shared file. It first takes out those of an earlier run: the program
// may have another path now, or other hooks.
func (c *Change) add(w wanted, known *written) error {
	text, whole := c.before, true
	if known != nil && c.existed {
		text, whole = known.cutOut(c.before)
	}
	if !whole {
		text = c.before
	}
	same := bytes.Contains(c.before, []byte(w.block)) // for a block; entries are compared below
	var err error
	switch {
	case w.toml:
		err = c.addTable(text, w.block)
	case w.block != "":
		c.addBlock(text, w.block)
	default:
		err = c.addEntries(text, w)
		same = sameEntries(c.before, c.after)
	}
	switch {
	case whole && same:
		c.after = c.before // the entries differ at most in their place
	case !whole && c.State == "" && bytes.Equal(c.before, c.after):
		c.State, c.Why = Edited, "its entries of githandoff were changed by hand"
	case !whole:
		c.inserted = append(known.rest(c.before, w.entries), c.inserted...)
	}
	return err
}

func (c *Change) addEntries(text []byte, w wanted) error {
	if len(bytes.TrimSpace(text)) == 0 {
		if c.existed {
			c.inserted = append(c.inserted, string(w.fresh))
		}
		text = append(slices.Clone(text), w.fresh...)
	}
	start := text
	for _, e := range w.entries {
		there, err := e.in(start)
		if err != nil {
			return c.malformed(err)
		}
		if there {
			continue
		}
		out, inserted, err := put(text, e.list, e.value, !e.member)
		if err != nil {
			return c.malformed(err)
		}
		text, c.inserted = out, append(c.inserted, inserted)
	}
	c.after = text
	return nil
}

func (c *Change) addBlock(text []byte, block string) {
	if bytes.Contains(text, []byte(firstLine(block))) {
		c.after = c.before
		if !bytes.Contains(text, []byte(block)) {
			c.State, c.Why = Edited, "its paragraph of githandoff was changed by hand"
		}
		return
	}
	if len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
		block = "\n" + block
	}
	if len(text) > 0 {
		block = "\n" + block
	}
	c.after, c.inserted = append(slices.Clone(text), block...), []string{block}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

func (c *Change) malformed(err error) error {
	return fault.New(fault.Invalid, fault.Malformed, "%s is not changed: %w", c.Path, err)
}

// Apply carries out what Plan said, one file after the other, and records each before
// the next. Files that are the same or edited stay as they are.
func (r *Request) Apply(changes []*Change) error {
	changes = slices.DeleteFunc(slices.Clone(changes), func(c *Change) bool { return c.State != Write })
	if len(changes) == 0 {
		return nil
	}
	rec, unlock, err := lockedRecord(r)
	if err != nil {
		return err
	}
	defer unlock()
	for _, c := range changes {
		mode := newMode()
		if info, err := os.Stat(c.Path); err == nil {
			mode = info.Mode().Perm()
		}
		made, err := makeDirs(filepath.Dir(c.Path))
		if err == nil {
			err = durable.WriteFile(c.Path, c.after, mode)
		}
		if err != nil {
			removeEmpty(made)
			return cannotWrite(err)
		}
		rec.note(c, made, r.project())
		if err := r.save(rec); err != nil {
			return errors.Join(err, c.undo(made, mode)) // without a record nothing would ever remove it
		}
	}
	return nil
}

// undo takes back a written file, and removes the directories made for it.
func (c *Change) undo(made []string, mode fs.FileMode) error {
	if c.existed {
		return durable.WriteFile(c.Path, c.before, mode)
	}
	err := durable.Remove(c.Path)
	removeEmpty(made)
	return err
}

// removeEmpty removes directories, the innermost first. One with files in it stays, and so does a link
// that somebody put in the place of one.
func removeEmpty(dirs []string) {
	for _, dir := range dirs {
		_ = syscall.Rmdir(dir)
	}
}

// newMode returns the mode of a new file, which is never writable by a group.
func newMode() fs.FileMode {
	mask := syscall.Umask(0o077) // umask(2) returns the mask only when it sets another
	syscall.Umask(mask)
	return 0o644 &^ fs.FileMode(mask)
}

func cannotWrite(err error) error { return fault.New(fault.Unavailable, fault.Unwritable, "%w", err) }

// makeDirs makes a directory and its missing parents, and lists the new directories,
// the innermost first.
func makeDirs(dir string) ([]string, error) {
	var missing []string
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Stat(d); err == nil || d == filepath.Dir(d) {
			break
		}
		missing = append(missing, d)
	}
	return missing, os.MkdirAll(dir, 0o755)
}

// followed returns where a link leads: a client's file may be one into somebody's dotfiles,
// and stays one.
func followed(path string) (string, error) {
	for range 16 {
		to, err := os.Readlink(path)
		if err != nil {
			return path, nil //nolint:nilerr // the path is no link, or is missing
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	return "", fault.New(fault.Unavailable, fault.Unreadable, "%s is a dangling symbolic link", path)
}

// stays refuses a file of a project whose path leads out of the work tree, or into its git
// directory: the author of the repository could choose any place by a symbolic link.
func (w *wanted) stays(path string) error {
	if w.root == "" {
		return nil
	}
	root, err := filepath.EvalSymlinks(w.root)
	if err != nil {
		return err
	}
	dir, rest := filepath.Dir(path), []string{filepath.Base(path)}
	for {
		at, err := filepath.EvalSymlinks(dir)
		if err == nil {
			dir = at
			break
		}
		if !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			return err
		}
		dir, rest = filepath.Dir(dir), append([]string{filepath.Base(dir)}, rest...)
	}
	place := filepath.Join(append([]string{dir}, rest...)...)
	rel, err := filepath.Rel(root, place)
	parts := strings.Split(rel, string(filepath.Separator))
	git := func(part string) bool { return strings.EqualFold(part, ".git") }
	if err != nil || parts[0] == ".." || slices.ContainsFunc(parts, git) {
		return fault.New(fault.Denied, fault.UnsafeFile, "%s leads out of the files of this work tree, to %s", w.path, place).
			WithHints(fault.Fact("a link in the repository leads there: remove it, or set up this user without --project"))
	}
	return nil
}

func read(path string) (content []byte, existed bool, err error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, false, nil
	case err != nil:
		return nil, false, fault.New(fault.Unavailable, fault.Unreadable, "%w", err)
	case !info.Mode().IsRegular():
		return nil, false, fault.New(fault.Unavailable, fault.Unreadable, "%s is not a regular file", path)
	case info.Size() > maxFile:
		return nil, false, fault.New(fault.Invalid, fault.TooLarge, "%s has more than %d bytes", path, maxFile)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, false, fault.New(fault.Unavailable, fault.Unreadable, "%w", err)
	}
	return b, true, nil
}

// Left lists the files of changes that are left alone, for the refusal that names
// them; nil if there are none.
func Left(changes []*Change) error {
	var left []string
	for _, c := range changes {
		if c.State == Edited || c.State == Foreign {
			left = append(left, fmt.Sprintf("%s: %s", c.Path, c.Why))
		}
	}
	if left == nil {
		return nil
	}
	return fault.New(fault.Conflict, fault.Edited, "left as it is: %s", strings.Join(left, "; "))
}
