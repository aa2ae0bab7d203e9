package workspace

import (
	"context"
	"errors"
	"strings"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/lifecycle"
	"githandoff/internal/notes"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
)

// note remembers one line for the note of a code commit. Notes are hints,
// derived from the log: they are written after the transaction, by
// compare-and-swap, before the command returns.
func (d *Workspace) note(commit string, home lifecycle.Home, r *record.Record) {
	if commit == "" {
		return
	}
	if d.lines == nil {
		d.lines = map[string][]string{}
	}
	to := r.To
	if alias := d.AliasOf(home); notes.IsAlias(alias) {
		to = strings.TrimPrefix(to, record.Nobody) + "@" + alias
	}
	d.lines[commit] = append(d.lines[commit], notes.Line(r.At, string(r.Event), r.ID, r.From, to, r.Digest))
}

// writeNotes writes what note collected. Commits that this repository does not
// have get no note.
func (d *Workspace) writeNotes(ctx context.Context) error {
	for commit := range d.lines {
		o, err := d.Repo.Read(ctx, commit, maxCodeCommit)
		if err != nil || o == nil || o.Type != "commit" {
			delete(d.lines, commit)
		}
	}
	if len(d.lines) == 0 {
		return nil
	}
	err := d.updateNotes(ctx, "Notes added by githandoff", func(tree string, w *collector) (string, error) {
		return notes.AddTo(ctx, objectReader{d.Repo, w}, w, tree, d.lines)
	})
	if err == nil {
		d.lines = nil
	}
	return err
}

// tryNotes writes the notes that are due after a step that was taken. That they
// could not be written undoes nothing: sync restores what is missing.
func (d *Workspace) tryNotes(ctx context.Context) {
	if err := d.writeNotes(ctx); err != nil {
		d.Warn(err)
	}
}

const (
	maxCodeCommit = 1 << 20 // bytes of a code commit whose existence is asked
	noteRounds    = 60
)

// updateNotes moves the notes ref by compare-and-swap until it holds what build
// makes of its tree, and with it what git log shows of it.
func (d *Workspace) updateNotes(ctx context.Context, message string, build func(tree string, w *collector) (string, error)) error {
	for round := 0; ; round++ {
		w := &collector{}
		edits, err := d.notesEdits(ctx, message, build, w)
		if fault.Is(err, fault.MissingObject) && round < noteRounds/4 {
			// Another process moved the ref and is saving its objects from a gc.
			if err := refs.Pause(ctx, 1); err != nil {
				return err
			}
			continue
		}
		if err != nil || len(edits) == 0 {
			return err
		}
		err = d.Repo.Apply(ctx, refs.Transaction{Edits: edits, Objects: w.objects})
		var stale *refs.StaleError
		if !errors.As(err, &stale) {
			return err
		}
		if round == noteRounds {
			return fault.New(fault.Unavailable, fault.Busy, "the notes ref moved %d times in a row", noteRounds).
				WithHints(fault.Run("githandoff", "sync").Because("writes the note that is missing"))
		}
		if err := refs.Pause(ctx, min(round/4, 3)); err != nil {
			return err
		}
	}
}

// notesEdits works out how the notes refs move; none where they are right.
func (d *Workspace) notesEdits(ctx context.Context, message string, build func(tree string, w *collector) (string, error), w *collector) ([]refs.Edit, error) {
	tip, err := d.Repo.Resolve(ctx, refs.NotesRef)
	if err != nil {
		return nil, err
	}
	t, err := d.tidyNotes(ctx, tip, w)
	if err != nil {
		return nil, err
	}
	tree, err := build(t.tree, w)
	if err != nil {
		return nil, err
	}
	var edits []refs.Edit
	if tree != t.was || t.far {
		oid, err := d.notesCommit(w, tree, t.parent, message+"\n\n"+notesMark)
		if err != nil {
			return nil, err
		}
		edits = append(edits, refs.Edit{Ref: refs.NotesRef, Old: tip, New: oid})
	}
	shown, err := d.shownEdit(ctx, tree, w)
	return append(edits, shown...), err
}

// notesCommit makes a notes commit of a tree ("" is the empty one).
func (d *Workspace) notesCommit(w *collector, tree, parent, message string) (string, error) {
	if tree == "" {
		tree, _ = w.Put("tree", nil) // a collector takes everything
	}
	var parents []string
	if parent != "" {
		parents = []string{parent}
	}
	raw, err := notes.Commit(tree, parents, d.Engine.Actor+" <"+sign.Mail(d.Engine.Actor)+">", d.Engine.Now().UTC().Truncate(time.Second), message)
	if err != nil {
		return "", err
	}
	return w.Put("commit", raw)
}

// restoreNotes writes the lines that a killed command left out: of everything
// that this agent offered and that is still under way. What is there already is
// not written again.
func (d *Workspace) restoreNotes(ctx context.Context) error {
	var mine []string
	err := d.Repo.Commits(ctx, func(ref refs.Ref, raw []byte) error {
		if r, err := record.Scan(raw); err == nil && r.From == d.Agent {
			mine = append(mine, ref.OID)
		}
		return nil
	}, refs.Root+"inbox/", refs.Root+"outbox/", refs.Root+"sent/")
	if err != nil {
		return err
	}
	for _, oid := range mine {
		p, err := d.Engine.ReloadOffer(ctx, oid)
		if err != nil || p.Record.From != d.Agent {
			continue // a hint for somebody else, or none at all
		}
		home, err := d.Home(ctx, p.Record.Home)
		if err == nil {
			d.note(subject(p.Envelope, p.Sealed), home, &p.Record)
		}
	}
	if err := d.writeNotes(ctx); err != nil || !d.showsNotes() {
		return err
	}
	return d.ShowNotes(ctx)
}

// objectReader and collector lend this repository to package notes. What was
// collected can be read.
type objectReader struct {
	repo *refs.Repo
	made *collector
}

const maxNotesObject = 1 << 20 // bytes of a tree, a commit or a note

func (r objectReader) Object(ctx context.Context, name string) (kind, oid string, body []byte, err error) {
	if r.made != nil {
		if o := r.made.byOID[name]; o != nil {
			return o.Type, o.OID, o.Body, nil
		}
	}
	o, err := r.repo.Read(ctx, name, maxNotesObject)
	if err != nil || o == nil {
		return "", "", nil, err
	}
	return o.Type, o.OID, o.Body, nil
}

type collector struct {
	objects []*refs.Object
	byOID   map[string]*refs.Object
}

func (c *collector) Put(kind string, body []byte) (string, error) {
	o := refs.NewObject(kind, body)
	if c.byOID[o.OID] == nil {
		if c.byOID == nil {
			c.byOID = map[string]*refs.Object{}
		}
		c.byOID[o.OID] = o
		c.objects = append(c.objects, o)
	}
	return o.OID, nil
}
