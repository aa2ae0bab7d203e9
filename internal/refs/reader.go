package refs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/gitobj"
)

// Object is a git object, read or to be written.
type Object struct {
	OID  string
	Type string // "blob", "tree", "commit" or "tag"
	Body []byte
}

// Ref is a ref and the id of its object.
type Ref struct {
	Name string
	OID  string
}

// reader keeps one "git cat-file --batch" per repository: it resolves refs by
// name and reads objects, packed, loose, borrowed from alternates or
// quarantined, and notices what other processes repack meanwhile. It is
// started for the first question that [Repo.find] cannot answer from files.
type reader struct{ process }

// Read returns the object behind name: a full object id, a full ref name, or a revision made of
// one of them. It is (nil, nil) for a ref that does not exist, and for the id of an object that is
// not here. Where a ref exists and its object is not here, Read refuses with reason missing_object:
// such a ref is not absent. An object of more than limit bytes is refused with reason too_large
// before its body is read; with that refusal comes an object with only its id and type.
func (r *Repo) Read(ctx context.Context, name string, limit int64) (*Object, error) {
	name = r.nameHere(name)
	if name == "" || gitobj.IsID(name) && len(name) != r.Format.Digits() { // git would complete a short id
		return nil, nil
	}
	if o, ok := r.held.Load(name); ok && int64(len(o.(*Object).Body)) <= limit {
		return o.(*Object), nil
	}
	return look(ctx, r, name, limit)
}

// Resolve returns what a ref leads to, whether or not that object is here; "" where the ref does
// not exist.
func (r *Repo) Resolve(ctx context.Context, name string) (string, error) {
	if name = r.nameHere(name); name == "" {
		return "", nil
	}
	return resolve(ctx, r, name)
}

// nameHere returns the name under which this repository keeps a ref, or the object that an
// [Repo.Overlay] gives it; "" where the overlay deletes it.
func (r *Repo) nameHere(name string) string {
	if oid, ok := r.overlay[name]; ok {
		return oid
	}
	if r.NameOf != nil {
		return r.NameOf(name)
	}
	return name
}

// Hold keeps objects in memory for reads by their ids. No ref leads to them yet, so a gc may
// take them from the disk at any time until their refs move.
func (r *Repo) Hold(objects ...*Object) {
	for _, o := range objects {
		r.held.Store(o.OID, o)
	}
}

// Overlay lets reads of refs answer as if edits were made, while nothing has moved yet: for a
// hook that may still refuse them. Their objects must be readable already. It is for a
// repository opened for one such question, and is called before several goroutines read from
// it.
func (r *Repo) Overlay(edits []Edit) {
	r.overlay = make(map[string]string, len(edits))
	for _, e := range edits {
		r.overlay[e.Ref] = e.New
	}
}

// ReadHead returns the first bytes, at most most, of an object refused by Read as too large. A
// missing one is (nil, nil).
func (r *Repo) ReadHead(ctx context.Context, oid string, most int64) (*Object, error) {
	rd := &r.reader
	rd.mu.Lock()
	defer rd.mu.Unlock()
	defer rd.stop((*gitexec.Process).Kill) // git would send the rest of the object next
	a, err := rd.ask(oid)
	if err != nil || a.Type == "" {
		return nil, err
	}
	_ = rd.proc.In.Close() // git ends, even if it sends less than it announced
	body := make([]byte, min(a.Size, most))
	switch _, err := io.ReadFull(rd.out, body); {
	case err == nil:
		return &Object{OID: a.OID, Type: a.Type, Body: body}, nil
	case rd.proc.Err() != nil:
		return nil, fmt.Errorf("read %s: %w", oid, rd.proc.Err())
	default:
		return nil, errUnseen(oid, err)
	}
}

// read reads an object. A process that failed, or has the rest of an object still to send,
// answers no other question.
func (rd *reader) read(name string, limit int64) (o *Object, err error) {
	rd.mu.Lock()
	defer rd.mu.Unlock()
	defer func() {
		if err == nil {
			return
		}
		if rd.proc != nil && rd.proc.Err() != nil { // git was ended from here, and did not fail
			err = fmt.Errorf("read %s: %w", name, rd.proc.Err())
		}
		rd.stop((*gitexec.Process).Kill)
	}()
	a, err := rd.ask(name)
	if err != nil || a.Type == "" {
		return nil, err
	}
	if err := a.check(a.Type, limit); err != nil {
		return &Object{OID: a.OID, Type: a.Type}, err
	}
	questions := rd.proc.In
	late := time.AfterFunc(arrives, func() { _ = questions.Close() }) // git sends what it has, and ends
	body, err := a.body(rd.out, nil)
	ends := !late.Stop()
	switch {
	case errors.Is(err, errSize), ends && errors.Is(err, errEnded):
		return &Object{OID: a.OID, Type: a.Type}, errSize
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", name, err)
	case ends:
		rd.stop((*gitexec.Process).Leave)
	}
	return &Object{OID: a.OID, Type: a.Type, Body: body}, nil
}

