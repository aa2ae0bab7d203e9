package crossrepo

import (
	"context"
	"slices"
	"strings"

	"githandoff/internal/gitexec"
	"githandoff/internal/handoff"
	"githandoff/internal/refs"
)

// A hub can take a ref in a push and hide it from fetches (uploadpack.hideRefs of git). Then
// nobody can take the handoffs sent there. So a clone notes the first ref taken by a hub, and
// the next look at the hub asks for that ref too, in the same connection. After a hub has shown
// one such ref it is not asked again.

// noteTaken notes a ref taken by a hub, until a look shows whether the hub shows it.
func noteTaken(h *remote, e refs.Edit) {
	h.book.note(func(k *findings) {
		if !k.Shows && k.Unshown == "" {
			k.Unshown = h.relative(e.Ref) + " " + e.New
		}
	})
}

// unshown returns the copy of the ref the hub took and has not shown yet; no name if there is none.
func unshown(h *remote) (ref refs.Ref) {
	if name, oid, ok := strings.Cut(h.book.findings().Unshown, " "); ok {
		ref = refs.Ref{Name: string(h.Namespace()) + name, OID: oid}
	}
	return ref
}

// unshownSpec asks for the [unshown] ref, along with the refspecs of a look.
func (h *remote) unshownSpec() []string {
	if ref := unshown(h).Name; ref != "" {
		return []string{specOf(h.RemoteName(ref), h.mirrored(ref))}
	}
	return nil
}

// checkShown refuses a hub that did not show the ref it took from this clone, in a look asking
// for it. The hub may have lost the ref instead: a dry run of the same push tells, because git
// calls a ref up to date if the hub has it.
func (h *remote) checkShown(ctx context.Context) error {
	ref := unshown(h)
	if ref.Name == "" {
		return nil
	}
	now, err := h.Repo.Resolve(ctx, h.mirrored(ref.Name))
	if err != nil {
		return err
	}
	if now == "" && hides(ctx, h, ref) {
		return h.Alias.errHidden(h.RemoteName(ref.Name))
	}
	h.book.note(func(k *findings) { k.Unshown, k.Shows = "", now != "" })
	return nil
}

// hidden is like checkShown with the refs listed by a hub.
func hidden(ctx context.Context, h *remote, there map[string]string) error {
	ref := unshown(h)
	if ref.Name == "" || there[h.RemoteName(ref.Name)] != "" || !hides(ctx, h, ref) {
		return nil
	}
	return h.Alias.errHidden(h.RemoteName(ref.Name))
}

// hides reports whether a hub has a ref it does not show to a fetch. It may have moved since.
func hides(ctx context.Context, h *remote, ref refs.Ref) bool {
	lines, _ := shownToPush(ctx, h, ref) // the error says only that git would refuse the push
	line, ok := lines[h.RemoteName(ref.Name)]
	return ok && line.flag != '*'
}

// hiddenFromFetch names a ref that a push did not make because the hub has it, although the look after the push did not
// bring it.
func (r *pushReport) hiddenFromFetch(h *Hub, edits []refs.Edit) string {
	for _, e := range h.copied(edits) {
		name := h.RemoteName(e.Ref)
		if line := r.lines[name]; e.Old == "" && (line.flag == '=' || line.summary == outdated) {
			return name
		}
	}
	return ""
}

// hidesFromPush names a ref that a hub shows to a fetch, at the old value of an edit, and not to a push. Then
// git here takes the lease of the edit for lost, and sends nothing.
func hidesFromPush(ctx context.Context, h *Hub, edits []refs.Edit) string {
	var old []refs.Ref
	var names []string
	for _, e := range h.copied(edits) {
		if e.Old != "" {
			old, names = append(old, refs.Ref{Name: e.Ref, OID: e.Old}), append(names, h.RemoteName(e.Ref))
		}
	}
	lines, err := shownToPush(ctx, &h.remote, old...)
	if err != nil || !slices.ContainsFunc(names, func(name string) bool { return lines[name].flag == '*' }) {
		return ""
	}
	there, err := h.listed(ctx, gitexec.RemoteTimeout, names...)
	for i, name := range names {
		if err == nil && lines[name].flag == '*' && there[name] == old[i].OID {
			return name
		}
	}
	return ""
}

// shownToPush makes a dry run of a push that moves no ref, and returns git's line of each. The flag is "=" if
// the hub shows the ref, "*" if git would make it.
func shownToPush(ctx context.Context, h *remote, list ...refs.Ref) (map[string]reportLine, error) {
	settings, target := untracked(h)
	args := slices.Concat(settings, pushArgs, []string{"--dry-run", "--", target})
	for _, ref := range list {
		args = append(args, ref.OID+":"+h.RemoteName(ref.Name))
	}
	if len(list) == 0 {
		return nil, nil // without refspecs, git would push what its configuration says
	}
	out, err := h.connect(ctx, gitexec.Cmd{Args: args, Timeout: gitexec.RemoteTimeout})
	return parseReport(out).lines, err
}

// CheckShows makes sure that others can see an offer that a hub took. It asks the hub only if the hub
// has not shown any ref of handoffs to this clone yet. No answer is no error.
func CheckShows(ctx context.Context, h *Hub, id handoff.ID) error {
	if k := h.book.findings(); k.Shows {
		return nil
	}
	seen, err := refs.Named(ctx, h.Repo, h.Mirror.Lanes())
	if err != nil {
		return err
	}
	if len(seen) > 0 {
		h.book.note(func(k *findings) { k.Unshown, k.Shows = "", true })
		return nil
	}
	lane := h.Namespace().Lane(id)
	tip, err := h.Repo.Resolve(ctx, lane)
	if err != nil || tip == "" {
		return err
	}
	noteTaken(&h.remote, refs.Edit{Ref: lane, New: tip})
	answered := h.fetch(ctx, fetchRequest{specs: h.unshownSpec()}) == nil
	if !answered {
		return nil // the offer is there, and the next look at the hub tells
	}
	return h.checkShown(ctx)
}
