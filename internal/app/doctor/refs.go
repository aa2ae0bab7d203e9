package doctor

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/refs"
)

// checkRefs looks for refs that lead nowhere, and for lost objects of handoffs, lanes, notes and
// published keys. Without Fix it asks git alone, which does not look into the files of blobs.
func (d *checkup) checkRefs(ctx context.Context) {
	lost, err := checkObjects(ctx, d)
	if err != nil {
		d.problem("refs", err)
		return
	}
	broken, err := refs.Broken(ctx, d.repo)
	if err != nil {
		d.problem("refs", err)
		return
	}
	for _, name := range broken {
		if !slices.ContainsFunc(lost, func(l refs.Lost) bool { return l.Name == name }) && !checkDangling(ctx, d, name) {
			d.wrong("refs", hintForLost(name, false), "%s leads to a lost or damaged object (%s)", name, d.repo.CommonDir+"/"+name)
		}
	}
	if checkSent(ctx, d) && len(broken)+len(lost) == 0 {
		d.ok("refs", "none is broken")
	}
}

// checkDangling reports whether a ref is a symbolic one to a ref that is not there, or is itself one that
// leads back. With Fix it removes that symbolic ref, and no object.
func checkDangling(ctx context.Context, d *checkup, name string) bool {
	out, err := d.repo.Runner.Run(ctx, gitexec.Cmd{Args: []string{"symbolic-ref", "--quiet", name}})
	if gitexec.ExitCode(err) == 128 { // a loop: git before 2.39 cannot say where one of it leads
		out, err = d.repo.Runner.Run(ctx, gitexec.Cmd{Args: []string{"symbolic-ref", "--quiet", "--no-recurse", name}})
	}
	to := strings.TrimSpace(string(out))
	if err != nil || to == "" {
		return false
	}
	if oid, err := d.repo.Resolve(ctx, to); err != nil || oid != "" {
		return false
	}
	if !d.Fix {
		d.wrong("refs", fault.Run("githandoff", "doctor", "--fix").Because("removes it, and no object with it"),
			"%s is a symbolic ref to %s, which leads nowhere", name, to)
		return true
	}
	if _, err := d.repo.Runner.Run(ctx, gitexec.Cmd{Args: []string{"symbolic-ref", "--delete", name}}); err != nil {
		d.problem("refs", err)
		return true
	}
	d.fixed("refs", "removed %s, a symbolic ref to %s, which leads nowhere", name, to)
	return true
}

// checkSent reports whether no snapshot of this clone's own handoffs lacks an object, besides the code on
// branches.
func checkSent(ctx context.Context, d *checkup) bool {
	list, err := d.repo.List(ctx, refs.WorkOut(""), refs.Root+"outbox/")
	whole := true
	for _, ref := range list {
		id, ok := strings.CutPrefix(ref.Name, refs.WorkOut(""))
		if !ok {
			continue
		}
		connected, cerr := refs.Connected(ctx, d.repo, []refs.Ref{ref}, "--not", "--branches", "--remotes")
		if err = cmp.Or(err, cerr); connected || cerr != nil {
			continue
		}
		whole = false
		hint := fault.Run("git", "update-ref", "-d", ref.Name).Because("drops it here: its hub has it")
		if slices.ContainsFunc(list, func(r refs.Ref) bool { return strings.HasSuffix(r.Name, "/"+id) && r != ref }) {
			hint = fault.Run("githandoff", "revoke", id).Because("withdraws the handoff, which waits in the outbox; emit makes it again")
		}
		d.wrong("refs", hint, "the snapshot of handoff %s lacks an object", id)
	}
	if err != nil {
		d.problem("refs", err)
	}
	return whole && err == nil
}

// checkRefFiles reports whether no file of a ref is damaged, after repairs. A copy of a hub's ref
// can be dropped: the next sync brings it again.
func (d *checkup) checkRefFiles() bool {
	damaged, err := refs.Damaged(d.repo)
	if err != nil {
		d.problem("refs", err)
		return false
	}
	whole := true
	for _, name := range damaged {
		file := d.repo.CommonDir + "/" + name
		switch {
		case !refs.IsCopy(name):
			whole = false
			d.wrong("refs", fault.Fact("restore it from a copy of the repository; at a hub, clones bring a lane back with githandoff sync once the file is gone"),
				"the file of %s is damaged (%s)", name, file)
		case !d.Fix:
			whole = false
			d.wrong("refs", fault.Run("githandoff", "doctor", "--fix").Because("removes it; githandoff sync fetches the ref again"),
				"the file of %s is damaged (%s)", name, file)
		default:
			if err := refs.DropDamagedRef(d.repo, name); err != nil {
				whole = false
				d.problem("refs", err)
				continue
			}
			d.fixed("refs", "removed the damaged file of %s; githandoff sync fetches the ref again", name)
		}
	}
	return whole
}