// arrives is how long an object may take to come before git is told to end after it: if the size it
// announced is too large, it waits for the next question.
const arrives = time.Second

// ask asks git for an object. A process is asked for a ref only if it has read the present
// packed-refs.
func (rd *reader) ask(name string) (Kind, error) {
	if strings.ContainsAny(name, "\n ") {
		return Kind{}, fmt.Errorf("read object %q: not a name", name)
	}
	if strings.HasPrefix(name, "refs/") {
		rd.refresh()
		if err := rd.pin(); err != nil {
			return Kind{}, err
		}
	}
	if err := rd.start(); err != nil {
		return Kind{}, err
	}
	if _, err := io.WriteString(rd.proc.In, name+"\n"); err != nil {
		return Kind{}, fmt.Errorf("read %s: %w: %w", name, errEnded, err)
	}
	a, err := readAnswer(rd.out)
	if err != nil {
		return Kind{}, fmt.Errorf("read %s: %w", name, err)
	}
	return a, nil
}

// List returns the refs matching patterns, as "git for-each-ref" takes them: a prefix with a
// trailing "/", a full name, or a glob. No patterns match no ref. They come in the order of their names.
func (r *Repo) List(ctx context.Context, patterns ...string) ([]Ref, error) {
	if list, ok := listInFiles(r, patterns); ok {
		return list, ctx.Err()
	}
	listing, err := r.listing(ctx, "%(objectname) %(refname)", patterns)
	return listing.Refs(), err
}

// Listing is the output of git for a list of refs: lines "<id> <name>" or "<id> <type> <name>",
// sorted by name.
type Listing string

// Listing is like List for callers comparing whole lists. Whole reports whether the objects of all
// these refs are here. It costs git one look into an index for each ref.
func (r *Repo) Listing(ctx context.Context, patterns ...string) (l Listing, whole bool, err error) {
	if l, err = r.listing(ctx, "%(objectname) %(objecttype) %(refname)", patterns); err == nil {
		return l, true, nil
	}
	l, err = r.listing(ctx, "%(objectname) %(refname)", patterns)
	return l, false, err
}

func (r *Repo) listing(ctx context.Context, format string, patterns []string) (Listing, error) {
	if len(patterns) == 0 { // without patterns, git would list all refs
		return "", nil
	}
	pin, err := pinPacked(r.CommonDir)
	if err != nil {
		return "", err
	}
	defer pin.release()
	list, err := r.forEach(ctx, format, patterns...)
	if err != nil || len(patterns) < 2 || pin.holds() {
		return list, err
	}
	// git reads packed-refs for the first pattern, and may overlook that it was replaced before the
	// next one, see [packedPin]. So it is asked for each pattern alone.
	var all []string
	for _, p := range patterns {
		if list, err = r.forEach(ctx, format, p); err != nil {
			return "", err
		}
		all = slices.AppendSeq(all, strings.Lines(string(list)))
	}
	slices.SortFunc(all, func(a, b string) int { return strings.Compare(nameIn(a), nameIn(b)) })
	return Listing(strings.Join(slices.Compact(all), "")), nil
}

func nameIn(line string) string { return line[strings.LastIndexByte(line, ' ')+1:] }

// forEach asks "git for-each-ref". git warns of a ref whose file is damaged, and leaves it out. If
// that ref is one of githandoff, forEach fails.
func (r *Repo) forEach(ctx context.Context, format string, patterns ...string) (Listing, error) {
	var damaged string
	out, err := r.Runner.Run(ctx, gitexec.Cmd{
		Args:      append([]string{"for-each-ref", "--format=" + format, "--"}, patterns...),
		MaxOutput: 1 << 30,
		Warned: func(stderr string) {
			for line := range strings.Lines(stderr) {
				_, name, _ := strings.Cut(strings.TrimSpace(line), "ignoring broken ref ")
				if isOwn(name) && matchAny(patterns, name) {
					damaged = name
				}
			}
		},
	})
	switch {
	case err != nil:
		return "", fmt.Errorf("list refs: %w", err)
	case damaged != "":
		return "", Missing(damaged)
	}
	return Listing(out), nil
}

