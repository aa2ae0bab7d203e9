package crossrepo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
)

// Limits of one push: its steps, and the refs that they move. A guard takes 256 refs.
const (
	mostTogether     = 64
	mostRefsTogether = 192
)

// ErrNotTried is the cause of the error of a step not sent because its hub refused others.
var ErrNotTried = fmt.Errorf("not tried: %w", refs.ErrRefused)

// course is how the pushes of one run of Together to a hub have gone so far.
type course struct {
	size    int   // largest number of steps in the next push; 0 for the usual limit
	failed  int   // consecutive pushes that failed without a reason
	refused int   // steps that the hub refused since it last took one
	doubt   bool  // the hub may refuse every push
	over    error // reason why nothing more is sent; nil while pushes go on
}

func (j *joint) course(h *Hub) *course {
	if j.courses[h] == nil {
		j.courses[h] = &course{}
	}
	return j.courses[h]
}

// at returns the steps waiting for a hub.
func (j *joint) at(h *Hub) []*waiting {
	return slices.DeleteFunc(slices.Clone(j.waiting), func(w *waiting) bool { return w.hub != h })
}

// flush sends the steps waiting for a hub. A step alone is pushed as if nothing were collected.
func (j *joint) flush(ctx context.Context, h *Hub) {
	c, all := j.course(h), j.at(h)
	if c.over != nil {
		j.answer(func(*waiting) error { return c.over }, all...)
		return
	}
	group := j.fitting(ctx, h)
	switch {
	case group == nil: // fitting has answered steps that were out of date
	case len(group) == 0:
		j.sendAlone(all[0])
	case c.doubt:
		c.doubt, c.refused = false, 0
		if w := j.another(group); j.sendAlone(w) {
			c.end(w.err)
		}
	case len(group) == 1:
		j.sendAlone(group[0])
	default:
		j.push(ctx, h, group)
	}
}

// fitting returns the steps of the next push to a hub: those that fit its copies and each other. If
// any do not fit, fitting answers those and returns nil.
func (j *joint) fitting(ctx context.Context, h *Hub) []*waiting {
	group, n := []*waiting{}, 0
	tips := map[string]string{}
	stale := map[*waiting]error{}
	var gone []*waiting
	full := false
	for _, w := range j.at(h) {
		if w.alone {
			continue
		}
		if err := j.fits(ctx, w, tips); err != nil {
			stale[w], gone = err, append(gone, w)
			continue
		}
		for _, e := range w.t.Edits {
			tips[e.Ref] = e.New
		}
		n += len(w.t.Edits)
		full = full || len(group) == mostTogether || len(group) > 0 && (len(group) == j.course(h).size || n > mostRefsTogether)
		if !full {
			group = append(group, w)
		}
	}
	if len(gone) > 0 {
		j.answer(func(w *waiting) error { return stale[w] }, gone...)
		return nil
	}
	return group
}

// another returns the last step of a push that builds on no other step.
func (j *joint) another(group []*waiting) *waiting {
	for _, w := range slices.Backward(group) {
		if !slices.ContainsFunc(w.t.Edits, func(e refs.Edit) bool { return j.built[e.Old] }) {
			return w
		}
	}
	return group[0]
}

// fits returns an error if refs are not at the old values of a step. tips are the values at which
// other steps of the same push leave refs.
func (j *joint) fits(ctx context.Context, w *waiting, tips map[string]string) error {
	h := w.hub
	if err := h.checkLanes(w.t.Edits); err != nil {
		return err
	}
	stale := &refs.StaleError{Read: true}
	for _, e := range h.copied(w.t.Edits) {
		now, ok := tips[e.Ref]
		if !ok {
			var err error
			if now, err = h.Repo.Resolve(ctx, e.Ref); err != nil {
				return err
			}
		}
		if now != e.Old {
			stale.Refs = append(stale.Refs, h.RemoteName(e.Ref))
			stale.Read = stale.Read && j.built[e.Old] // whether only unsent steps made the old values stale
		}
	}
	if len(stale.Refs) > 0 {
		return stale
	}
	return nil
}

