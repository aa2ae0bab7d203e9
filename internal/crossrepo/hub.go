package crossrepo

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
)

// Hub is the repository behind an alias, as a home. It implements lifecycle.Home.
//
// Each part of a hub embeds the next one: Hub, fetcher (look.go), laneCopies (lanes.go), remote
// (remote.go), refNames (names.go). A part uses the fields of those after it.
type Hub struct {
	fetcher
	scouted sync.Map     // tips of the copies before the look that LooksFirst asked for
	given   atomic.Int64 // number of lanes given back to the hub
}

var _ lifecycle.RemoteHome = (*Hub)(nil)

// NewHub makes the hub behind an alias. Copies of its refs are kept in repo. The checker says
// which lanes may be copied; nil for a hub from which no copy of a lane is moved.
func NewHub(a *Alias, repo *refs.Repo, checker LaneChecker) *Hub {
	h := &Hub{}
	h.Alias, h.Repo, h.refNames, h.checker = a, repo, namesAt(a), checker
	h.book.file = repo.Own("hubs/" + path.Base(string(h.copies)) + ".json")
	return h
}

// ID implements lifecycle.Home.
func (h *Hub) ID() string { return h.Alias.RepoID }

// Is implements lifecycle.Home.
func (h *Hub) Is(repoID string) bool { return h.Alias.Is(repoID) }

// Apply implements lifecycle.Home with one atomic push, shared by several steps under Together.
// Each ref is leased at the value that was validated; a push is believed only if every ref
// reports a change. A refused push may still have moved a ref: git at the hub leaves out each
// ref that it hides, or whose history it could not look into, even from an atomic push, and moves the others.
// Then half of a step is there, and the next fetch shows which half.
func (h *Hub) Apply(ctx context.Context, t refs.Transaction) error {
	step := hubStep{h, t}
	if task := taskOf(ctx); task != nil {
		return task.wait(ctx, step)
	}
	return step.apply(ctx)
}

// LooksFirst implements lifecycle.RemoteHome. A refused push is followed by a look and by
// another push, so the look comes first where the first push is likely to fail: two connections
// in place of three. The result of the last offer predicts the next one. A lane without a copy
// in this clone counts as moved, unless the clone has read the whole log, or nothing of the hub
// at all.
func (h *Hub) LooksFirst(ctx context.Context, id handoff.ID) bool {
	if h.LaneIsFresh(id) {
		return false
	}
	lane := h.Namespace().Lane(id)
	tip, err := h.Repo.Resolve(ctx, lane)
	if err != nil {
		return false
	}
	k := h.book.findings()
	if !k.Moved && k.Unshown == "" && (tip != "" || k.Whole || h.LastRead().IsZero()) {
		return false
	}
	h.scouted.Store(lane, tip)
	return true
}

// LaneTip implements lifecycle.RemoteHome: it is the tip of the copy or, under Together, of the last step
// in this lane that waits for the common push. A waiting step whose entry does not stand on the copy, or
// on another waiting step, was decided before the copy was read, and will be decided again.
func (h *Hub) LaneTip(ctx context.Context, lane string) (string, error) {
	if err := h.Stuck(lane); err != nil {
		return "", err
	}
	tip, err := h.Repo.Resolve(ctx, lane)
	task := taskOf(ctx)
	if task == nil || err != nil {
		return tip, err
	}
	for _, w := range task.joint.waiting {
		i := slices.IndexFunc(w.t.Edits, func(e refs.Edit) bool { return e.Ref == lane && e.Old == tip })
		if w.hub == h && !w.alone && i >= 0 {
			tip = w.t.Edits[i].New
		}
	}
	return tip, nil
}

// ErrOvertaken is the cause of the error of a transaction with NoRetry of which nothing was sent: the
// list of refs at the start of the push showed that the handoff had moved on.
var ErrOvertaken = fmt.Errorf("another step came first: %w", refs.ErrRefused)