// Refs returns the refs of a list; nil if it is empty.
func (l Listing) Refs() []Ref {
	if l == "" {
		return nil
	}
	list := make([]Ref, 0, strings.Count(string(l), "\n"))
	for line := range strings.Lines(string(l)) {
		oid, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if ok {
			list = append(list, Ref{Name: nameIn(name), OID: oid})
		}
	}
	return list
}

// RevParse resolves a revision as people write it to a full object id.
func (r *Repo) RevParse(ctx context.Context, rev string) (string, error) {
	out, err := r.Runner.Run(ctx, gitexec.Cmd{Args: []string{"rev-parse", "--verify", "--quiet", "--end-of-options", rev}})
	return strings.TrimSpace(string(out)), err
}

// errEnded says that git cat-file ended in the middle of a question: it dies if an object is
// removed after it has found it and before it has read it.
var errEnded = errors.New("git cat-file ended")

// errSize says that git cat-file announced another size than that of the object it sent: it takes the
// size from a damaged pack, and the object from another file.
var errSize = errors.New("git cat-file announced a wrong size")

// readAlone reads an object of which git announces a wrong size, or one that is too large, which may be wrong as well:
// doctor --fix writes an object again into a file of its own.
func readAlone(ctx context.Context, r *Repo, o *Object, limit int64, refusal error) (*Object, error) {
	if own, err := ReadLoose(r.Objects, o.OID, limit); err == nil {
		return own, nil
	}
	if !errors.Is(refusal, errSize) {
		return o, refusal
	}
	body, err := r.Runner.Run(ctx, gitexec.Cmd{Args: []string{"cat-file", o.Type, o.OID}, MaxOutput: limit, Binary: true})
	if gitexec.ExitCode(err) > 0 { // the object went meanwhile
		return nil, errUnseen(o.OID, err)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", o.OID, err)
	}
	if gitobj.FormatOf(o.OID).Hash(o.Type, body) != o.OID {
		return nil, Missing(o.OID)
	}
	return &Object{OID: o.OID, Type: o.Type, Body: body}, nil
}

// Kind is the type and size of an object, in the first line of git cat-file's answer. A
// missing object has no type.
type Kind struct {
	OID  string
	Type string // "blob", "tree", "commit" or "tag"
	Size int64  // size in bytes
}

// readAnswer reads the first line of an answer of git cat-file.
func readAnswer(in *bufio.Reader) (Kind, error) {
	head, err := in.ReadString('\n')
	if err != nil {
		return Kind{}, fmt.Errorf("%w: %w", errEnded, err)
	}
	field := strings.Fields(head)
	if len(field) == 2 && (field[1] == "missing" || field[1] == "submodule") { // "submodule" since git 2.51
		return Kind{}, nil
	}
	if len(field) != 3 {
		return Kind{}, fmt.Errorf("git cat-file says %q", strings.TrimSpace(head))
	}
	size, err := strconv.ParseInt(field[2], 10, 64)
	if err != nil || size < 0 {
		return Kind{}, fmt.Errorf("git cat-file says %q", strings.TrimSpace(head))
	}
	return Kind{field[0], field[1], size}, nil
}

// body reads the object after the first line. It uses buf if large enough.
func (a Kind) body(in *bufio.Reader, buf []byte) ([]byte, error) {
	n := int(a.Size) + 1 // with the line feed after the object
	if cap(buf) < n {
		buf = make([]byte, n)
	}
	if _, err := io.ReadFull(in, buf[:n]); err != nil {
		return nil, fmt.Errorf("%w: %w", errEnded, err)
	}
	if gitobj.FormatOf(a.OID).Hash(a.Type, buf[:n-1]) != a.OID {
		return nil, errSize
	}
	return buf[:n-1], nil
}

// check refuses an object of another type, or of more than limit bytes.
func (a Kind) check(kind string, limit int64) error {
	switch {
	case a.Size > limit:
		return fault.New(fault.Denied, fault.TooLarge, "%s %s has %d bytes, limit %d", a.Type, a.OID, a.Size, limit)
	case a.Type != "" && a.Type != kind:
		return fault.New(fault.Denied, fault.MalformedObject, "%s is a %s, not a %s", a.OID, a.Type, kind)
	}
	return nil
}
