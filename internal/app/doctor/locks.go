package doctor

import (
	"context"
	"slices"
	"strings"
	"time"

	"githandoff/internal/cli/output"
	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/refs"
	"githandoff/internal/workcopy"
)

func (d *checkup) checkLocks(repo *refs.Repo) {
	// A lock of an index is the user's, but where a checkout of ours was cut off.
	locks, err := repo.Locks.List(d.Now, (&workcopy.Handler{Repo: repo}).Files()...)
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

// checkRefs looks for refs that lead nowhere, and for lost objects of lanes and inboxes. Unless it
// is to mend them, it asks git alone, which does not look into the files of blobs.
func (d *checkup) checkRefs(ctx context.Context, repo *refs.Repo) {
	whole := checkObjects(ctx, d, repo)
	broken, err := refs.Broken(ctx, repo)
	if err != nil {
		d.problem("refs", err)
		return
	}
	for _, name := range broken {
		d.wrong("refs", fault.Fact("restore its object from a copy of the repository; if a hub has it, githandoff sync fetches it"),
			"%s points to a missing object (%s)", name, repo.CommonDir+"/"+name)
	}
	if len(broken) == 0 && whole {
		d.ok("refs", "none is broken")
	}
}

// checkRefFiles reports whether no file of a ref is damaged, or damaged any more. A copy of a hub's
// ref can be dropped: the next sync brings it again.
func (d *checkup) checkRefFiles(repo *refs.Repo) bool {
	damaged, err := refs.Damaged(repo)
	if err != nil {
		d.problem("refs", err)
		return false
	}
	whole := true
	for _, name := range damaged {
		file := repo.CommonDir + "/" + name
		switch {
		case !refs.IsCopy(name):
			whole = false
			d.wrong("refs", fault.Fact("restore it from a copy of the repository; at a hub, clones bring a lane back with githandoff sync once the file is gone"),
				"the file of %s is damaged (%s)", name, file)
		case !d.Fix:
			whole = false
			d.wrong("refs", fault.Run("githandoff", "doctor", "--fix").Because("removes it; githandoff sync brings the ref again"),
				"the file of %s is damaged (%s)", name, file)
		default:
			if err := refs.DropDamagedRef(repo, name); err != nil {
				whole = false
				d.problem("refs", err)
				continue
			}
			d.fixed("refs", "removed the damaged file of %s; githandoff sync brings the ref again", name)
		}
	}
	return whole
}

// checkObjects reports whether no object of the lanes, inboxes and notes is lost, or lost any more.
func checkObjects(ctx context.Context, d *checkup, repo *refs.Repo) bool {
	own := refs.LocalNamespace
	list, err := repo.List(ctx, own.Lanes(), string(own)+"inbox/", string(own)+"outbox/", string(own)+"sent/", refs.NotesRef)
	if err != nil {
		d.problem("refs", err)
		return false
	}
	whole := true
	aliases := crossrepo.Aliases{Repo: repo}
	for _, name := range aliases.Names() {
		if al, _, err := aliases.Look(name); err == nil { // else checkRemotes says so
			whole = checkCopies(ctx, d, crossrepo.NewHub(al, repo, nil)) && whole
		}
	}
	return checkOwn(ctx, d, repo, list) && whole // last: a hub may have brought what was lost
}

// checkOwn is like checkObjects for refs of this repository, whose objects nobody else has to have.
func checkOwn(ctx context.Context, d *checkup, repo *refs.Repo, list []refs.Ref) bool {
	lost, err := findLost(ctx, d, repo, list)
	if err != nil {
		d.problem("refs", err)
		return false
	}
	lost = slices.DeleteFunc(lost, isTip)
	for _, l := range lost {
		hint := fault.Fact("restore it from a copy of the repository")
		if !d.Fix && strings.HasPrefix(l.Name, refs.Root+"sent/") {
			hint = refs.BringsObjects()
		}
		d.wrong("refs", hint, "object %s of %s is lost or damaged", l.Object, l.Name)
	}
	return len(lost) == 0
}

// checkCopies is like checkObjects for the copies of a hub's refs, whose objects it has.
func checkCopies(ctx context.Context, d *checkup, hub *crossrepo.Hub) bool {
	list, err := crossrepo.Copies(ctx, hub)
	if err != nil {
		d.problem("refs", err)
		return false
	}
	lost, err := findLost(ctx, d, hub.Repo, list)
	if err == nil && len(lost) > 0 && d.Fix {
		var brought, dropped []string
		brought, dropped, err = crossrepo.Mend(ctx, hub)
		if len(brought) > 0 {
			d.fixed("refs", "brought %s again from %s, with objects that were lost or damaged here", fault.Count(len(brought), "ref"), hub.Alias.Name)
		}
		if len(dropped) > 0 {
			d.fixed("refs", "dropped the copies of %s, whose objects %s has no more", fault.Count(len(dropped), "ref"), hub.Alias.Name)
		}
		if err == nil {
			return true // checkOwn names a handoff that was sent and is still lost
		}
	}
	if err != nil {
		d.problem("refs", err)
		return false
	}
	lost = slices.DeleteFunc(lost, func(l refs.Lost) bool { return isTip(l) || !refs.IsCopy(l.Name) }) // checkOwn names a handoff that was sent
	if len(lost) > 0 {
		d.wrong("refs", fault.Run("githandoff", "doctor", "--fix").Because("brings them again from the hub"),
			"%s of %s with lost or damaged objects; the first is %s", fault.Count(len(lost), "ref"), hub.Alias.Name, lost[0].Object)
	}
	return len(lost) == 0
}

// isTip reports whether the lost object is the one that the ref leads to: checkRefs says so.
func isTip(l refs.Lost) bool { return l.Object == l.OID }

func findLost(ctx context.Context, d *checkup, repo *refs.Repo, list []refs.Ref) ([]refs.Lost, error) {
	if !d.Fix {
		if whole, err := refs.Connected(ctx, repo, list); whole || err != nil {
			return nil, err
		}
	}
	return refs.FindLost(ctx, repo, list)
}
