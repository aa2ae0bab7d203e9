package crossrepo

import (
	"context"
	"errors"
	"path"
	"slices"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/refs"
)

// Copies lists the copies of a hub's lanes and inboxes.
func Copies(ctx context.Context, h *Hub) ([]refs.Ref, error) {
	return h.Repo.List(ctx, h.Namespace().Lanes(), string(h.Namespace())+"inbox/", h.Mirror().Lanes())
}

// Mend fetches what the copies of a hub's lanes and inboxes lack in this clone: lost objects, and
// objects whose files are damaged. It returns the names of these copies. The memory of the lanes
// stays: a hub that lacks what this clone has seen is refused.
//
// git fetches nothing into a ref that stands where the hub's does, whatever it lacks, and writes no
// object over a damaged file. So these refs and files go first. If the fetch fails, the refs come
// back.
func Mend(ctx context.Context, h *Hub) (names []string, err error) {
	var dropped []refs.Ref
	err = mend(ctx, h, &dropped)
	memory := slices.DeleteFunc(slices.Clone(dropped), func(ref refs.Ref) bool { return !h.Namespace().InLog(ref.Name) })
	back := memory
	if err != nil {
		back = dropped
	}
	if perr := putBack(ctx, h, back); perr != nil {
		return nil, errors.Join(err, perr)
	}
	if rerr := h.checkNotRewound(ctx, memory); rerr != nil {
		return nil, rerr
	}
	if err != nil {
		return nil, err
	}
	for _, ref := range dropped {
		names = append(names, ref.Name)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// mend drops refs with lost objects and fetches them, until none is lost. A walk from a ref ends at
// the first lost object, so there can be others behind it.
func mend(ctx context.Context, h *Hub, dropped *[]refs.Ref) error {
	var failed error // of the last fetch
	for before := []string(nil); ; {
		list, err := Copies(ctx, h)
		if err != nil {
			return err
		}
		lost, err := refs.FindLost(ctx, h.Repo, slices.Concat(list, *dropped))
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
			return fault.New(fault.Unavailable, fault.MissingObject, "object %s is lost here, and is not at %s either", oids[0], h.Alias.Name)
		case before != nil && slices.Equal(oids, before):
			return failed
		}
		before = append([]string{}, oids...)
		for _, oid := range oids {
			if _, err := h.Repo.Store.DropDamaged(oid); err != nil {
				return err
			}
		}
		if err := drop(ctx, h, list, lost, dropped); err != nil {
			return err
		}
		failed = h.Bring(ctx, Look{FetchSpec: asks(h, *dropped)})
		if failed != nil && !fault.Is(failed, fault.MissingObject) {
			return failed
		}
	}
}

// drop removes the copies with lost objects, and adds them to dropped, as they were at first.
func drop(ctx context.Context, h *Hub, list []refs.Ref, lost []refs.Lost, dropped *[]refs.Ref) error {
	var edits []refs.Edit
	for _, ref := range list {
		if slices.ContainsFunc(lost, func(l refs.Lost) bool { return l.Ref == ref }) {
			edits = append(edits, refs.Edit{Ref: ref.Name, Old: ref.OID})
			if !slices.ContainsFunc(*dropped, func(d refs.Ref) bool { return d.Name == ref.Name }) {
				*dropped = append(*dropped, ref)
			}
		}
	}
	if err := keepTips(&h.remote, *dropped); err != nil {
		return err
	}
	return h.Repo.Apply(ctx, refs.Transaction{Edits: edits})
}

// asks returns the question for the hub's refs of these copies. A lane is asked for by an id that
// ends like it.
func asks(h *Hub, copies []refs.Ref) lifecycle.FetchSpec {
	var spec lifecycle.FetchSpec
	for _, ref := range copies {
		if at, ok := h.Namespace().ParseHandoffRef(ref.Name); ok {
			spec.Places = append(spec.Places, lifecycle.Place{Agent: at.Agent, ID: at.ID})
		} else if lane := path.Base(ref.Name); handoff.IsLane(lane) {
			spec.Lanes = append(spec.Lanes, handoff.ID(lane))
		}
	}
	return spec
}

// putBack gives copies the place back that they had, if no other one was fetched and their commit
// is here.
func putBack(ctx context.Context, h *Hub, copies []refs.Ref) error {
	var edits []refs.Edit
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
			edits = append(edits, refs.Edit{Ref: ref.Name, New: ref.OID})
		}
	}
	err := h.Repo.Apply(ctx, refs.Transaction{Edits: edits})
	if err == nil {
		forgetTips(&h.remote, edits)
	}
	return err
}