// hubStep is a transaction on its way to a hub.
type hubStep struct {
	hub *Hub
	t   refs.Transaction
}

// apply pushes the step by itself, and the same step again while the hub may still take it. If a ref has moved, it
// returns a *refs.StaleError: lifecycle.Engine then decides again.
func (s hubStep) apply(ctx context.Context) error {
	// If a copy has moved already, do not push: the hub would refuse. If a ref is at its new value,
	// git calls it up to date, ignores its lease, and moves the others.
	if err := s.hub.checkLanes(s.t.Edits); err != nil {
		return err
	}
	if _, moved, err := s.compare(ctx); err != nil {
		return err
	} else if len(moved) > 0 {
		return &refs.StaleError{Refs: moved}
	}
	rest := s.t.Edits // edits that the hub has not made yet
	const tries = 5
	for try := 0; ; try++ {
		// Write them with each try: a gc may remove objects to which no ref leads.
		if err := s.hub.Repo.Store.Write(s.t.Objects...); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err // do not start a push: git would finish it despite the interrupt
		}
		report, err := s.hub.Push(ctx, refs.Transaction{Edits: rest, Objects: s.t.Objects})
		switch {
		case err == nil && report.Accepted(rest):
			s.noteAccepted()
			return s.follow(ctx)
		case try == 0 && s.t.NoRetry && report.overtaken(s.hub, s.t.Edits):
			f := fault.New(fault.Conflict, fault.Claimed, "others changed %s at %s first", s.hub.RemoteName(s.t.Edits[0].Ref), s.hub.Alias.Name)
			f.Err = ErrOvertaken
			return f
		case s.hub.guardRefusal(err) == nil && report.RefusedForGood(s.t.Edits):
			return refusal(ctx, s.hub, s.t.Edits, report, err)
		}
		silent := len(report.lines) == 0 && (try > 0 || gitexec.TimedOut(err)) // the hub reported on no ref
		rest, err = s.unapplied(ctx, report, err, silent || try+1 == tries)
		switch {
		case err != nil:
			return inDoubt(report, err)
		case len(rest) == 0: // the push was applied, and its answer got lost
			return s.follow(ctx)
		}
		if err := refs.Pause(ctx, try); err != nil {
			return err
		}
	}
}

// unapplied reads the hub after a failed push, and returns the edits that it has not made: the next try pushes
// them. After the last try, cause and report explain the refusal.
func (s hubStep) unapplied(ctx context.Context, report *pushReport, cause error, last bool) ([]refs.Edit, error) {
	h := s.hub
	if err := h.Refresh(ctx, lifecycle.FetchSpecFor(h, s.t.Edits)); err != nil {
		return nil, err
	}
	if err := h.checkLanes(s.t.Edits); err != nil {
		return nil, err
	}
	done, moved, err := s.compare(ctx)
	if err != nil {
		return nil, err
	}
	if !done && len(moved) > 0 {
		s.noteMoved(moved)
		return nil, &refs.StaleError{Refs: moved, Read: true}
	}
	rest, err := h.remaining(ctx, s.t.Edits, done, report)
	if err != nil || len(rest) == 0 {
		return nil, err
	}
	if last || h.guardRefusal(cause) != nil || report.hiddenFromFetch(h, s.t.Edits) != "" {
		return nil, h.diagnose(ctx, s.t.Edits, report, cause)
	}
	return rest, nil
}

// compare reads the copies: whether every edit is in place, and which refs are not at their old
// values.
func (s hubStep) compare(ctx context.Context) (done bool, moved []string, err error) {
	done = true
	for _, e := range s.hub.copied(s.t.Edits) {
		now, err := s.hub.Repo.Resolve(ctx, e.Ref)
		if err != nil {
			return false, nil, err
		}
		done = done && now == e.New
		if now != e.Old {
			moved = append(moved, s.hub.RemoteName(e.Ref))
		}
	}
	return done, moved, nil
}

