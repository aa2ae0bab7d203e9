package receipt

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"githandoff/internal/handoff"
	"githandoff/internal/refs"
)

// Stray is a ref to a snapshot without its handoff: the inbox ref is gone, or the outbox and
// sent refs.
type Stray struct {
	ID    handoff.ID
	Ref   string
	oid   string
	inbox string // inbox ref that must be gone; "" for a sent handoff
}

// WorkRefs returns the patterns of the refs searched by Strays.
func WorkRefs() []string {
	return []string{
		refs.Root + "work/", refs.Root + "work-out/", refs.Root + "remotes/*/work/*/*",
		refs.Root + "outbox/", refs.Root + "sent/",
	}
}

// Strays finds, in a list of the refs of WorkRefs, those to snapshots without a handoff.
func Strays(ctx context.Context, repo *refs.Repo, list []refs.Ref) ([]Stray, error) {
	var found []Stray
	kept := sentIn(list)
	unsent := false
	for _, ref := range list {
		if rest, ok := strings.CutPrefix(ref.Name, refs.Root+"work-out/"); ok {
			if id, err := handoff.ParseID(rest); err == nil && !kept[id] && !isPending(repo, id) {
				found, unsent = append(found, Stray{ID: id, Ref: ref.Name, oid: ref.OID}), true
			}
			continue
		}
		namespace := refs.NamespaceOf(ref.Name)
		p, ok := namespace.ParseWork(ref.Name)
		if !ok {
			continue
		}
		inbox := namespace.Inbox(p.Agent, p.ID)
		now, err := repo.Resolve(ctx, inbox)
		if err != nil {
			return nil, err
		}
		if now == "" {
			found = append(found, Stray{ID: p.ID, Ref: ref.Name, oid: ref.OID, inbox: inbox})
		}
	}
	if !unsent {
		return found, nil
	}
	return lookAgain(ctx, repo, found)
}

// lookAgain leaves out refs that a transaction was about to make: it holds the locks of all its
// refs before it makes the first of them.
func lookAgain(ctx context.Context, repo *refs.Repo, found []Stray) ([]Stray, error) {
	busy := map[handoff.ID]bool{}
	for _, s := range found {
		locks, _ := filepath.Glob(filepath.Join(repo.CommonDir, refs.Root, "*", "*", string(s.ID)+".lock"))
		busy[s.ID] = len(locks) > 0
	}
	list, err := repo.List(ctx, refs.Root+"outbox/", refs.Root+"sent/")
	if err != nil {
		return nil, err
	}
	kept := sentIn(list)
	return slices.DeleteFunc(found, func(s Stray) bool { return s.inbox == "" && (busy[s.ID] || kept[s.ID]) }), nil
}

// sentIn returns the handoffs of the outbox and sent refs.
func sentIn(list []refs.Ref) map[handoff.ID]bool {
	kept := map[handoff.ID]bool{}
	for _, ref := range list {
		if p, ok := refs.LocalNamespace.ParseHandoffRef(ref.Name); ok {
			kept[p.ID] = true
		}
	}
	return kept
}

// isPending reports whether a step waiting for its hub, in any worktree, makes the handoff of
// this id. A worktree not used since an earlier version has its steps in journal.
func isPending(repo *refs.Repo, id handoff.ID) bool {
	for _, dir := range []string{repo.CommonDir, filepath.Join(repo.CommonDir, "worktrees", "*")} {
		for _, name := range []string{"claims", "journal"} {
			files, _ := filepath.Glob(filepath.Join(dir, "githandoff", name, "*.json"))
			for _, file := range files {
				if b, err := os.ReadFile(file); err != nil || bytes.Contains(b, []byte(`"child":"`+string(id)+`"`)) {
					return true
				}
			}
		}
	}
	return false
}

// Drop deletes the ref, unless its handoff has come since.
func (s Stray) Drop(ctx context.Context, repo *refs.Repo) error {
	edits := []refs.Edit{{Ref: s.Ref, Old: s.oid}}
	if s.inbox != "" {
		edits = append(edits, refs.Edit{Ref: s.inbox})
	}
	return refs.ApplyUnlessMoved(ctx, repo, edits)
}
