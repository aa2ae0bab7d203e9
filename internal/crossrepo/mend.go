package crossrepo

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/refs"
)

// restorable returns the patterns of the refs in this clone whose objects a hub has as well: the
// copies, this clone's notes, and sent handoffs, as long as the hub has them in its inboxes. It
// leaves out invitations, and snapshots, which can be as large as the code.
func (n refNames) restorable() []string {
	patterns := []string{string(n.Mirror), n.NotesCopy(), refs.NotesRef, refs.Root + "sent/"}
	for _, part := range []string{"log/", "inbox/", "keys/", "keys-seen/", "trust"} {
		patterns = append(patterns, string(n.Namespace())+part)
	}
	return patterns
}

// holder returns the hub's ref that has the objects of a ref of this clone. A handoff that was
// routed after it was sent has a copy here, which is mended as well.
func (n refNames) holder(ref string) string {
	if place, ok := strings.CutPrefix(ref, refs.Root+"sent/"); ok {
		ref = string(refs.LocalNamespace) + "inbox/" + place
	}
	return n.RemoteName(ref)
}

// Mend brings the objects of copies, notes and sent handoffs that are lost in this clone, or whose files are damaged. It
// returns the names of the refs that are whole again, and of the copies that were dropped, because the hub
// no longer has their objects. A hub whose lane lacks what this clone has seen of it is refused.
func Mend(ctx context.Context, h *Hub) (brought, dropped []string, err error) {
	return h.mend(ctx, h.restorable()...)
}

// MendPublished is like Mend for the keys and lists of keys published at a hub.
func MendPublished(ctx context.Context, h *Hub) error {
	copies := string(h.Namespace())
	_, _, err := h.mend(ctx, copies+"keys/", copies+"keys-seen/", copies+"trust")
	return err
}

// MendNotes is like Mend for the notes of a hub and of this clone.
func MendNotes(ctx context.Context, h *Hub) error {
	_, _, err := h.mend(ctx, h.NotesCopy(), refs.NotesRef)
	return err
}

// Refetch reads the copy of an inbox ref whose object was lost, from the hub.
func (h *Hub) Refetch(ctx context.Context, p lifecycle.Place, ref string) (*refs.Object, error) {
	spec := lifecycle.WholeHandoffs(p)
	spec.Lost = true
	if err := h.Refresh(ctx, spec); err != nil {
		return nil, err
	}
	return h.Repo.Read(ctx, ref, record.MaxCommit)
}

// mendAfter repairs the clone after a fetch that failed because refs lead to lost objects. A
// concurrent "gc --prune=now" or a power cut leaves such refs, and git fetches nothing beside them.
// mendAfter does what Mend does, drops other copies that lack objects, and reports whether anything
// changed.
func (h *remote) mendAfter(ctx context.Context, failed error) (bool, error) {
	_, whole, err := h.Repo.Listing(ctx, string(h.Namespace()), string(h.Mirror), refs.Root+"sent/", refs.NotesRef)
	if err != nil || whole && !gitexec.Damaged(failed, h.Repo.Objects) {
		return false, err
	}
	brought, dropped, err := h.mend(ctx, h.restorable()...)
	if err != nil {
		return false, err
	}
	others, err := h.Repo.List(ctx, string(h.Namespace())+"work/", string(h.Namespace())+"invites/")
	if err != nil {
		return false, err
	}
	changed := len(brought)+len(dropped) > 0
	for _, ref := range others {
		if whole, err := refs.Leads(ctx, h.Repo, ref.OID); err != nil {
			return false, err
		} else if whole {
			continue
		}
		if err := dropCopy(ctx, h, refs.Lost{Ref: ref, Object: ref.OID}); err != nil {
			return false, err
		}
		changed = true
	}
	return changed, nil
}

// copiesOfPlaces names the copies of the places and the lanes of spec.
func (n refNames) copiesOfPlaces(spec lifecycle.FetchSpec) []string {
	var names []string
	for _, p := range spec.Places {
		names = append(names, n.Namespace().Inbox(p.Agent, p.ID))
	}
	for _, id := range spec.Lanes {
		names = append(names, n.Namespace().Lane(id), n.Mirror.Lane(id))
	}
	return names
}

// mend is like Mend for the refs that match patterns.
func (h *remote) mend(ctx context.Context, patterns ...string) (brought, dropped []string, err error) {
	list, err := h.Repo.List(ctx, patterns...)
	if err != nil {
		return nil, nil, err
	}
	lost, err := refs.FindLost(ctx, h.Repo, list)
	if err != nil || len(lost) == 0 {
		return nil, nil, err
	}
	lacking := make([]refs.Ref, 0, len(lost))
	for _, l := range lost {
		lacking = append(lacking, l.Ref)
	}
	return mendRefs(ctx, h, lacking)
}

// mostFailed limits the failed fetches of lost objects from one hub in one command.
const mostFailed = 32