// isWork reports whether a ref of this hub's namespace is that of a snapshot. It is not among the copies: it is
// fetched only when somebody asks for the files. So the copies do not tell whether an edit of it was made; where
// that matters, the hub is asked.
func (h *Hub) isWork(ref string) bool {
	_, ok := h.Namespace().ParseWork(ref)
	return ok
}

// copied returns the edits of refs that have copies here.
func (h *Hub) copied(edits []refs.Edit) []refs.Edit {
	return slices.DeleteFunc(slices.Clone(edits), func(e refs.Edit) bool { return h.isWork(e.Ref) })
}

// noteAccepted notes for the next command that the hub accepted the push.
func (s hubStep) noteAccepted() {
	deleted := slices.ContainsFunc(s.t.Edits, func(e refs.Edit) bool { return e.New == "" })
	s.hub.book.forgetRefusals(deleted)
	s.noteMoved(nil)
}

// follow moves the copies and this repository's own refs after an accepted push. A copy that
// another fetch moved meanwhile is newer and stays. An interrupt does not stop it: the step was
// taken.
func (s hubStep) follow(ctx context.Context) error {
	h := s.hub
	ctx = context.WithoutCancel(ctx)
	h.notePushed(s.t.Edits)
	t, err := s.changes(ctx)
	if err != nil {
		return err
	}
	err = h.Repo.Apply(ctx, t)
	if _, ok := errors.AsType[*refs.StaleError](err); !ok {
		return err
	}
	if err := lifecycle.ApplyMissing(ctx, h.Repo, slices.Concat(t.Edits, t.LocalEdits)); err != nil {
		return fmt.Errorf("note what %s accepted: %w", h.Alias.Name, err)
	}
	return nil
}

// changes returns what an accepted push changes in this repository.
func (s hubStep) changes(ctx context.Context) (refs.Transaction, error) {
	// A fetched snapshot is deleted with the hub's. A snapshot sent from here has another ref, which stays.
	var gone []string
	for _, e := range s.t.Edits {
		if s.hub.isWork(e.Ref) && e.New == "" {
			gone = append(gone, e.Ref)
		}
	}
	deletions, err := refs.Deletions(ctx, s.hub.Repo, gone...)
	edits := append(s.hub.copied(s.t.Edits), deletions...)
	return refs.Transaction{Edits: edits, Objects: s.t.Objects, LocalEdits: s.t.LocalEdits}, err
}

// noteMoved notes whether the lanes of the step were where this clone had them.
func (s hubStep) noteMoved(moved []string) {
	h := s.hub
	for _, e := range s.t.Edits {
		if tip, ok := h.scouted.LoadAndDelete(e.Ref); ok {
			h.book.note(func(k *findings) { k.Moved = tip != e.Old })
		}
		if h.Namespace().InLog(e.Ref) && slices.Contains(moved, h.RemoteName(e.Ref)) {
			h.book.note(func(k *findings) { k.Moved = true })
		}
	}
}

// ErrInDoubt is the cause of the error of an interrupted push: the hub may have taken it, or
// may take it yet. The next look at the hub tells.
var ErrInDoubt = errors.New("the hub may have taken the push")

// inDoubt adds [ErrInDoubt] to the error of the look after an unanswered push, if an interrupt
// kept the look from learning the outcome.
func inDoubt(r *pushReport, err error) error {
	if r.rejected() || !errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrInDoubt, err)
}

// rejected reports whether git or the hub refused a push, of which it then moved no ref: it names a
// refused ref, and none that moved.
func (r *pushReport) rejected() bool {
	refused := false
	for ref, line := range r.lines {
		if line.moved() { // see Apply
			return false
		}
		_, ok := r.refused(ref)
		refused = refused || ok || line.flag == '!' && strings.HasPrefix(line.summary, "[rejected] ")
	}
	return refused
}
