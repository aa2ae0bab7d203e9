package doctor

import (
	"time"

	"githandoff/internal/cli/output"
	"githandoff/internal/fault"
	"githandoff/internal/refs"
	"githandoff/internal/workcopy"
)

func (d *checkup) checkLocks() {
	// A lock of an index is the user's, unless a checkout of ours was cut off.
	locks, err := d.repo.Locks.List(d.Now, (&workcopy.Handler{Repo: d.repo}).Files()...)
	if err != nil {
		d.problem("locks", err)
		return
	}
	for _, l := range locks {
		d.lock(l)
	}
	if len(locks) == 0 {
		d.ok("locks", "none")
	}
}

func (d *checkup) lock(l refs.Lock) {
	age := output.Span(max(l.Age, time.Second))
	how := "no process has it open"
	if !l.Looked {
		how = "open files cannot be looked at here"
	}
	switch {
	case l.Holder == refs.Unseen:
		d.ok("locks", "%s is held by a process that does not show here, such as one in another container, for %s", l.Path, age)
	case l.Holder != 0:
		d.ok("locks", "%s is held by process %d, for %s", l.Path, l.Holder, age)
	case l.Age < time.Second:
		d.ok("locks", "%s was taken just now", l.Path)
	case l.Foreign:
		d.wrong("locks", fault.Fact("its owner can remove it with githandoff doctor --fix"), "%s belongs to another user, for %s", l.Path, age)
	case !l.Dead():
		d.wrong("locks", fault.Run("githandoff", "doctor", "--fix").Because("removes it once it is 10 seconds old"), "%s is %s old: %s", l.Path, age, how)
	case !d.Fix:
		d.wrong("locks", fault.Run("githandoff", "doctor", "--fix").Because("removes it"), "%s was left by a dead git %s ago: %s", l.Path, age, how)
	default:
		if err := l.Break(); err != nil {
			d.problem("locks", err)
			return
		}
		d.fixed("locks", "removed %s, %s old: %s", l.Path, age, how)
	}
}
