package crossrepo

import (
	"context"
	"errors"
	"slices"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
)

// Copies lists the copies of a hub's lanes and inboxes.
func Copies(ctx context.Context, h *Hub) ([]refs.Ref, error) {
	return h.Repo.List(ctx, lanesAndInboxes(&h.remote)...)
}

func lanesAndInboxes(h *remote) []string {
	return []string{h.Namespace().Lanes(), string(h.Namespace()) + "inbox/", h.Mirror().Lanes()}
}

// Mend brings the objects of [Copies] that are lost in this clone, or whose files are damaged. It returns
// the names of the refs that are whole again, and of the copies that were dropped, because the hub has
// their objects no more. A hub whose lane lacks what this clone has seen of it is refused.
func Mend(ctx context.Context, h *Hub) (brought, dropped []string, err error) {
	return mend(ctx, &h.remote, lanesAndInboxes(&h.remote)...)
}

// mendLane is like Mend for the copy of one lane and its mirror. An object that the hub has lost as well
// stays lost, which is no error.
func mendLane(ctx context.Context, h *lanes, s *laneTips) error {
	_, _, err := mend(ctx, &h.remote, s.name, h.mirrored(s.name))
	if err != nil && !fault.Is(err, fault.MissingObject) {
		return err
	}
	*s, err = h.tipsOf(ctx, s.name)
	return err
}

// copiesOfPlaces names the copies of the places and the lanes of spec.
func copiesOfPlaces(h *remote, spec lifecycle.FetchSpec) []string {
	var names []string
	for _, p := range spec.Places {
		names = append(names, h.Namespace().Inbox(p.Agent, p.ID))
	}
	for _, id := range spec.Lanes {
		names = append(names, h.Namespace().Lane(id), h.Mirror().Lane(id))
	}
	return names
}

// mend is like Mend for the refs that match patterns. The copy of a lane is a memory, and stays where it
// is.
func mend(ctx context.Context, h *remote, patterns ...string) (brought, dropped []string, err error) {
	list, err := h.Repo.List(ctx, patterns...)
	if err != nil {
		return nil, nil, err
	}
	lost, err := refs.FindLost(ctx, h.Repo, list)
	if err != nil || len(lost) == 0 {
		return nil, nil, err
	}
	list = nil
	for _, l := range lost {
		list = append(list, l.Ref)
	}
	if lost, err = restore(ctx, h, list); err != nil {
		return nil, nil, err
	}
	for _, ref := range list {
		switch still := slices.ContainsFunc(lost, func(l refs.Lost) bool { return l.Name == ref.Name }); {
		case !still:
			brought = append(brought, ref.Name)
		case h.Namespace().InLog(ref.Name):
			err = errLost(h, ref.Name)
		default:
			dropped = append(dropped, ref.Name)
			derr := h.Repo.Apply(ctx, refs.Transaction{Edits: []refs.Edit{{Ref: ref.Name, Old: ref.OID}}})
			if derr != nil && !errors.As(derr, new(*refs.StaleError)) { // stale: another command has looked as well
				return brought, dropped, derr
			}
		}
	}
	return brought, dropped, err
}

func errLost(h *remote, lane string) error {
	return fault.New(fault.Denied, fault.Rollback, "%s has rewritten %s of its log, which this clone has seen and lost", h.Alias.Name, h.RemoteName(lane)).
		WithHints(fault.Fact("a clone that has all of that log brings the hub up to date: githandoff sync %s, there", h.Alias.Name))
}

// restore fetches some refs into a scratch repository, and writes what this one lost of them. It returns those
// that still lack an object. A fetch into this one would bring nothing: git writes no object over a damaged file,
// fetches nothing for a ref that stands where the hub's does, and nothing at all beside a ref whose commit is lost.
func restore(ctx context.Context, h *remote, list []refs.Ref) ([]refs.Lost, error) {
	scratch, err := refs.NewScratch(ctx, h.Repo)
	if err != nil {
		return nil, err
	}
	defer scratch.Close()
	var specs []string
	for _, ref := range list {
		name := h.RemoteName(ref.Name)
		if all := h.RemoteName(string(refs.LocalNamespace) + "inbox/"); len(list) > manyPlaces && strings.HasPrefix(name, all) {
			name = all
		}
		specs = append(specs, specOf(name, name))
	}
	slices.Sort(specs)
	args := slices.Concat([]string{"-c", "fetch.unpackLimit=1"}, fetchArgs, []string{"--", h.Alias.target()}, slices.Compact(specs))
	env := slices.Concat(scratch.Env, fetchRequest{}.memory(h))
	for try := 0; ; try++ {
		_, err := connect(ctx, h, gitexec.Cmd{Args: args, Env: env, Timeout: gitexec.RemoteTimeout})
		if err == nil {
			return scratch.Restore(ctx, list)
		}
		if try == 3 || !wentMeanwhile(err) {
			return nil, h.errUnreachable(err)
		}
		if perr := refs.Pause(ctx, try); perr != nil {
			return nil, perr
		}
	}
}
