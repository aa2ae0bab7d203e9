package crossrepo

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
)

// fetcher fetches refs of a hub into the copies and the mirror, in one connection.
type fetcher struct {
	laneCopies
	along *lifecycle.FetchSpec // further refs for the next fetch; set only within [FetchAlong]

	notesBefore *string // tip of the copy of the notes before they were fetched; nil if no fetch brought them
}

// Refresh implements lifecycle.Home: one connection, or none if everything was
// fetched before. The copies of spec.Lanes move; other lanes that the log brings along stay in the mirror
// until they are asked for.
func (h *fetcher) Refresh(ctx context.Context, spec lifecycle.FetchSpec) error {
	if spec.Lost {
		if _, _, err := h.mend(ctx, h.copiesOfPlaces(spec)...); err != nil {
			return err
		}
	}
	if err := h.Fetch(ctx, spec); err != nil {
		return err
	}
	return h.advance(ctx, spec.Lanes)
}

// Fetch fetches inboxes and published refs into the copies, pruned, and lanes into the mirror,
// forced and pruned. A lane is not believed before it was checked. If the answer of a hub exceeds its bound,
// another fetch leaves out the log, the published keys, or both, and brings only those in question.
func (h *fetcher) Fetch(ctx context.Context, spec lifecycle.FetchSpec) error {
	if h.along != nil {
		spec.Inboxes = append(slices.Clone(spec.Inboxes), h.along.Inboxes...)
		spec.Log = spec.Log || h.along.Log
	}
	spec.Log = spec.Log && h.wantsLog()
	if h.Crowded() {
		spec = omission{keys: true}.from(spec)
	}
	attempts := []omission{{}, {log: true}, {keys: true}, {log: true, keys: true}}
	if !spec.Log {
		attempts = []omission{{}, {keys: true}}
	}
	crowded := false
	for {
		omit := attempts[0] // the last one has no bound
		few := omit.from(spec)
		b := newBound(&h.remote, few)
		err := h.fetchOnce(ctx, few, b)
		if !b.exceeded(err) {
			if err == nil {
				h.along = nil
				err = h.noteExceeded(ctx, omit.log, omit.keys && crowded)
			}
			return err
		}
		b.sweep()
		// A fetch that only broke says nothing of the keys.
		crowded = crowded || b.manyKeys() || b.full && !few.Log
		attempts = slices.DeleteFunc(attempts[1:], func(o omission) bool {
			return b.manyLanes() && !o.log || b.manyKeys() && !o.keys
		})
	}
}

// omission names what a fetch leaves out. Single lanes, or the few published refs of spec.Few, come in its place.
type omission struct{ log, keys bool }

// from returns what remains to fetch.
func (o omission) from(spec lifecycle.FetchSpec) lifecycle.FetchSpec {
	spec.Log = spec.Log && !o.log
	if o.keys {
		spec.Published = slices.DeleteFunc(slices.Clone(spec.Published), isDir)
	}
	return spec
}

// isDir reports whether the name of a published ref means all refs below.
func isDir(ref string) bool { return strings.HasSuffix(ref, "/") }

// fetchOnce is one fetch within a bound, which may be nil. Where the whole log does not come
// along, it asks for single lanes.
func (h *fetcher) fetchOnce(ctx context.Context, spec lifecycle.FetchSpec, b *bound) error {
	ids := spec.Lanes
	if !spec.Log {
		ids = slices.Concat(ids, h.lanesIn(spec.Memory))
	}
	if spec.Once {
		ids = slices.DeleteFunc(slices.Clone(ids), h.inMirror)
	}
	specs := h.specs(spec, ids)
	if len(specs) == 0 && !spec.Notes {
		return nil
	}
	specs = append(specs, h.unshownSpec()...)
	slices.Sort(specs)
	specs = slices.Compact(specs)
	done := false
	if spec.Notes {
		// One file of notes must not keep the rest away: if git fails with the notes, they are left
		// out.
		var err error
		if done, err = h.fetchWithNotes(ctx, specs, b); err != nil {
			return err
		}
	}
	if !done && len(specs) > 0 {
		var flags []string
		if !b.ofLog() { // a bounded fetch of the whole log does not negotiate; see fetchRequest.settings
			flags = h.negotiationTips(specs)
		}
		if err := h.errUnreachable(h.fetch(ctx, fetchRequest{flags: flags, specs: specs, bound: b})); err != nil {
			return err
		}
	}
	if err := h.checkShown(ctx); err != nil {
		return err
	}
	h.noteFetched(ids, spec.Log)
	return h.takePublished(ctx, spec.Published)
}

// FetchLog fetches every lane, whatever this clone wants otherwise, and with them some agents' inboxes.
func (h *fetcher) FetchLog(ctx context.Context, inboxes ...string) error {
	if err := h.fetchOnce(ctx, lifecycle.FetchSpec{Inboxes: inboxes, Log: true}, nil); err != nil {
		return err
	}
	return h.widen(ctx)
}

// RefreshAllLanes brings in every lane of the hub, and checks it: what an audit needs.
func (h *fetcher) RefreshAllLanes(ctx context.Context) error {
	if err := h.FetchLog(ctx); err != nil {
		return err
	}
	_, err := h.AdvanceAll(ctx, nil)
	return err
}

// AdvanceMemory is like advance for the lanes of a memory, which a fetch asked for. A lane nobody here
// asked for stays in the mirror.
func (h *fetcher) AdvanceMemory(ctx context.Context, memory []refs.Ref) error {
	return h.advance(ctx, h.lanesIn(memory))
}

