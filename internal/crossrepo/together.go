package crossrepo

import (
	"context"
	"iter"
	"slices"

	"githandoff/internal/refs"
)

// Together runs tasks taking steps at hubs, one task at a time. At the push of a step a task
// waits, and the next task runs. When all tasks wait, or are over, the steps waiting for one
// hub are sent in one atomic push, and their tasks go on. Each task gets a context of its own.
//
// To a task it looks like a push of its own: its transaction was applied as a whole, or not at
// all, or it has to decide again. A step refused by a hub does not refuse the others: they are
// sent without it. A step in the lane of another waiting step stands on the entry of that step.
func Together(ctx context.Context, tasks []func(ctx context.Context)) {
	j := &joint{courses: map[*Hub]*course{}, built: map[string]bool{}}
	for _, run := range tasks {
		t := &task{joint: j}
		next, stop := iter.Pull(func(yield func(*waiting) bool) {
			t.park = yield
			run(context.WithValue(ctx, taskKey{}, t))
		})
		defer stop()
		t.next = next
		j.proceed(t)
		if len(j.waiting) >= mostTogether {
			j.flush(ctx, j.waiting[0].hub)
		}
	}
	for len(j.waiting) > 0 {
		j.flush(ctx, j.waiting[0].hub)
	}
}

// joint is one run of Together. No two of its tasks, and no task and its pushes, run at the
// same time, so it needs no lock.
type joint struct {
	waiting []*waiting // steps in the order in which they came
	courses map[*Hub]*course
	built   map[string]bool // ids of commits made by the steps here, on which later steps may build
}

// task is one task of a run of Together. Its context leads to it.
type task struct {
	joint *joint
	next  func() (*waiting, bool) // runs the task until it waits again or ends
	park  func(*waiting) bool     // called by the task: waits for its step
	alone bool                    // whether the task pushes its step itself
}

type taskKey struct{}

// taskOf returns the task that a context belongs to; nil where steps are not collected.
func taskOf(ctx context.Context) *task {
	t, _ := ctx.Value(taskKey{}).(*task)
	if t == nil || t.alone {
		return nil
	}
	return t
}

// waiting is a step waiting for a push, and its outcome.
type waiting struct {
	hubStep
	task  *task
	alone bool  // whether the step is sent in a push of its own
	err   error // nil if the hub applied the step
	here  bool  // whether this repository has followed the hub
}

// wait lets other tasks go on until a step was pushed.
func (t *task) wait(ctx context.Context, step hubStep) error {
	if over := t.joint.course(step.hub).over; over != nil {
		return over
	}
	// Other steps may build on an entry of this one, and read it before the push.
	step.hub.Repo.Hold(step.t.Objects...)
	w := &waiting{hubStep: step, task: t, alone: t.joint.touches(step)}
	for _, e := range step.t.Edits {
		if e.New != "" { // a deletion leaves nothing to build on
			t.joint.built[e.New] = true
		}
	}
	switch {
	case !t.park(w):
		return context.Canceled
	case w.alone:
		t.alone = true
		defer func() { t.alone = false }()
		w.err = w.apply(ctx)
		return w.err
	case w.err != nil:
		return w.err
	}
	w.noteAccepted()
	if w.here {
		return nil
	}
	return w.follow(ctx)
}

// touches reports whether a waiting step moves a ref of this step other than a lane: this step was
// decided without it.
func (j *joint) touches(step hubStep) bool {
	return slices.ContainsFunc(j.waiting, func(w *waiting) bool {
		return w.hub == step.hub && slices.ContainsFunc(step.t.Edits, func(e refs.Edit) bool {
			return !step.hub.Namespace().InLog(e.Ref) && slices.ContainsFunc(w.t.Edits, func(other refs.Edit) bool { return other.Ref == e.Ref })
		})
	})
}

// proceed lets a task go on until it waits again, or is over.
func (j *joint) proceed(t *task) {
	if w, ok := t.next(); ok {
		j.waiting = append(j.waiting, w)
	}
}

// answer ends the wait of some steps. All of them leave the list before the first task goes on,
// because its next decision must not build on another one.
func (j *joint) answer(outcome func(*waiting) error, list ...*waiting) {
	j.waiting = slices.DeleteFunc(j.waiting, func(w *waiting) bool { return slices.Contains(list, w) })
	for _, w := range list {
		w.err = outcome(w)
	}
	for _, w := range list {
		j.proceed(w.task)
	}
}
