package crossrepo

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/lifecycle"
	"githandoff/internal/notes"
	"githandoff/internal/record"
	"githandoff/internal/refs"
)

// note remembers one line for the note of a code commit. Notes are hints,
// derived from the log: they are written after the transaction, by
// compare-and-swap, before the command returns.
func (d *Desk) note(commit string, home lifecycle.Home, r *record.Record) {
	if commit == "" {
		return
	}
	if d.lines == nil {
		d.lines = map[string][]string{}
	}
	to := r.To
	if alias := d.AliasOf(home); alias != "" {
		to = strings.TrimPrefix(to, record.Nobody) + "@" + alias
	}
	d.lines[commit] = append(d.lines[commit], notes.Line(r.At, string(r.Event), r.ID, r.From, to, r.Digest))
}

// writeNotes writes what note collected. Commits that this repository does not
// have get no note.
func (d *Desk) writeNotes(ctx context.Context) error {
	for commit := range d.lines {
		o, err := d.Repo.Read(ctx, commit, maxCodeCommit)
		if err != nil || o == nil || o.Type != "commit" {
			delete(d.lines, commit)
		}
	}
	if len(d.lines) == 0 {
		return nil
	}
	err := d.updateNotes(ctx, "Notes added by githandoff", func(tip string, w *collector) (string, bool, error) {
		return notes.AddAll(ctx, objectReader{d.Repo}, w, tip, d.lines)
	})
	if err == nil {
		d.lines = nil
	}
	return err
}

// tryNotes writes the notes that are due after a step that was taken. That they
// could not be written undoes nothing: sync restores what is missing.
func (d *Desk) tryNotes(ctx context.Context) {
	if err := d.writeNotes(ctx); err != nil {
		d.Warn(err)
	}
}

const (
	maxCodeCommit = 1 << 20 // bytes of a code commit whose existence is asked
	noteRounds    = 60
)

// updateNotes moves the notes ref by compare-and-swap until it holds.
func (d *Desk) updateNotes(ctx context.Context, message string, build func(tip string, w *collector) (tree string, changed bool, err error), more ...string) error {
	for round := 0; ; round++ {
		tip, err := d.Repo.Resolve(ctx, refs.NotesRef)
		if err != nil {
			return err
		}
		w := &collector{}
		tree, changed, err := build(tip, w)
		if fault.Is(err, "missing_object") && round < noteRounds/4 {
			// Another process moved the ref and is saving its objects from a gc.
			if err := refs.Pause(ctx, 1); err != nil {
				return err
			}
			continue
		}
		if err != nil || !changed {
			return err
		}
		var parents []string
		if tip != "" {
			parents = []string{tip}
		}
		raw, err := notes.Commit(tree, append(parents, more...), d.Engine.Actor+" <"+d.Engine.Email+">", d.Engine.Now().UTC().Truncate(time.Second), message)
		if err != nil {
			return err
		}
		commit := refs.NewObject("commit", raw)
		err = d.Repo.Apply(ctx, refs.Transaction{
			Edits:   []refs.Edit{{Ref: refs.NotesRef, Old: tip, New: commit.OID}},
			Objects: append(w.objects, commit),
		})
		var stale *refs.StaleError
		if !errors.As(err, &stale) {
			return err
		}
		if round == noteRounds {
			return fault.New(fault.Unavailable, "busy", "the notes ref moved %d times in a row", noteRounds).
				WithHint("githandoff sync   (writes the note that is missing)")
		}
		if err := refs.Pause(ctx, min(round/4, 3)); err != nil {
			return err
		}
	}
}

// restoreNotes writes the lines that a killed command left out: of everything
// that this agent offered and that is still under way. What is there already is
// not written again.
func (d *Desk) restoreNotes(ctx context.Context) error {
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
	return d.writeNotes(ctx)
}

// objectReader and collector lend this repository to package notes.
type objectReader struct{ repo *refs.Repo }

func (r objectReader) Object(ctx context.Context, name string) (kind, oid string, body []byte, err error) {
	const limit = 64 << 20 // a notes tree or a note
	o, err := r.repo.Read(ctx, name, limit)
	if err != nil || o == nil {
		return "", "", nil, err
	}
	return o.Type, o.OID, o.Body, nil
}

type collector struct{ objects []*refs.Object }

func (c *collector) Put(kind string, body []byte) (string, error) {
	o := refs.NewObject(kind, body)
	c.objects = append(c.objects, o)
	return o.OID, nil
}

// SyncNotes merges the notes of a hub with ours and brings both to the union.
// It is for the source's own origin: notes point to its code.
func (d *Desk) SyncNotes(ctx context.Context, hub *Hub) error {
	theirs := string(hub.Space()) + "notes"
	ours, err := d.Repo.Resolve(ctx, refs.NotesRef)
	if err != nil {
		return err
	}
	for round := 0; ; round++ {
		err := hub.fetch(ctx, []string{"--no-prune", "--force"}, []string{"+" + refs.NotesRef + "*:" + theirs + "*"})
		if err != nil {
			return hub.unreachable(err)
		}
		tip, err := d.Repo.Resolve(ctx, theirs)
		if err != nil {
			return err
		}
		if tip != "" && tip != ours {
			err := d.updateNotes(ctx, "Notes merged by githandoff", func(mine string, w *collector) (string, bool, error) {
				return d.mergeTree(ctx, mine, tip, w)
			}, tip)
			if err != nil {
				return err
			}
		}
		if ours, err = d.Repo.Resolve(ctx, refs.NotesRef); err != nil || ours == tip || ours == "" {
			return err
		}
		edit := []refs.Edit{{Ref: string(hub.Space()) + "notes", Old: tip, New: ours}}
		report, perr := hub.pushAs(ctx, edit, func(string) string { return refs.NotesRef })
		if perr == nil && report.acceptedAll() {
			return d.Repo.Apply(ctx, refs.Transaction{Edits: edit})
		}
		if round == 5 {
			return fault.New(fault.Unavailable, "hub_refused", "%s does not take the notes: %s", hub.Alias.Name, saying(perr)).
				WithHint("git push %s %s", fault.Arg(hub.Alias.Name), refs.NotesRef)
		}
		if err := refs.Pause(ctx, round); err != nil {
			return err
		}
	}
}

// mergeTree is changed=false where ours holds all of theirs already.
func (d *Desk) mergeTree(ctx context.Context, ours, theirs string, w *collector) (string, bool, error) {
	tree, err := notes.Merge(ctx, objectReader{d.Repo}, w, ours, theirs)
	if err != nil {
		return "", false, fmt.Errorf("merge notes: %w", err)
	}
	if ours == "" {
		return tree, true, nil
	}
	o, err := d.Repo.Read(ctx, ours, maxCodeCommit)
	if err != nil || o == nil {
		return "", false, err
	}
	return tree, string(o.Body[:45]) != "tree "+tree, nil
}