// lanesIn returns the lanes of a memory, as ids ending in their names.
func (h *fetcher) lanesIn(memory []refs.Ref) []handoff.ID {
	ids := make([]handoff.ID, 0, len(memory))
	for _, lane := range memory {
		ids = append(ids, handoff.ID(lane.Name[len(h.Namespace().Lanes()):]))
	}
	return ids
}

// AllInboxes in a lifecycle.FetchSpec asks for the inboxes of all agents.
const AllInboxes = "*"

// manyPlaces is the number of handoffs above which all inboxes are fetched. Each handoff takes two
// refspecs, for which git searches all refs, and the length of a command line is limited.
const manyPlaces = 500

// MostWork is the number of snapshots for which a fetch may ask. A pattern for more of them would bring those
// of others.
const MostWork = manyPlaces

// specOf returns the forced refspec of all refs whose names begin with from. Unlike the refspec of
// one ref, it does not fail if the hub has none.
func specOf(from, to string) string { return "+" + from + "*:" + to + "*" }

// specs returns the refspecs of a fetch: its inboxes, the lanes of some ids or the whole log, and
// published refs. A published file is fetched into the mirror: a hub that lost it does not make
// this clone forget it.
func (n refNames) specs(spec lifecycle.FetchSpec, ids []handoff.ID) []string {
	var specs []string
	add := func(ref, to string) { specs = append(specs, specOf(n.RemoteName(ref), to)) }
	inbox := func(agent string, id handoff.ID) {
		ref := n.Namespace().Inbox(agent, id)
		add(ref, ref)
	}
	if slices.Contains(spec.Inboxes, AllInboxes) || len(spec.Places) > manyPlaces {
		all := string(n.Namespace()) + "inbox/"
		add(all, all)
	} else {
		for _, agent := range spec.Inboxes {
			inbox(agent, "")
		}
		for _, p := range spec.Places {
			if p.Agent != "" {
				inbox(p.Agent, p.ID)
			}
			if p.Agent != handoff.Nobody {
				inbox(handoff.Nobody, p.ID)
			}
		}
	}
	if spec.Log {
		add(n.Mirror.Lanes(), n.Mirror.Lanes())
		ids = nil
	}
	for _, id := range onePerLane(ids) {
		add(n.Mirror.Lane(id), n.Mirror.Lane(id))
	}
	for _, p := range spec.Work {
		ref := n.Namespace().Work(p.Agent, p.ID)
		add(ref, ref)
	}
	few := spec.Few
	for _, ref := range spec.Published {
		to := n.mirrored(ref)
		if isDir(ref) {
			to, few = ref, nil // they are among the refs below
		}
		add(ref, to)
	}
	for _, ref := range few {
		add(ref, ref)
	}
	return specs
}

// AskAll asks several homes side by side, each with its own time limit: a hub that is down does not
// delay the others. The errors are in the order of the homes. ask checks no
// lane: lanes are checked one home at a time.
func AskAll[H lifecycle.Home](homes []H, ask func(H) error) []error {
	errs := make([]error, len(homes))
	var all sync.WaitGroup
	for i, h := range homes {
		all.Go(func() { errs[i] = ask(h) })
	}
	all.Wait()
	return errs
}

// mostTips limits the refspecs that get a negotiation tip each: git searches all refs for each.
const mostTips = 32

// negotiationTips returns flags with which git names to the hub only the copies of the requested
// refs. An offer has no ancestor, so git finds nothing in common. It would go on with commits of
// the user's own branches, in rounds of 16, 32 and more, each a request over HTTP.
func (n refNames) negotiationTips(specs []string) []string {
	if len(specs) > mostTips {
		return []string{"--negotiation-tip=" + string(n.Namespace()) + "*", "--negotiation-tip=" + string(n.Mirror) + "*"}
	}
	var flags []string
	for _, spec := range specs {
		_, to, _ := strings.Cut(spec, ":")
		flags = append(flags, "--negotiation-tip="+to)
		if lane, ok := strings.CutPrefix(to, n.Mirror.Lanes()); ok {
			// A step of this clone moves the copy and not the mirror.
			flags = append(flags, "--negotiation-tip="+n.Namespace().Lanes()+lane)
		}
	}
	return flags
}

func (h *fetcher) takePublished(ctx context.Context, copies []string) error {
	var edits []refs.Edit
	for _, ref := range copies {
		if isDir(ref) {
			continue
		}
		now, err := h.Repo.Resolve(ctx, h.mirrored(ref))
		if err != nil {
			return err
		}
		old, err := h.Repo.Resolve(ctx, ref)
		if err != nil {
			return err
		}
		if now != "" && now != old {
			edits = append(edits, refs.Edit{Ref: ref, Old: old, New: now})
		}
	}
	return refs.ApplyUnlessMoved(ctx, h.Repo, edits)
}

// FetchedNotes reports once that this command has fetched the notes of a hub, and the former
// tip of their copy.
func (h *fetcher) FetchedNotes() (before string, ok bool) {
	if h.notesBefore == nil {
		return "", false
	}
	before, h.notesBefore = *h.notesBefore, nil
	return before, true
}

// fetchWithNotes fetches refspecs together with the notes. It is not done if git fails with the
// notes.
func (h *fetcher) fetchWithNotes(ctx context.Context, specs []string, b *bound) (done bool, err error) {
	before, err := h.Repo.Resolve(ctx, h.NotesCopy())
	if err != nil {
		before = "" // the copy of the notes is damaged
	}
	r := fetchRequest{specs: append(h.notesSpecs(), specs...), bound: b, notes: true}
	if err := h.fetch(ctx, r); errors.Is(err, errTooMuch) {
		return false, err
	} else if err != nil {
		return false, ctx.Err()
	}
	h.notesBefore = &before
	return true, nil
}