// sendAlone lets a task push its step itself, and reports whether the hub refused it.
func (j *joint) sendAlone(w *waiting) (refused bool) {
	w.alone = true
	j.answer(func(*waiting) error { return nil }, w)
	c := j.course(w.hub)
	switch {
	case w.err == nil:
		c.refused = 0
	case fault.Is(w.err, fault.RemoteUnavailable), fault.Is(w.err, fault.NoAtomicPush):
		c.end(w.err)
	case fault.CodeOf(w.err) == fault.Unavailable:
		c.refused++
		c.doubt, c.size = true, 0
		return true
	}
	return false
}

// end stops all further pushes to a hub.
func (c *course) end(why error) {
	if f := fault.As(why); f != nil {
		not := *f
		not.Err = ErrNotTried
		c.over = &not
		return
	}
	c.over = fmt.Errorf("%w: %w", ErrNotTried, why)
}

// push sends several steps in one atomic push.
func (j *joint) push(ctx context.Context, h *Hub, group []*waiting) {
	var objects []*refs.Object
	for _, w := range group {
		objects = append(objects, w.t.Objects...)
	}
	// Write them with each push: a gc may remove objects to which no ref leads.
	if err := h.Repo.Store.Write(objects...); err != nil {
		j.answer(func(*waiting) error { return err }, group...)
		return
	}
	if err := ctx.Err(); err != nil { // after an interrupt, git would finish a push that begins now
		j.course(h).end(err)
		j.answer(func(*waiting) error { return err }, group...)
		return
	}
	edits := merged(h, group)
	report, err := h.Push(ctx, refs.Transaction{Edits: edits, Objects: objects})
	switch {
	case err == nil && report.Accepted(edits):
		c := j.course(h)
		c.refused, c.failed, c.size = 0, 0, 2*c.size
		followTogether(ctx, h, group)
		j.answer(func(*waiting) error { return nil }, group...)
	case report.RefusedForGood(edits):
		j.refused(ctx, h, group, report, err)
	default:
		j.look(ctx, h, group, report, err)
	}
}

// followTogether makes the changes of several accepted steps in this repository in one transaction, because git
// rewrites packed-refs for each one that deletes a packed ref. If it fails, each task makes its own.
func followTogether(ctx context.Context, h *Hub, group []*waiting) {
	ctx = context.WithoutCancel(ctx)
	var all refs.Transaction
	for _, w := range group {
		t, err := w.changes(ctx)
		if err != nil {
			return
		}
		for _, e := range slices.Concat(t.Edits, t.LocalEdits) {
			all.Edits = addEdit(all.Edits, e)
		}
		all.Objects = append(all.Objects, t.Objects...)
	}
	h.notePushed(all.Edits)
	if h.Repo.Apply(ctx, all) != nil {
		return
	}
	for _, w := range group {
		w.here = true
	}
}

// addEdit adds an edit to a list. A ref that is in it gets the last new value.
func addEdit(list []refs.Edit, e refs.Edit) []refs.Edit {
	i := slices.IndexFunc(list, func(other refs.Edit) bool { return other.Ref == e.Ref })
	if i < 0 {
		return append(list, e)
	}
	list[i].New = e.New
	return list
}

// merged returns the edits of several steps: refs to move, then lanes, then refs to delete. So any
// prefix of them has a prefix of each step's edits. A lane moved by several steps gets the first
// old value and the last new one.
func merged(h *Hub, group []*waiting) []refs.Edit {
	var parts [3][]refs.Edit
	for _, w := range group {
		for _, e := range w.t.Edits {
			part := 0
			switch {
			case h.Namespace().InLog(e.Ref):
				part = 1
			case e.New == "":
				part = 2
			}
			parts[part] = addEdit(parts[part], e)
		}
	}
	return slices.Concat(parts[:]...)
}

