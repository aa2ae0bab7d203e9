package crossrepo

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/refs"
)

// Move moves the refs of handoffs at a hub to another prefix, in one atomic push, and makes
// this clone look there. The former names of the lanes and inboxes are then taken, so a clone
// with the former prefix is refused and does not restore them. Move returns how many refs
// moved, and a warning if the former names could not be taken.
func Move(ctx context.Context, as Aliases, a *Alias, prefix string) (moved int, warning, err error) {
	next := *a
	if next.Prefix = prefix; prefix == UsualPrefix {
		next.Prefix = ""
	} else if err := CheckPrefix(prefix); err != nil {
		return 0, nil, err
	}
	if next.Root() == a.Root() {
		return 0, nil, fault.New(fault.Usage, fault.BadUsage, "%s keeps handoffs below %s already: nothing is moved", a.Name, a.Below())
	}
	if strings.HasPrefix(next.Root(), a.Root()) || strings.HasPrefix(a.Root(), next.Root()) {
		return 0, nil, fault.New(fault.Usage, fault.BadUsage, "%s and %s overlap: nothing is moved", a.Root(), next.Root())
	}
	from := NewHub(a, as.Repo, nil)
	there, err := from.listed(ctx, gitexec.RemoteTimeout, a.Root()+"*", next.Root()+"*", refs.NotesRef)
	if err != nil {
		return 0, nil, err
	}
	if wasMoved(a, &next, there) {
		if err := hasMemory(ctx, as, a, next.Prefix); err != nil {
			return 0, nil, err
		}
		warning = block(ctx, from)
		return 0, warning, as.SetPrefix(ctx, a, prefix)
	}
	if err := mayMove(a, &next, there); err != nil {
		return 0, nil, err
	}
	t, err := moves(ctx, as, from, &next, there)
	if err != nil {
		return 0, nil, err
	}
	if len(t.Edits) > 0 {
		report, err := pushNamed(ctx, &from.remote, t)
		if err != nil || !report.Accepted(t.Edits) {
			return 0, nil, fault.New(fault.Unavailable, fault.HubRefused, "%s does not move its handoffs to %s: %s", a.Name, next.Root(), GitSaid(err)).
				WithHints(fault.Fact("nothing was moved: the push is atomic; if others were at work there, run it again"))
		}
		warning = block(ctx, from)
	}
	return len(t.Edits) / 2, warning, as.SetPrefix(ctx, a, prefix)
}

// mayMove refuses to mix two sets of handoffs.
func mayMove(a, next *Alias, there map[string]string) error {
	for _, ref := range slices.Sorted(maps.Keys(there)) {
		if strings.HasPrefix(ref, next.Root()) {
			return fault.New(fault.Conflict, fault.Stale, "%s has %s already: nothing is moved over it", a.Name, ref).
				WithHints(fault.Run("git", "ls-remote", "--", a.hinted(), a.Root()+"*", next.Root()+"*").Because("shows both sets of refs"))
		}
	}
	return nil
}

// wasMoved reports whether all refs are below the other prefix: an earlier run was killed after
// its first push, or another clone has moved them.
func wasMoved(a, next *Alias, there map[string]string) bool {
	below := func(root string) bool {
		for ref := range there {
			name, ok := strings.CutPrefix(ref, root)
			if ok && slices.ContainsFunc(homeParts, func(part string) bool { return strings.HasPrefix(name, part) }) {
				return true
			}
		}
		return false
	}
	return below(next.Root()) && !below(a.Root())
}

// homeParts are the refs of a home, by the beginnings of their names. A hub that is itself a
// clone has others, and keeps them.
var homeParts = []string{"inbox/", "log/", "work/", "keys/", "invites/", "trust"}

// moves returns the transaction of a move: it makes all refs below the new prefix, then deletes the
// old ones. The objects are fetched first. With a prefix, commits carry blobs.
func moves(ctx context.Context, as Aliases, from *Hub, next *Alias, there map[string]string) (t refs.Transaction, err error) {
	if len(there) == 0 {
		return t, nil
	}
	temporary := refs.Root + "moving/" + strings.TrimPrefix(string(from.Namespace()), refs.Root+"remotes/")
	var specs []string
	for _, part := range homeParts {
		specs = append(specs, specOf(from.Alias.Root()+part, temporary+part))
	}
	err = from.errUnreachable(from.fetch(ctx, fetchRequest{specs: specs}))
	if err != nil {
		return t, err
	}
	list, err := as.Repo.List(ctx, temporary)
	if err != nil {
		return t, err
	}
	var made, gone, drop []refs.Edit
	for _, ref := range list {
		name := strings.TrimPrefix(ref.Name, temporary)
		o, err := as.Repo.Read(ctx, ref.OID, 1)
		if o == nil {
			return t, cmp.Or(err, refs.Missing(ref.Name))
		}
		to := ref.OID
		if o.Type == "blob" && next.Prefix != "" {
			carrier := refs.Carrier(ref.OID, "")
			if err := as.Repo.Store.Write(carrier...); err != nil {
				return t, err
			}
			t.Objects = append(t.Objects, carrier...)
			to = carrier[len(carrier)-1].OID
		}
		made = append(made, refs.Edit{Ref: next.Root() + name, New: to})
		gone = append(gone, refs.Edit{Ref: from.Alias.Root() + name, Old: ref.OID})
		drop = append(drop, refs.Edit{Ref: ref.Name, Old: ref.OID})
	}
	if notes := namesAt(from.Alias).notes; there[notes] != "" && there[namesAt(next).notes] == "" {
		if err := from.FetchNotes(ctx); err != nil {
			return t, from.errUnreachable(err)
		}
		made = append(made, refs.Edit{Ref: namesAt(next).notes, New: there[notes]})
		gone = append(gone, refs.Edit{Ref: notes, Old: there[notes]})
	}
	t.Edits = slices.Concat(made, gone)
	return t, as.Repo.Apply(ctx, refs.Transaction{Edits: drop})
}

// block makes refs with the former names of the directories of lanes and inboxes: git keeps no ref
// below another one.
func block(ctx context.Context, from *Hub) (warning error) {
	tree := refs.NewObject(from.Repo.Format, "tree", nil)
	commit := refs.OwnCommit(tree.OID, "", "handoffs have moved")
	t := refs.Transaction{
		Edits:   []refs.Edit{{Ref: from.Alias.Root() + "inbox", New: commit.OID}, {Ref: from.Alias.Root() + "log", New: commit.OID}},
		Objects: []*refs.Object{tree, commit},
	}
	err := from.Repo.Store.Write(t.Objects...)
	if err == nil {
		_, err = pushNamed(ctx, &from.remote, t)
	}
	if err == nil {
		return nil
	}
	return fault.New(fault.Unavailable, fault.HubRefused, "%s refuses the refs that block %s: a clone without the new prefix can still write there: %s", from.Alias.Name, from.Alias.Root(), GitSaid(err))
}
