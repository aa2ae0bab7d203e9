package crossrepo

import (
	"context"
	"errors"
	"slices"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/refs"
)

// Copies lists the copies of a hub's lanes and inboxes.
func Copies(ctx context.Context, h *Hub) ([]refs.Ref, error) {
	return h.Repo.List(ctx, lanesAndInboxes(&h.remote)...)
}

func lanesAndInboxes(h *remote) []string {
	return []string{h.Namespace().Lanes(), string(h.Namespace()) + "inbox/", h.Mirror().Lanes()}
}

// Mend fetches what the copies of a hub's lanes and inboxes lack in this clone: lost objects, and
// objects whose files are damaged. It returns the names of these copies. The memory of the lanes
// stays: a hub that lacks what this clone has seen is refused.
func Mend(ctx context.Context, h *Hub) (names []string, err error) {
	broken, err := mend(ctx, &h.remote, lanesAndInboxes(&h.remote)...)
	if rerr := h.checkNotRewound(ctx, broken); rerr != nil {
		return nil, rerr
	}
	if err != nil {
		return nil, err
	}
	for _, ref := range broken {
		names = append(names, ref.Name)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// mendLane mends the copy of one lane and its mirror. An object that the hub has not either stays
// lost, which is no error.
func mendLane(ctx context.Context, h *lanes, s *laneTips) error {
	_, err := mend(ctx, &h.remote, s.name, h.mirrored(s.name))
	if err != nil && !fault.Is(err, fault.MissingObject) && !errors.As(err, new(*refs.StaleError)) { // stale: another command mends it
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

// mend is like Mend for the copies that match patterns, and returns the broken ones as they were. It
// does not look whether the hub has what this clone has seen.
//
// git writes no object over a damaged file, and fetches nothing into a clone with a ref whose commit
// is lost. So these files and refs go first. If the fetch fails, the refs come back.
func mend(ctx context.Context, h *remote, patterns ...string) (broken []refs.Ref, err error) {
	err = fetchLost(ctx, h, patterns, &broken)
	back := broken
	if err == nil {
		back = slices.DeleteFunc(slices.Clone(broken), func(ref refs.Ref) bool { return !h.Namespace().InLog(ref.Name) })
	}
	if perr := putBack(context.WithoutCancel(ctx), h, back); perr != nil {
		return nil, errors.Join(err, perr)
	}
	return broken, err
}

// refetches is the first git that fetches objects whose refs are here already.
const refetches = "2.36"

// fetchLost fetches the refs with lost objects, until none is lost, and adds them to broken, as they
// were at first. A walk from a ref ends at the first lost object, so there can be others behind it.
//
// A git that cannot be told to fetch all objects again believes a ref that stands where the hub's does,
// whatever it lacks. There all these refs are dropped before the fetch.
func fetchLost(ctx context.Context, h *remote, patterns []string, broken *[]refs.Ref) error {
	refetch, err := h.Repo.HasGit(ctx, refetches)
	if err != nil {
		return err
	}
	var failed error // of the last fetch
	for before := []string(nil); ; {
		list, err := h.Repo.List(ctx, patterns...)
		if err != nil {
			return err
		}
		lost, err := refs.FindLost(ctx, h.Repo, slices.Concat(list, *broken))
		if err != nil {
			return err
		}
		var oids []string
		for _, l := range lost {
			oids = append(oids, l.Object)
		}
		switch {
		case len(oids) == 0 && failed == nil:
			return nil
		case len(oids) > 0 && slices.Equal(oids, before) && failed == nil:
			return fault.New(fault.Unavailable, fault.MissingObject, "object %s is lost here, and %s did not bring it", oids[0], h.Alias.Name)
		case before != nil && slices.Equal(oids, before):
			return failed
		}
		before = append([]string{}, oids...)
		if err := makeWay(ctx, h, oids, addBroken(broken, list, lost, refetch)); err != nil {
			return err
		}
		r := fetchRequest{specs: specsOf(h, *broken), mends: true}
		if r.flags = []string{"--refetch"}; !refetch {
			r.flags = tips(h, r.specs)
		}
		failed = h.errUnreachable(fetch(ctx, h, r))
		if failed != nil && !fault.Is(failed, fault.MissingObject) {
			return failed
		}
	}
}

// makeWay removes the damaged files of objects, and refs.
func makeWay(ctx context.Context, h *remote, oids []string, drop []refs.Ref) error {
	for _, oid := range oids {
		if _, err := h.Repo.Store.DropDamaged(oid); err != nil {
			return err
		}
	}
	return dropCopies(ctx, h, drop)
}

// addBroken adds the listed refs with lost objects to broken, and returns those that go before a fetch.
func addBroken(broken *[]refs.Ref, list []refs.Ref, lost []refs.Lost, refetch bool) (drop []refs.Ref) {
	for _, ref := range list {
		i := slices.IndexFunc(lost, func(l refs.Lost) bool { return l.Ref == ref })
		if i < 0 {
			continue
		}
		if !refetch || lost[i].Object == ref.OID {
			drop = append(drop, ref)
		}
		if !slices.ContainsFunc(*broken, func(b refs.Ref) bool { return b.Name == ref.Name }) {
			*broken = append(*broken, ref)
		}
	}
	return drop
}

// specsOf returns the refspecs that bring these copies. A lane comes into the mirror.
func specsOf(h *remote, copies []refs.Ref) []string {
	var specs []string
	for _, ref := range copies {
		ours, to := ref.Name, ref.Name
		if lane, ok := strings.CutPrefix(ref.Name, string(h.Mirror())); ok {
			ours = string(h.Namespace()) + lane
		} else if h.Namespace().InLog(ref.Name) {
			to = h.mirrored(ref.Name)
		}
		specs = append(specs, specOf(h.RemoteName(ours), to))
	}
	slices.Sort(specs)
	return slices.Compact(specs)
}

// putBack gives copies the place back that they had, if no other one was fetched and their commit
// is here.
func putBack(ctx context.Context, h *remote, copies []refs.Ref) error {
	var edits []refs.Edit
	var found []refs.Ref
	for _, ref := range copies {
		there, err := h.Repo.Read(ctx, ref.OID, record.MaxCommit)
		if err != nil && !fault.Is(err, fault.TooLarge) {
			return err
		}
		now, err := h.Repo.Resolve(ctx, ref.Name)
		if err != nil {
			return err
		}
		if there != nil && now == "" {
			edits, found = append(edits, refs.Edit{Ref: ref.Name, New: ref.OID}), append(found, ref)
		}
	}
	err := h.Repo.Apply(ctx, refs.Transaction{Edits: edits})
	if err == nil {
		err = forgetTips(ctx, h, found)
	}
	return err
}