// checkObjects reports lost objects, and returns the refs that lack some. With Fix it brings them from hubs first.
func checkObjects(ctx context.Context, d *checkup) ([]refs.Lost, error) {
	lost, err := findLost(ctx, d)
	if err != nil || len(lost) == 0 {
		return nil, err
	}
	var hubs []*crossrepo.Hub
	aliases := crossrepo.Aliases{Repo: d.repo}
	asked := d.Fix // every hub was asked, and has answered
	for _, name := range aliases.Names() {
		al, _, err := aliases.Resolve(name)
		if err != nil { // checkRemotes reports the error
			asked = false
			continue
		}
		hubs = append(hubs, crossrepo.NewHub(al, d.repo, nil))
	}
	if d.Fix {
		for _, hub := range hubs {
			asked = mendFrom(ctx, d, hub) && asked
		}
		if lost, err = findLost(ctx, d); err != nil {
			return nil, err
		}
	}
	rest := lost
	for _, hub := range hubs {
		rest = reportCopies(d, hub, rest)
	}
	for _, l := range rest {
		d.wrong("refs", hintForLost(l.Name, asked), "object %s of %s is lost or damaged", l.Object, l.Name)
	}
	return lost, nil
}

// findLost returns the refs that lack objects. It leaves out snapshots and invitations.
func findLost(ctx context.Context, d *checkup) ([]refs.Lost, error) {
	own := refs.LocalNamespace
	list, err := d.repo.List(ctx, refs.Root+"remotes/", refs.Root+"mirror/", own.Lanes(), string(own)+"inbox/", string(own)+"outbox/", string(own)+"sent/", refs.NotesRef)
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(ref refs.Ref) bool {
		name, copied := strings.CutPrefix(ref.Name, string(refs.NamespaceOf(ref.Name)))
		return copied && (strings.HasPrefix(name, "work/") || strings.HasPrefix(name, "invites/"))
	})
	if !d.Fix {
		if whole, err := refs.Connected(ctx, d.repo, list); whole || err != nil {
			return nil, err
		}
	}
	return refs.FindLost(ctx, d.repo, list)
}

// mendFrom brings what a hub has, and reports whether it answered.
func mendFrom(ctx context.Context, d *checkup, hub *crossrepo.Hub) bool {
	brought, dropped, err := crossrepo.Mend(ctx, hub)
	if len(brought) > 0 {
		d.fixed("refs", "fetched %s again from %s, with objects that were lost or damaged here", fault.Count(len(brought), "ref"), hub.Alias.Name)
	}
	if len(dropped) > 0 {
		d.fixed("refs", "dropped the copies of %s: %s no longer has their objects", fault.Count(len(dropped), "ref"), hub.Alias.Name)
	}
	if err != nil {
		d.problem("refs", err)
	}
	return err == nil
}

// reportCopies reports the copies of a hub that lack objects, and returns the other refs.
func reportCopies(d *checkup, hub *crossrepo.Hub, lost []refs.Lost) (rest []refs.Lost) {
	first, n := "", 0
	for _, l := range lost {
		if !strings.HasPrefix(l.Name, string(hub.Namespace())) && !strings.HasPrefix(l.Name, string(hub.Mirror)) {
			rest = append(rest, l)
			continue
		}
		first, n = cmp.Or(first, l.Object), n+1
	}
	if n > 0 && !d.Fix { // with Fix, mendFrom has reported why they lack objects
		d.wrong("refs", fault.Run("githandoff", "doctor", "--fix").Because("fetches them again from the hub"),
			"%s of %s with lost or damaged objects; the first is %s", fault.Count(n, "ref"), hub.Alias.Name, first)
	}
	return rest
}

// hintForLost says how to mend a ref that lacks an object, and is not the copy of a known hub's ref. Asked says that
// no hub has the object.
func hintForLost(name string, asked bool) fault.Hint {
	sent := strings.HasPrefix(name, refs.Root+"sent/")
	switch own := refs.LocalNamespace; {
	case own.InLog(name) || strings.HasPrefix(name, string(own)+"inbox/"):
		return fault.Fact("restore it from a copy of the repository; at a hub, clones bring a lane back with githandoff sync once its ref is gone")
	case refs.IsCopy(name):
		return fault.Fact("a repository that has no alias here: githandoff repo add names it again, and githandoff doctor --fix brings the object then")
	case !asked && (sent || name == refs.NotesRef):
		return fault.Run("githandoff", "doctor", "--fix").Because("fetches the object again, once a hub that has it answers")
	case sent:
		return fault.Run("git", "update-ref", "-d", name).Because("forgets that it was sent, if no copy of the repository has the object: no note will say how it ended")
	case name == refs.NotesRef:
		return fault.Run("git", "update-ref", "-d", name).Because("drops the notes, if no copy of the repository has the object; githandoff sync brings those of the hub")
	}
	return fault.Run("git", "update-ref", "-d", name).Because("drops it, if no copy of the repository has the object")
}
