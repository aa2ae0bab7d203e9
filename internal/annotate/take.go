package annotate

import (
	"cmp"
	"context"
	"slices"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/notes"
	"githandoff/internal/refs"
)

// Limits of the reads of a hub's notes in one sync.
const (
	noteBatch   = 32768    // notes compared at a time
	maxNotesIn  = 64 << 20 // bytes of notes to read
	maxCleaned  = 16 << 20 // bytes of notes to correct at the hub
	maxNewLanes = 256      // handoffs whose lanes are fetched to confirm lines
)

// sharing compares the notes of a hub with ours in one sync.
type sharing struct {
	tip    string // tip of the hub's notes; "" for none
	theirs string // tree of the hub's notes; "" for none

	take  map[string][]string // lines to take from the hub, by commit
	give  map[string][]string // whole notes to set at the hub, by commit; an empty one is removed
	added map[string][]string // for each note of give with lines of ours: the note without them; nil if that changes nothing

	notes         *Notes
	lanes         *confirmer
	ours          string // tree of our notes
	read, cleaned int
}

// compare compares the notes of a hub with ours. A line of theirs is taken if it is well-formed,
// its commit is here, and a lane known here confirms it. If notes are shown, the lanes of unknown
// handoffs are fetched, once for each state of the hub's notes.
func (n *Notes) compare(ctx context.Context, hub *crossrepo.Hub, before string) (*sharing, error) {
	s, err := n.read(ctx, hub)
	if err != nil || len(s.lanes.unknown) == 0 || s.tip == before || !n.areShown() {
		return s, err
	}
	var ids []handoff.ID
	for id := range s.lanes.unknown {
		if ids = append(ids, id); len(ids) == maxNewLanes {
			break
		}
	}
	slices.Sort(ids)
	if err := hub.Refresh(ctx, lifecycle.FetchSpec{Lanes: ids, Once: true}); err != nil {
		n.Workspace.Warn(err)
		return s, nil
	}
	return n.read(ctx, hub)
}

func (n *Notes) read(ctx context.Context, hub *crossrepo.Hub) (*sharing, error) {
	s := &sharing{
		notes: n, lanes: newConfirmer(n),
		take: map[string][]string{}, give: map[string][]string{}, added: map[string][]string{},
	}
	r := &collector{repo: n.Engine.Repo}
	ours, err := n.Engine.Repo.Resolve(ctx, refs.NotesRef)
	if err == nil {
		s.ours, err = notes.Root(ctx, r, ours)
	}
	if err != nil {
		return nil, err
	}
	if s.tip, err = n.Engine.Repo.Resolve(ctx, hub.NotesCopy()); err != nil {
		return nil, err
	}
	if s.theirs, err = notes.Root(ctx, r, s.tip); err != nil {
		return nil, err
	}
	return s, notes.Batches(ctx, r, s.ours, s.theirs, noteBatch, func(batch []notes.Change) error { return s.compareBatch(ctx, batch) })
}

// compareBatch compares some notes, none of which is equal on both sides.
func (s *sharing) compareBatch(ctx context.Context, batch []notes.Change) error {
	var oids []string
	for _, c := range batch {
		oids = append(oids, c.Target, cmp.Or(c.Blob, c.Target))
	}
	kinds, err := refs.Kinds(ctx, s.notes.Engine.Repo, oids)
	if err != nil {
		return err
	}
	var here []notes.Change // changes to the notes on commits of this repository
	var blobs []string
	for i, c := range batch {
		target, blob := kinds[2*i], kinds[2*i+1]
		if c.Blob != "" && blob.Type == "" {
			return refs.Missing("note " + c.Blob)
		}
		if c.Blob != "" && (blob.Type != "blob" || blob.Size > notes.MaxNote) {
			s.give[c.Target], c.Blob = []string{}, "" // the object is no note: the hub is to remove it
		}
		if target.Type != "commit" {
			continue
		}
		if here = append(here, c); c.Blob != "" {
			blobs = append(blobs, c.Blob)
		}
	}
	read := refs.NewBatchReader(s.notes.Engine.Repo, "blob", blobs, notes.MaxNote)
	defer read.Close()
	for _, c := range here {
		if err := s.compareNote(ctx, c, read); err != nil {
			return err
		}
	}
	return nil
}

// compareNote compares the note of one commit of this repository. Read has the next blob.
func (s *sharing) compareNote(ctx context.Context, c notes.Change, read *refs.BatchReader) error {
	ours, err := notes.ReadIn(ctx, &collector{repo: s.notes.Engine.Repo}, s.ours, c.Target)
	if err != nil {
		return err
	}
	var theirs []string
	inForm := true
	if c.Blob != "" {
		o, err := read.Next(ctx, c.Blob)
		if err != nil || o == nil {
			return err
		}
		if s.read += len(o.Body); s.read > maxNotesIn {
			return fault.New(fault.Invalid, fault.TooLarge, "more than %d bytes of notes are new", maxNotesIn)
		}
		theirs, inForm = notes.Clean(o.Body), notes.InForm(o.Body)
	}
	if !inForm {
		if s.cleaned += len(theirs) * 200; s.cleaned < maxCleaned {
			s.give[c.Target] = append([]string{}, theirs...)
		}
	}
	news, err := s.lanes.confirmed(ctx, lacking(ours, theirs))
	if err != nil {
		return err
	}
	if len(news) > 0 {
		s.take[c.Target] = news
	}
	if lacks := lacking(theirs, ours); len(lacks) > 0 {
		s.added[c.Target] = s.give[c.Target]
		s.give[c.Target] = notes.Union(theirs, lacks)
	}
	return nil
}

// lacking returns those of some lines that a sorted list lacks.
func lacking(sorted, lines []string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(l string) bool {
		_, have := slices.BinarySearch(sorted, l)
		return have
	})
}
