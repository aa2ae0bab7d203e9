package guard

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/notes"
	"githandoff/internal/refs"
)

// Limits of one push's changes to the notes.
const (
	noteBatch  = 4096     // notes checked at a time
	maxNotesIn = 64 << 20 // size of all new notes in a push, in bytes
)

// isNotes reports whether a ref is that of the notes, or is in its way: on a file system that
// ignores case in file names, git ignores case in refs too.
func isNotes(name string) bool {
	name = strings.ToLower(name)
	return name == refs.NotesRef || strings.HasPrefix(name, refs.NotesRef+"/")
}

// noteJudge judges the notes of a push.
type noteJudge struct{ *Guard }

// check judges pushes of the notes. Everybody's "git log" may show them. So they may hold only
// well-formed lines about commits of this hub, and their commit may have no text of its own.
// Anybody with push access may delete the notes, because they can be made again from the log.
func (nj noteJudge) check(ctx context.Context, edits []refs.Edit, v *verdict) error {
	for _, e := range edits {
		var err error
		switch {
		case e.Ref != refs.NotesRef:
			err = denied(fault.InvalidPath, "it stands in the way of %s", nj.names.there(refs.NotesRef))
		case e.New != "":
			err = nj.checkOne(ctx, e)
		}
		if err := v.note(e.Ref, err); err != nil {
			return err
		}
	}
	return nil
}

func (nj noteJudge) checkOne(ctx context.Context, e refs.Edit) error {
	r := guardReader{nj.Verifier.Repo}
	tree, err := notes.Root(ctx, r, e.New)
	if err != nil {
		return refusedNotes(err)
	}
	o, err := nj.Verifier.Repo.Read(ctx, e.New, maxPointer)
	if err != nil {
		return err
	}
	alone := o != nil && bytes.Equal(o.Body, notes.Snapshot(tree, ""))
	if onTop := e.Old != "" && o != nil && bytes.Equal(o.Body, notes.Snapshot(tree, e.Old)); !alone && !onTop {
		return denied(fault.MalformedObject, "%s is not the commit that githandoff sync makes of its tree", e.New)
	}
	before, err := notes.Root(ctx, r, e.Old)
	if err != nil {
		before = "" // the old notes are malformed: check every note
	}
	err = nj.checkChanged(ctx, r, before, tree)
	if before != "" && fault.CodeOf(err) == fault.Invalid { // the old notes may be malformed
		err = nj.checkChanged(ctx, r, "", tree)
	}
	return refusedNotes(err)
}

// checkChanged checks the notes in which one tree differs from another.
func (nj noteJudge) checkChanged(ctx context.Context, r guardReader, before, tree string) error {
	size := 0
	return notes.Batches(ctx, r, before, tree, noteBatch, func(batch []notes.Change) error {
		return nj.checkBatch(ctx, slices.DeleteFunc(batch, func(c notes.Change) bool { return c.Blob == "" }), &size)
	})
}

func (nj noteJudge) checkBatch(ctx context.Context, batch []notes.Change, size *int) error {
	var oids, blobs []string
	for _, c := range batch {
		oids = append(oids, c.Target, c.Blob)
		blobs = append(blobs, c.Blob)
	}
	kinds, err := refs.Kinds(ctx, nj.Verifier.Repo, oids)
	if err != nil {
		return err
	}
	read := refs.NewBatchReader(nj.Verifier.Repo, "blob", blobs, notes.MaxNote)
	defer read.Close()
	for i, c := range batch {
		target, blob := kinds[2*i], kinds[2*i+1]
		switch {
		case target.Type != "commit":
			return denied(fault.MalformedObject, "no commit %s is here", c.Target)
		case blob.Type != "blob":
			return denied(fault.MalformedObject, "the note of %s is not a file", c.Target)
		case blob.Size > notes.MaxNote:
			return denied(fault.TooLarge, "the note of %s has %d bytes, limit %d", c.Target, blob.Size, notes.MaxNote)
		}
		o, err := read.Next(ctx, c.Blob)
		if err != nil {
			return err
		}
		if o == nil || !notes.InForm(o.Body) {
			return denied(fault.MalformedObject, "the note of %s is malformed", c.Target)
		}
		if *size += len(o.Body); *size > maxNotesIn {
			return denied(fault.TooLarge, "more than %d bytes of notes in one push", maxNotesIn)
		}
	}
	return nil
}

// refusedNotes turns the error of unreadable notes into a refusal.
func refusedNotes(err error) error {
	if f := fault.As(err); f != nil && f.Code != fault.Denied {
		return denied(f.Reason, "%w", err)
	}
	return err
}

// guardReader lends a repository to package notes.
type guardReader struct{ repo *refs.Repo }

func (r guardReader) Object(ctx context.Context, oid string) (kind string, body []byte, err error) {
	o, err := r.repo.Read(ctx, oid, maxPointer)
	if err != nil || o == nil {
		return "", nil, err
	}
	return o.Type, o.Body, nil
}