// mendRefs is like Mend for refs that lack objects. A hub that lost an object itself sends nothing
// to a fetch that asks for it. So after a failure the refs are fetched in halves, and those in
// halves again.
func mendRefs(ctx context.Context, h *remote, list []refs.Ref) (brought, dropped []string, err error) {
	brought, dropped, err = mendAtOnce(ctx, h, list)
	if !fault.Is(err, fault.RemoteUnavailable) || len(list) == 1 || h.failed.Load() >= mostFailed || !answers(ctx, h) {
		return brought, dropped, err
	}
	err = nil
	for parts := halves(list); len(parts) > 0; parts = parts[1:] {
		b, d, perr := mendAtOnce(ctx, h, parts[0])
		brought, dropped = append(brought, b...), append(dropped, d...)
		if fault.Is(perr, fault.RemoteUnavailable) && len(parts[0]) > 1 {
			parts = append(parts, halves(parts[0])...)
		} else {
			err = cmp.Or(err, perr)
		}
	}
	return brought, dropped, err
}

// halves returns the two halves of a list; none of a list of one.
func halves(list []refs.Ref) [][]refs.Ref {
	half := len(list) / 2
	if half == 0 {
		return nil
	}
	return [][]refs.Ref{list[:half], list[half:]}
}

// mendAtOnce is like mendRefs with one fetch. The copy of a lane is a memory and stays, and so does
// a ref of this clone's own.
func mendAtOnce(ctx context.Context, h *remote, list []refs.Ref) (brought, dropped []string, err error) {
	lost, err := restore(ctx, h, list)
	if err != nil {
		return nil, nil, err
	}
	for _, ref := range list {
		i := slices.IndexFunc(lost, func(l refs.Lost) bool { return l.Ref == ref })
		switch {
		case i < 0:
			brought = append(brought, ref.Name)
		case h.Namespace().InLog(ref.Name):
			err = errLost(h, ref.Name)
		case refs.IsCopy(ref.Name):
			dropped = append(dropped, ref.Name)
			if derr := dropCopy(ctx, h, lost[i]); derr != nil {
				return brought, dropped, derr
			}
		}
	}
	return brought, dropped, err
}

// dropCopy drops a copy that lacks an object, with the damaged file of that object. A copy that
// another command moved stays.
func dropCopy(ctx context.Context, h *remote, l refs.Lost) error {
	err := h.Repo.Apply(ctx, refs.Transaction{Edits: []refs.Edit{{Ref: l.Name, Old: l.OID}}})
	if _, moved := errors.AsType[*refs.StaleError](err); moved {
		return nil
	}
	if err != nil {
		return err
	}
	return h.Repo.Store.DropDamaged(l.Object)
}

// answers reports whether a hub lists refs.
func answers(ctx context.Context, h *remote) bool {
	_, err := h.listed(ctx, gitexec.RemoteTimeout, h.RemoteName(string(h.Namespace())+"trust"))
	return err == nil
}

func errLost(h *remote, lane string) error {
	return fault.New(fault.Denied, fault.Rollback, "%s has rewritten %s of its log, which this clone has seen and lost", h.Alias.Name, h.RemoteName(lane)).
		WithHints(fault.Fact("a clone that has all of that log brings the hub up to date: githandoff sync %s, there", h.Alias.Name))
}

// restore fetches refs into a scratch repository, writes their lost objects here, and returns the
// refs that still lack one. A fetch into this repository would bring nothing: git overwrites no
// damaged file, fetches nothing for a ref that equals the hub's, and nothing at all beside a ref
// whose commit is lost.
func restore(ctx context.Context, h *remote, list []refs.Ref) ([]refs.Lost, error) {
	if h.failed.Load() >= mostFailed {
		return nil, fault.New(fault.Unavailable, fault.RemoteUnavailable, "%s does not send objects that are lost here", h.Alias.Name).
			WithHints(fault.Fact("it may have lost objects, too: git fsck names them there"))
	}
	scratch, err := refs.NewScratch(ctx, h.Repo)
	if err != nil {
		return nil, err
	}
	defer scratch.Close()
	var specs []string
	for _, ref := range list {
		name := h.holder(ref.Name)
		if all := h.RemoteName(string(refs.LocalNamespace) + "inbox/"); len(list) > manyPlaces && strings.HasPrefix(name, all) {
			name = all
		}
		specs = append(specs, specOf(name, name))
	}
	slices.Sort(specs)
	args := slices.Concat([]string{"-c", "fetch.unpackLimit=1"}, fetchArgs, []string{"--", h.Alias.target}, slices.Compact(specs))
	env := slices.Concat(scratch.Env, fetchRequest{}.memoryLimit(h))
	for again := false; ; again = true {
		_, err := h.connect(ctx, gitexec.Cmd{Args: args, Env: env, Timeout: gitexec.RemoteTimeout})
		if err == nil {
			return scratch.Restore(ctx, list)
		}
		h.failed.Add(1)
		if again || !wentMeanwhile(err) {
			return nil, h.errUnreachable(err)
		}
		if err := refs.Pause(ctx, 1); err != nil {
			return nil, err
		}
	}
}