// refused takes out of a push the steps for which the hub refused it for good. Nothing moved there,
// unless the hub hides a ref: then the next push finds the refs that moved up to date.
func (j *joint) refused(ctx context.Context, h *Hub, group []*waiting, report *pushReport, cause error) {
	guarded := h.guardRefusal(cause) != nil
	named := report.culprits()
	if guarded {
		named = guardNames(cause)
	}
	to := slices.DeleteFunc(slices.Clone(group), func(w *waiting) bool {
		return !slices.ContainsFunc(w.t.Edits, func(e refs.Edit) bool { return slices.Contains(named, h.RemoteName(e.Ref)) })
	})
	c := j.course(h)
	switch {
	case guarded && len(to) > 0: // the guard refuses single records, not this account
		for _, w := range to {
			w.alone = true
		}
	case len(to) == 0 || len(to) == len(group):
		j.unnamed(h, group)
	default:
		c.refused += len(to)
		c.doubt = c.refused > 1
		j.answer(func(w *waiting) error { return h.errPushRefused(ctx, w.t.Edits, report.of(h, w.t.Edits), cause) }, to...)
	}
}

// unnamed sends the first step of a push alone, if nothing tells which step is to blame. Unless the
// hub refuses it, the others are sent in smaller parts.
func (j *joint) unnamed(h *Hub, group []*waiting) {
	if c := j.course(h); !j.sendAlone(group[0]) && c.failed != 1 {
		c.size = max(1, (len(group)-1)/2)
	}
}

// look reads the hub after a push that failed, or whose answer got lost, and finds out what
// became of each step.
func (j *joint) look(ctx context.Context, h *Hub, group []*waiting, report *pushReport, cause error) {
	var all []refs.Edit
	for _, w := range group {
		all = append(all, w.t.Edits...)
	}
	if err := h.Refresh(ctx, lifecycle.FetchSpecFor(h, all)); fault.Is(err, fault.Rollback) {
		for _, w := range group { // a rollback of one lane does not affect the others
			w.alone = true
		}
		return
	} else if err != nil {
		j.course(h).end(err)
		err = inDoubt(report, err)
		j.answer(func(*waiting) error { return err }, group...)
		return
	}
	done, left := j.became(ctx, h, group)
	if len(left) < len(group) {
		j.course(h).failed = 0
		var known []*waiting // keep the order: a step may build on an earlier one
		for _, w := range group {
			if _, ok := done[w]; ok {
				known = append(known, w)
			}
		}
		j.answer(func(w *waiting) error { return done[w] }, known...)
		return
	}
	c := j.course(h)
	if gitexec.TimedOut(cause) {
		err := errNoAnswer(h)
		c.end(err)
		j.answer(func(*waiting) error { return err }, group...)
		return
	}
	c.failed++
	if silent := len(report.lines) == 0; silent || c.failed > 2 || refs.Pause(ctx, c.failed) != nil {
		j.unnamed(h, group)
	}
}

// became compares steps with the copies, which were just read. done has the applied steps, with
// nil, and those that must decide again; left has the steps of which nothing arrived.
func (j *joint) became(ctx context.Context, h *Hub, group []*waiting) (done map[*waiting]error, left []*waiting) {
	done = map[*waiting]error{}
	tips := map[string]string{}
	for _, w := range group {
		if len(h.copied(w.t.Edits)) < len(w.t.Edits) {
			w.alone = true // snapshots have no copies to compare
			continue
		}
		applied, _, err := w.compare(ctx)
		if err == nil && !applied {
			err = j.fits(ctx, w, tips)
		}
		if stale, ok := errors.AsType[*refs.StaleError](err); ok {
			if !stale.Read {
				w.noteMoved(stale.Refs)
			}
			stale.Read = true
		}
		if err != nil || applied {
			done[w] = err
			continue
		}
		for _, e := range w.t.Edits {
			tips[e.Ref] = e.New
		}
		left = append(left, w)
	}
	return done, left
}

// of returns the part of a report about some edits.
func (r *pushReport) of(h *Hub, edits []refs.Edit) *pushReport {
	part := &pushReport{lines: map[string]reportLine{}, said: r.said}
	for _, e := range edits {
		name := h.RemoteName(e.Ref)
		if line, ok := r.lines[name]; ok {
			part.lines[name] = line
		}
	}
	return part
}

// guardNames returns the refs refused by a hub's guard.
func guardNames(cause error) []string {
	var names []string
	for _, line := range remoteLines(cause) {
		if part := strings.SplitN(line, ": ", 3); len(part) == 3 && part[0] == "githandoff" {
			names = append(names, part[1])
		}
	}
	return names
}
