package crossrepo

import (
	"context"
	"errors"
	"slices"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
)

// remaining returns the edits to push again; r is the report of the failed push. Edits of snapshots that are
// made already are left out, and the other snapshots are leased at their present values: nothing needs
// another commit than the named one. If done is set, all other edits are made.
func (h *Hub) remaining(ctx context.Context, edits []refs.Edit, done bool, r *pushReport) ([]refs.Edit, error) {
	if len(h.copied(edits)) == len(edits) {
		if done {
			edits = nil
		}
		return edits, nil
	}
	var names []string
	for _, e := range edits {
		if h.isWork(e.Ref) {
			names = append(names, h.RemoteName(e.Ref))
		}
	}
	there, err := h.listed(ctx, gitexec.RemoteTimeout, names...)
	if err != nil {
		return nil, err
	}
	var rest []refs.Edit
	for _, e := range edits {
		if !h.isWork(e.Ref) {
			if !done {
				rest = append(rest, e)
			}
			continue
		}
		now := there[h.RemoteName(e.Ref)]
		switch {
		case now == e.New:
			continue
		case now == "" && r.lines[h.RemoteName(e.Ref)].flag == '=':
			return nil, h.Alias.errHidden(h.RemoteName(e.Ref))
		}
		e.Old = now
		rest = append(rest, e)
	}
	return rest, nil
}

// FetchWork brings the snapshot of a handoff here: the very commit named by its envelope, from
// a fetch checked by git object by object.
func (h *Hub) FetchWork(ctx context.Context, p lifecycle.Place, oid string) error {
	ref := h.Namespace().Work(p.Agent, p.ID)
	if now, err := h.Repo.Resolve(ctx, ref); err != nil || now == oid {
		return err
	}
	r := fetchRequest{flags: []string{"--no-prune"}, specs: []string{specOf(h.RemoteName(ref), ref)}, verified: true}
	if err := h.fetch(ctx, r); err != nil {
		return h.unsound(ctx, p.ID, oid, err)
	}
	now, err := h.Repo.Resolve(ctx, ref)
	switch {
	case err != nil:
		return err
	case now == "":
		return fault.New(fault.NotFound, fault.NoSnapshot, "the snapshot of handoff %s is not at %s", p.ID, h.Alias.Name).WithHints(fault.Fact("githandoff sync at its sender sends it again"))
	case now == oid:
		return nil
	}
	if err := h.Repo.Apply(ctx, refs.Transaction{Edits: []refs.Edit{{Ref: ref, Old: now}}}); err != nil {
		return err
	}
	return fault.New(fault.Denied, fault.DigestMismatch, "%s at %s is not the snapshot that handoff %s names", h.RemoteName(ref), h.Alias.Name, p.ID).
		WithHints(fault.Fact("someone with push access replaced it"))
}

// DropWork deletes the ref left of the snapshot of an ended handoff by a push cut off at the
// hub.
func (h *Hub) DropWork(ctx context.Context, p lifecycle.Place) error {
	there, err := worksThere(ctx, h)
	if err != nil || there[h.RemoteName(h.Namespace().Work(p.Agent, p.ID))] == "" {
		return err
	}
	gone, err := h.remaining(ctx, []refs.Edit{{Ref: h.Namespace().Work(p.Agent, p.ID)}}, true, &pushReport{})
	if err != nil || len(gone) == 0 {
		return err
	}
	return h.Apply(ctx, refs.Transaction{Edits: gone})
}

// worksThere lists the snapshots at the hub, by their names there. The hub is asked once.
func worksThere(ctx context.Context, h *Hub) (map[string]string, error) {
	if there := h.works.Load(); there != nil {
		return *there, nil
	}
	there, err := h.listed(ctx, gitexec.RemoteTimeout, h.RemoteName(string(h.Namespace())+"work/")+"*")
	if err == nil {
		h.works.Store(&there)
	}
	return there, err
}

// unsound tells apart five failures: one that the fetch names itself, this machine cannot write or
// ended git, the hub cannot be read, the hub lost an object of the snapshot, or git does not take the
// hub's objects.
func (h *Hub) unsound(ctx context.Context, id handoff.ID, oid string, cause error) error {
	if errors.Is(cause, context.Canceled) {
		return cause
	}
	if gitexec.CouldNotStore(cause) || gitexec.Unexplained(cause) || fault.As(cause) != nil {
		return h.errUnreachable(cause)
	}
	if _, err := h.RemoteLanes(ctx); err != nil {
		return h.errUnreachable(cause)
	}
	if wentMeanwhile(cause) {
		err := h.errUnreachable(cause)
		if f := fault.As(err); f != nil {
			err = f.WithHints(append(slices.Clone(f.Hints), fault.Fact("githandoff work export %s --bundle FILE, at its sender, writes it to a file", id))...)
		}
		return err
	}
	return fault.New(fault.Denied, fault.MalformedObject, "git does not take the snapshot %s from %s: %s", oid, h.Alias.Name, GitSaid(cause))
}

// BringSnapshot makes the snapshot of a handoff readable in a repository, for people and for a work
// copy. [lifecycle.ForgetWork] lets go of it.
func BringSnapshot(ctx context.Context, repo *refs.Repo, home lifecycle.Home, p lifecycle.Place, w *handoff.Work) error {
	if hub, ok := home.(*Hub); ok {
		o, err := repo.Resolve(ctx, refs.WorkOut(p.ID))
		if err != nil || o == w.Commit {
			return err
		}
		return hub.FetchWork(ctx, p, w.Commit)
	}
	now, err := repo.Resolve(ctx, home.Namespace().Work(p.Agent, p.ID))
	switch {
	case err != nil || now == w.Commit:
		return err
	case now == "":
		return fault.New(fault.NotFound, fault.NoSnapshot, "the snapshot of handoff %s is gone", p.ID)
	}
	return fault.New(fault.Denied, fault.DigestMismatch, "%s is not the snapshot that handoff %s names", home.Namespace().Work(p.Agent, p.ID), p.ID)
}
